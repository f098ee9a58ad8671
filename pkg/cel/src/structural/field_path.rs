//! The `fieldPath` of a rule: `.a.b`, `.map['key']`.

use apimachinery::field::Path;
use serde_json::Value as Json;

/// The path as errors show it; none if it is not one of the schema's.
pub(super) fn normalize(path: &str, schema: &Json) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    let mut steps = Vec::new();
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[', ']']).unwrap_or(after.len());
            (after[..end].to_owned(), &after[end..])
        } else {
            let after = rest.strip_prefix("['")?;
            let end = closing_quote(after)?;
            (unescape(&after[..end])?, after[end + 1..].strip_prefix(']')?)
        };
        rest = after;
        if let Some(properties) = schema.get("properties") {
            schema = properties.get(&name)?;
            steps.push((name, false));
        } else {
            schema = schema.get("additionalProperties").filter(|values| values.is_object())?;
            steps.push((name, true));
        }
    }
    Some(display(&Path::NIL, &steps))
}

fn display(path: &Path<'_>, steps: &[(String, bool)]) -> String {
    match steps {
        [] => path.to_string(),
        [(name, true), rest @ ..] => display(&path.key(name), rest),
        [(name, false), rest @ ..] => display(&path.child(name), rest),
    }
}

/// Place of the quote that ends a quoted text.
fn closing_quote(text: &str) -> Option<usize> {
    text.match_indices('\'').map(|(place, _)| place).find(|place| !text[..*place].ends_with('\\'))
}

/// Resolves the escapes of a single-quoted text.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('a') => '\u{7}',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('t') => '\t',
                Some('v') => '\u{b}',
                Some(c @ ('\'' | '\\')) => c,
                Some(_) => return None,
                None => '\\',
            },
            c => c,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_of_the_schema() {
        let schema = serde_json::json!({"properties": {
            "a": {"properties": {"b.c": {}}},
            "m": {"additionalProperties": {"properties": {"x": {}}}},
        }});
        for (path, normal) in [
            (".a", Some("a")),
            (".a['b.c']", Some("a.b.c")),
            (".m['k'].x", Some("m[k].x")),
            (".m.k", Some("m[k]")),
            (".m['it\\'s']", Some("m[it's]")),
            (".b", None),
            ("a", None),
            (".a[0]", None),
            (".m['k", None),
        ] {
            assert_eq!(normalize(path, &schema).as_deref(), normal, "{path}");
        }
    }
}
