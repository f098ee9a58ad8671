//! IDL files as text: the parts that facts do not contain are read from the existing files.

use std::collections::BTreeMap;

use crate::error::Error;

/// An IDL file.
#[derive(Default)]
pub(crate) struct File {
    /// The comment lines above the package.
    pub(crate) comments: String,
    pub(crate) package: String,
    /// Prefix of the protobuf names. Empty if no type of the package has one.
    pub(crate) wire: String,
    pub(crate) types: BTreeMap<String, Type>,
}

/// A type of an IDL file.
#[derive(Default)]
pub(crate) struct Type {
    /// The lines as they are, with the final newline.
    pub(crate) text: String,
    /// Fields by JSON name.
    pub(crate) fields: BTreeMap<String, Attributes>,
}

/// Attributes in source order: name and the text in parentheses.
#[derive(Default)]
pub(crate) struct Attributes(Vec<(String, Option<String>)>);

impl Attributes {
    /// Returns the text of an attribute, if the field has it.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).and_then(|(_, text)| text.as_deref())
    }
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// A line that the grammar of `proto/README.md` does not allow.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let mut file = Self::default();
        let mut open: Option<(String, Type)> = None;
        for (at, line) in text.lines().enumerate() {
            let invalid = || Error::IdlLine { path: path.to_owned(), number: at + 1, line: line.to_owned() };
            if let Some((_, ty)) = &mut open {
                ty.text.push_str(line);
                ty.text.push('\n');
            }
            let words = words(line.trim()).ok_or_else(invalid)?;
            let heads: Vec<&str> = words.iter().map(|(name, _)| name.as_str()).collect();
            match heads[..] {
                [] if file.package.is_empty() && !line.is_empty() => {
                    file.comments.push_str(line);
                    file.comments.push('\n');
                }
                [] => {}
                ["package", name] => file.package = name.to_owned(),
                ["wire", name] => file.wire = name.to_owned(),
                ["type", name, .., "{"] => {
                    open = Some((name.to_owned(), Type { text: format!("{line}\n"), ..Type::default() }));
                }
                ["}"] => file.types.extend(open.take()),
                [name, _, _, ..] => {
                    let (_, ty) = open.as_mut().ok_or_else(invalid)?;
                    ty.fields.insert(name.to_owned(), Attributes(words[3..].to_vec()));
                }
                _ => return Err(invalid()),
            }
        }
        Ok(file)
    }
}

/// Splits a line at spaces outside parentheses; `a(b)` becomes `("a", Some("b"))`. A `#` outside parentheses
/// starts a comment. `None` if parentheses do not match.
fn words(line: &str) -> Option<Vec<(String, Option<String>)>> {
    let mut out = Vec::new();
    let mut rest = line;
    while !rest.is_empty() && !rest.starts_with('#') {
        let end = rest.find([' ', '(']).unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        rest = &rest[end..];
        let mut text = None;
        if rest.starts_with('(') {
            let close = closing_parenthesis(rest)?;
            text = Some(rest[1..close].to_owned());
            rest = &rest[close + 1..];
        }
        out.push((name, text));
        rest = rest.trim_start();
    }
    Some(out)
}

/// Returns the index of the parenthesis that closes the one at 0. Quoted parentheses do not count.
fn closing_parenthesis(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_parenthesis_does_not_close() {
        let words = words(r#"a 1 string default("x) y") list(map,b) # note"#).unwrap();
        let texts: Vec<_> = words.iter().filter_map(|(_, text)| text.as_deref()).collect();
        assert_eq!(texts, [r#""x) y""#, "map,b"]);
    }

    #[test]
    fn invalid_line_is_named() {
        let error = File::parse("a.idl", "package a\n\nfield 1 string\n").err().unwrap();
        assert_eq!(error.to_string(), "a.idl:3: not understood: field 1 string");
    }
}
