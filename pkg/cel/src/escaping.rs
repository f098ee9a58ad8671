//! Escaping of field names as identifiers: `a.b` is `a__dot__b` in expressions.

use std::borrow::Cow;

/// Reserved words: no variable or function can have these names.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Returns true if no variable or function can have this name.
pub fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}

/// Escapes a field name; `None` if no expression can refer to it.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if is_reserved(name) {
        return Some(format!("__{name}__"));
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let (text, len) = match c {
            '_' if rest.starts_with("__") => ("__underscores__", 2),
            '.' => ("__dot__", 1),
            '-' => ("__dash__", 1),
            '/' => ("__slash__", 1),
            c if c.is_ascii_alphanumeric() || c == '_' => (&rest[..1], 1),
            _ => return None,
        };
        escaped.push_str(text);
        rest = &rest[len..];
    }
    Some(escaped)
}

/// Unescapes an identifier; `None` if it contains an unknown escape.
pub fn unescape(identifier: &str) -> Option<Cow<'_, str>> {
    if !identifier.contains("__") {
        return Some(Cow::Borrowed(identifier));
    }
    let mut name = String::with_capacity(identifier.len());
    let mut rest = identifier;
    while let Some(start) = rest.find("__") {
        let word = &rest[start + 2..];
        let end = word.find('_').unwrap_or(word.len());
        if end == 0 || !word[end..].starts_with("__") {
            // Not `__word__`: the underscore is literal, and the rest is scanned again.
            name.push_str(&rest[..start + 1]);
            rest = &rest[start + 1..];
            continue;
        }
        name.push_str(&rest[..start]);
        match &word[..end] {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            word if is_reserved(word) && word.len() + 4 == identifier.len() => name.push_str(word),
            _ => return None,
        }
        rest = &word[end + 2..];
    }
    name.push_str(rest);
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::{escape, unescape};

    #[test]
    fn names_survive_escaping() {
        for (name, identifier) in [
            ("a", "a"),
            ("a.b", "a__dot__b"),
            ("a-b/c", "a__dash__b__slash__c"),
            ("__x", "__underscores__x"),
            ("a___b", "a__underscores___b"),
            ("namespace", "__namespace__"),
            ("namespaces", "namespaces"),
        ] {
            assert_eq!(escape(name).as_deref(), Some(identifier));
            assert_eq!(unescape(identifier).as_deref(), Some(name));
        }
        for name in ["", "1a", "a b", "é"] {
            assert_eq!(escape(name), None);
        }
        for identifier in ["__what__", "x__if__"] {
            assert_eq!(unescape(identifier), None);
        }
    }

    #[test]
    fn field_names_escape_to_identifiers() {
        for (name, escaped) in [
            ("self", Some("self")),
            ("namespace", Some("__namespace__")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("_a_", Some("_a_")),
            ("___", Some("__underscores___")),
            ("", None),
            ("1a", None),
            ("a$", None),
            ("ä", None),
        ] {
            assert_eq!(escape(name).as_deref(), escaped, "{name}");
        }
    }
}
