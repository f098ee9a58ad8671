//! Streaming JSON writer. OpenAPI documents have several megabytes, so no tree is built for them.

/// A JSON writer. The caller must ensure that the output is well-formed: keys and values alternate within
/// objects, and arrays contain only values.
#[derive(Debug, Default)]
pub struct Writer {
    out: Vec<u8>,
    /// True if the next key or array element needs a comma before it.
    comma: bool,
    omits_enums: bool,
}

/// First line of the part of a description that lists the values of an enumeration.
const ENUM_HEADER: &str = "Possible enum values:";

impl Writer {
    /// Creates a writer with an empty document.
    pub fn new() -> Self {
        Writer::default()
    }

    /// Omits enumerations from the definitions of types, and their values from descriptions.
    pub fn without_enums(self) -> Self {
        Writer { omits_enums: true, ..self }
    }

    /// Returns the written JSON.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Writes an object with the members written by `members`.
    pub fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.enclosed(b'{', b'}', members);
    }

    /// Writes an array with the elements written by `elements`.
    pub fn array(&mut self, elements: impl FnOnce(&mut Self)) {
        self.enclosed(b'[', b']', elements);
    }

    fn enclosed(&mut self, open: u8, close: u8, inner: impl FnOnce(&mut Self)) {
        self.separate();
        self.out.push(open);
        self.comma = false;
        inner(self);
        self.out.push(close);
        self.comma = true;
    }

    /// Writes the name of the next member.
    pub fn key(&mut self, name: &str) {
        self.string(name);
        self.out.push(b':');
        self.comma = false;
    }

    /// Writes a string, without the HTML escapes of Go's `encoding/json`.
    pub fn string(&mut self, text: &str) {
        self.separate();
        self.out.push(b'"');
        let bytes = text.as_bytes();
        let mut written = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            if byte >= 0x20 && byte != b'"' && byte != b'\\' {
                continue;
            }
            self.out.extend_from_slice(bytes.get(written..at).unwrap_or_default());
            written = at + 1;
            match byte {
                b'\n' => self.out.extend_from_slice(b"\\n"),
                0..0x20 => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => self.out.extend_from_slice(&[b'\\', byte]),
            }
        }
        self.out.extend_from_slice(bytes.get(written..).unwrap_or_default());
        self.out.push(b'"');
        self.comma = true;
    }

    /// Writes a value that is already JSON.
    pub fn raw(&mut self, json: &str) {
        self.separate();
        self.out.extend_from_slice(json.as_bytes());
        self.comma = true;
    }

    /// Writes a member with a string.
    pub fn text(&mut self, name: &str, value: &str) {
        self.key(name);
        self.string(value);
    }

    /// Writes a member with a string, unless it is empty.
    pub fn text_if_any(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }

    /// Writes the description of a type or member, unless it is empty.
    pub(super) fn description(&mut self, text: &str) {
        let before_enum = text.split_once(ENUM_HEADER).filter(|_| self.omits_enums);
        self.text_if_any("description", before_enum.map_or(text, |(text, _)| text.trim()));
    }

    /// Writes the values of an enumeration, unless there are none.
    pub(super) fn enum_values(&mut self, values: &[&str]) {
        if !self.omits_enums {
            self.texts_if_any("enum", values);
        }
    }

    /// Writes a member with an array of strings.
    pub fn texts(&mut self, name: &str, values: &[&str]) {
        self.key(name);
        self.array(|w| values.iter().for_each(|value| w.string(value)));
    }

    /// Writes a member with strings, unless there are none.
    pub fn texts_if_any(&mut self, name: &str, values: &[&str]) {
        if !values.is_empty() {
            self.texts(name, values);
        }
    }

    /// Writes a member that is already JSON, unless it is empty.
    pub fn raw_if_any(&mut self, name: &str, json: &str) {
        if !json.is_empty() {
            self.key(name);
            self.raw(json);
        }
    }

    fn separate(&mut self) {
        if self.comma {
            self.out.push(b',');
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_and_nowhere_else() {
        let mut w = Writer::new();
        w.object(|w| {
            w.text("a", "x\"\\\n\u{1}é");
            w.key("b");
            w.array(|w| {
                w.raw("1");
                w.object(|_| {});
                w.array(|_| {});
            });
            w.texts("c", &["y", "z"]);
            w.text_if_any("d", "");
        });
        let expected = "{\"a\":\"x\\\"\\\\\\n\\u0001é\",\"b\":[1,{},[]],\"c\":[\"y\",\"z\"]}";
        assert_eq!(String::from_utf8(w.into_bytes()).unwrap(), expected);
    }
}
