//! Names of operations and tags in OpenAPI documents.

/// Suffix that upstream removes from group names.
const SUFFIX: &str = ".k8s.io";

/// Returns a group version as part of an operation id (`RbacAuthorizationV1`) and as a tag
/// (`rbacAuthorization_v1`). An empty version is left out.
pub(super) fn group_version(group: &str, version: &str) -> (String, String) {
    let group = match group {
        "" => "core",
        group => group.strip_suffix(SUFFIX).unwrap_or(group),
    };
    let mut words = camel_case(group, true);
    let mut tag = camel_case(group, false);
    if !version.is_empty() {
        words.push_str(&camel_case(version, true));
        tag.push('_');
        tag.push_str(&camel_case(version, false));
    }
    (words, tag)
}

/// Removes all characters except letters, digits and underscores, and capitalizes the next letter.
fn camel_case(text: &str, capitalize_first: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut capitalize = capitalize_first;
    for (at, c) in text.char_indices() {
        match c {
            c if c.is_alphabetic() || c == '_' || (at != 0 && c.is_numeric()) => {
                if std::mem::take(&mut capitalize) { out.extend(c.to_uppercase()) } else { out.push(c) }
            }
            _ => capitalize = true,
        }
    }
    out
}

/// Capitalizes the first letter, for subresources and methods in operation ids.
pub(super) fn title(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Description of an operation: `read status of the specified Pod`. The article precedes the kind and may be
/// empty.
pub(super) fn description(verb: &str, subresource: &str, article: &str, kind: &str) -> String {
    let subresource = if subresource.is_empty() { Vec::new() } else { vec![subresource, "of"] };
    let words = [verb].into_iter().chain(subresource).chain([article, kind]);
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The article of a kind; a plural has none.
pub(super) fn article(kind: &str) -> &'static str {
    let plural = kind.ends_with('s') && !kind.ends_with("ss");
    match kind.chars().next().map(|first| first.to_ascii_lowercase()) {
        _ if plural => "",
        Some('a' | 'e' | 'i' | 'o' | 'u') => "an",
        _ => "a",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_names_are_camel_cased() {
        let check = |group: &str, version: &str, words: &str, tag: &str| {
            assert_eq!(group_version(group, version), (words.to_owned(), tag.to_owned()));
        };
        check("", "v1", "CoreV1", "core_v1");
        check("apps", "", "Apps", "apps");
        check("rbac.authorization.k8s.io", "v1", "RbacAuthorizationV1", "rbacAuthorization_v1");
        check("acid.zalan.do", "v1beta1", "AcidZalanDoV1beta1", "acidZalanDo_v1beta1");
        check("5g.example.com", "v1", "GExampleComV1", "GExampleCom_v1");
    }

    #[test]
    fn subresources_get_one_capital() {
        assert_eq!(title("ephemeralcontainers"), "Ephemeralcontainers");
        assert_eq!(title(""), "");
    }

    #[test]
    fn operations_have_descriptions() {
        assert_eq!(description("read", "", "the specified", "Pod"), "read the specified Pod");
        assert_eq!(description("create", "eviction", "a", "Pod"), "create eviction of a Pod");
        assert_eq!(description("delete collection of", "", "", "Pod"), "delete collection of Pod");
    }

    #[test]
    fn article_follows_first_letter() {
        assert_eq!(["Pod", "Ingress", "Endpoints", "Event"].map(article), ["a", "an", "", "an"]);
    }
}
