//! Names of members as identifiers: `a.b` is `a__dot__b` in expressions.

use std::borrow::Cow;

/// Words that no identifier may be, in CEL's lexer.
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

/// The member's name that an identifier stands for; none if it has an escape that there is not.
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
            // Not `__word__`: the underscore is one, what follows is looked at again.
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
            word if RESERVED.contains(&word) && word.len() + 4 == identifier.len() => name.push_str(word),
            _ => return None,
        }
        rest = &word[end + 2..];
    }
    name.push_str(rest);
    Some(Cow::Owned(name))
}

#[cfg(test)]
mod tests {
    use super::unescape;
    use crate::declared::escape;

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
}
