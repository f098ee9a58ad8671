//! Descriptions of types and their members. The texts come from the Go sources, through the published API
//! documents and the `k8s-openapi` crate. Texts that the crate lacks (lists, query parameters, possible
//! values) are in `build/descriptions.json`, which `tools/api-descriptions.py` generates.
//!
//! `build.rs` writes them to one constant text with position tables. They are pages of the executable and use
//! no memory before the first access.

/// Start and end of a slice of [`TEXT`] or [`MEMBERS`].
type Span = (u32, u32);

include!(concat!(env!("OUT_DIR"), "/descriptions.rs"));

/// All names and descriptions, each once.
static TEXT: &str = include_str!(concat!(env!("OUT_DIR"), "/descriptions.txt"));

/// A type with the fields that every object has.
const ANY_OBJECT: &str = "io.k8s.api.core.v1.ConfigMap";

/// Returns the description of a definition (`io.k8s.api.core.v1.Pod`), or of one of its members if `member`
/// is not empty. The result is empty if there is no description.
pub fn description(definition: &str, member: &str) -> &'static str {
    let Ok(at) = TYPES.binary_search_by(|(name, ..)| text(*name).cmp(definition)) else {
        return "";
    };
    let Some(&(_, text_of_type, (first, end))) = TYPES.get(at) else { return "" };
    if member.is_empty() {
        return text(text_of_type);
    }
    let members = MEMBERS.get(first as usize..end as usize).unwrap_or_default();
    let at = members.binary_search_by(|(name, _)| text(*name).cmp(member));
    at.ok().and_then(|at| members.get(at)).map_or("", |(_, description)| text(*description))
}

/// Returns the description of `apiVersion`, `kind` or `metadata` of any object.
pub fn of_any_object(member: &str) -> &'static str {
    description(ANY_OBJECT, member)
}

fn text((start, end): Span) -> &'static str {
    TEXT.get(start as usize..end as usize).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use schema::builtin;

    use super::*;

    #[test]
    fn types_and_members_are_described() {
        let check = |definition, member, start: &str| {
            let text = description(definition, member);
            assert!(text.starts_with(start) && text.is_empty() == start.is_empty(), "{text}");
        };
        check("io.k8s.api.core.v1.Pod", "", "Pod is a collection of containers");
        check("io.k8s.api.core.v1.Pod", "spec", "Specification of the desired behavior of the pod.");
        check("io.k8s.api.core.v1.Pod", "apiVersion", "APIVersion defines");
        check("io.k8s.api.core.v1.PodList", "kind", "Kind is a string value");
        check("io.k8s.api.core.v1.PodList", "items", "List of pods.");
        check("io.k8s.api.core.v1.PodList", "", "PodList is a list of Pods.");
        check("io.k8s.api.core.v1.PodExecOptions", "tty", "TTY if true");
        check("io.k8s.api.core.v1.Pod", "specification", "");
        check("", "", "");
    }

    #[test]
    fn possible_values_come_last() {
        let policy = description("io.k8s.api.core.v1.ServicePort", "protocol");
        assert!(
            policy
                .contains("Default is TCP.\n\nPossible enum values:\n - `\"SCTP\"` is the SCTP protocol.\n")
        );
    }

    /// A description without a shape in the tables could never be shown.
    #[test]
    fn described_types_exist() {
        let mut described = 0;
        let mut strange = Vec::new();
        for &(name, _, (first, end)) in TYPES {
            let Some(message) = builtin::message(text(name)) else {
                strange.push(text(name).to_owned());
                continue;
            };
            for &(member, _) in &MEMBERS[first as usize..end as usize] {
                let member = text(member);
                let type_meta = message.type_meta && ["apiVersion", "kind"].contains(&member);
                if type_meta || message.members.iter().any(|declared| declared.name == member) {
                    described += 1;
                } else {
                    strange.push(format!("{}.{member}", text(name)));
                }
            }
        }
        assert_eq!(strange, Vec::<String>::new());
        assert!(described > 2_500, "only {described}");
    }

    #[test]
    fn stored_types_are_described() {
        let rows = crate::resources::all().filter(|row| row.subresource.is_empty());
        let without: Vec<_> =
            rows.filter(|row| description(row.message.name, "").is_empty()).map(|row| row.kind).collect();
        assert_eq!(without, Vec::<&str>::new());
    }
}
