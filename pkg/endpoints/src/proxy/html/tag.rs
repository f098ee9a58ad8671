//! Tags: an incremental scanner that finds the attributes and the end, and the new text of a start tag.

use std::collections::HashSet;
use std::ops::Range;

use super::entities;

/// Maximum number of attributes of a tag. A tag with more stays as it is.
const ATTRIBUTES_MAX: usize = 4096;

/// Scanner of one tag after its `<` or `</`. Positions are offsets from the `<`.
#[derive(Debug)]
pub(super) struct TagScanner {
    stage: Stage,
    name: Range<usize>,
    attribute: Attribute,
    attributes: Vec<Attribute>,
}

/// Positions of an attribute.
#[derive(Debug, Clone, Default)]
struct Attribute {
    key: Range<usize>,
    value: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Name,
    BeforeKey,
    Key,
    AfterKey,
    BeforeValue,
    Quoted(u8),
    Unquoted,
}

/// True for white space between attributes.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0x0c)
}

impl TagScanner {
    /// Scanner of a tag whose name starts at this position.
    pub(super) fn new(name: usize) -> Self {
        let name = name..name;
        TagScanner { stage: Stage::Name, name, attribute: Attribute::default(), attributes: Vec::new() }
    }

    /// Scans the byte at a position. Returns true at the end of the tag.
    pub(super) fn push(&mut self, byte: u8, at: usize) -> bool {
        // A byte that ends one part may begin the next, so each stage either consumes it or passes it on.
        loop {
            match self.stage {
                Stage::Name if is_space(byte) || matches!(byte, b'/' | b'>') => {
                    self.name.end = at;
                    self.stage = Stage::BeforeKey;
                }
                Stage::Name => return false,
                Stage::BeforeKey if is_space(byte) => return false,
                Stage::BeforeKey if byte == b'>' => return true,
                Stage::BeforeKey => {
                    self.attribute = Attribute { key: at..at, value: at..at };
                    self.stage = Stage::Key;
                }
                // An equals sign at the beginning belongs to the key.
                Stage::Key if byte == b'=' && at == self.attribute.key.start => return false,
                Stage::Key if is_space(byte) || matches!(byte, b'=' | b'/' | b'>') => {
                    self.attribute.key.end = at;
                    self.attribute.value = at..at;
                    self.stage = Stage::AfterKey;
                }
                Stage::Key => return false,
                Stage::AfterKey if is_space(byte) => return false,
                Stage::AfterKey if byte == b'=' => {
                    self.stage = Stage::BeforeValue;
                    return false;
                }
                Stage::AfterKey => {
                    self.end_attribute();
                    if byte == b'/' {
                        return false;
                    }
                }
                Stage::BeforeValue if is_space(byte) => return false,
                Stage::BeforeValue if byte == b'>' => self.end_attribute(),
                Stage::BeforeValue => {
                    let is_quote = matches!(byte, b'\'' | b'"');
                    self.attribute.value.start = if is_quote { at + 1 } else { at };
                    self.stage = if is_quote { Stage::Quoted(byte) } else { Stage::Unquoted };
                    return false;
                }
                Stage::Quoted(quote) => {
                    if byte == quote {
                        self.attribute.value.end = at;
                        self.end_attribute();
                    }
                    return false;
                }
                Stage::Unquoted if is_space(byte) || byte == b'>' => {
                    self.attribute.value.end = at;
                    self.end_attribute();
                }
                Stage::Unquoted => return false,
            }
        }
    }

    fn end_attribute(&mut self) {
        let attribute = std::mem::take(&mut self.attribute);
        if !attribute.key.is_empty() && self.attributes.len() <= ATTRIBUTES_MAX {
            self.attributes.push(attribute);
        }
        self.stage = Stage::BeforeKey;
    }

    /// Positions of the name, once it is complete.
    pub(super) fn name(&self) -> Option<Range<usize>> {
        (self.stage != Stage::Name).then(|| self.name.clone())
    }

    /// Appends the new text of a complete start tag: names in lower case, values in double quotes, without repeated
    /// attributes. `rewrite` returns the new value of an attribute, if it changes. False if there are too many
    /// attributes.
    pub(super) fn write(
        &self,
        tag: &[u8],
        mut rewrite: impl FnMut(&[u8], &[u8], &[u8]) -> Option<Vec<u8>>,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.attributes.len() > ATTRIBUTES_MAX {
            return false;
        }
        let part = |range: &Range<usize>| tag.get(range.clone()).unwrap_or_default();
        let name = lower_case(part(&self.name));
        out.push(b'<');
        out.extend_from_slice(&name);
        let mut seen = HashSet::new();
        let mut last = None;
        for Attribute { key, value } in &self.attributes {
            if !seen.insert(part(key).to_ascii_lowercase()) {
                continue;
            }
            last = Some(value.end);
            let key = lower_case(part(key));
            let value = entities::decode(part(value));
            let value = rewrite(&name, &key, &value).unwrap_or(value);
            out.push(b' ');
            out.extend_from_slice(&key);
            out.extend_from_slice(b"=\"");
            entities::encode(&value, out);
            out.push(b'"');
        }
        // The slash of `<a b=/>` is the value of an attribute.
        let slash = tag.len().checked_sub(2).filter(|at| tag.get(*at) == Some(&b'/'));
        let self_closing = slash.is_some_and(|at| last != Some(at + 1));
        out.extend_from_slice(if self_closing { b"/>" } else { b">" });
        true
    }
}

/// Converts a name to lower case. A NUL byte becomes the replacement character.
fn lower_case(name: &[u8]) -> Vec<u8> {
    entities::without_nul(&name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(tag: &str) -> String {
        let mut scanner = TagScanner::new(1);
        let ends: Vec<usize> = tag
            .bytes()
            .enumerate()
            .skip(1)
            .filter(|(at, byte)| scanner.push(*byte, *at))
            .map(|(at, _)| at)
            .collect();
        assert_eq!(ends, [tag.len() - 1], "{tag}");
        let mut out = Vec::new();
        assert!(scanner.write(tag.as_bytes(), |_, _, _| None, &mut out));
        String::from_utf8_lossy(&out).into_owned()
    }

    #[test]
    fn tag_is_written_as_go_does() {
        let check = |tag: &str, expected: &str| assert_eq!(written(tag), expected, "{tag}");
        check("<BR>", "<br>");
        check("<br/>", "<br/>");
        check("<br / >", "<br>");
        check("<a HREF='x>y'  b = c d>", "<a href=\"x&gt;y\" b=\"c\" d=\"\">");
        check("<a b=/>", "<a b=\"/\">");
        check("<a b='/'/>", "<a b=\"/\"/>");
        check("<a b=c/>", "<a b=\"c/\">");
        check("<a b=1 B=2>", "<a b=\"1\">");
        check("<a =b=c>", "<a =b=\"c\">");
        check("<a b=>", "<a b=\"\">");
        check("<a/b/c>", "<a b=\"\" c=\"\">");
        check("<a b=\"&lt;'\r\n&copy;&notit;\">", "<a b=\"&lt;&#39;\n©&amp;notit;\">");
    }

    #[test]
    fn tag_with_too_many_attributes_is_not_written() {
        let tag: String = (0..=ATTRIBUTES_MAX).map(|number| format!(" a{number}")).collect();
        let mut scanner = TagScanner::new(1);
        let tag = format!("<a{tag}>");
        tag.bytes().enumerate().skip(1).for_each(|(at, byte)| _ = scanner.push(byte, at));
        assert!(!scanner.write(tag.as_bytes(), |_, _, _| None, &mut Vec::new()));
    }
}
