//! Sizes of the client's terminal: JSON values one after another.

use serde_json::{Deserializer, Value};

/// Maximum size of a value that has not arrived completely, in bytes.
const PENDING_BYTES_MAX: usize = 1024;

/// Incremental parser. After an invalid value, further ones are ignored.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    pending: Vec<u8>,
    broken: bool,
}

impl Sizes {
    /// Returns the complete sizes in the form for kubelets, one in a line.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut lines = Vec::new();
        for part in bytes.chunks(PENDING_BYTES_MAX) {
            if self.broken {
                return lines;
            }
            self.pending.extend_from_slice(part);
            self.parse(&mut lines);
        }
        lines
    }

    /// Ends the sizes.
    pub(super) fn end(&mut self) {
        *self = Sizes { broken: true, pending: Vec::new() };
    }

    fn parse(&mut self, lines: &mut Vec<u8>) {
        let mut values = Deserializer::from_slice(&self.pending).into_iter::<Value>();
        loop {
            match values.next().map(|value| value.map(|value| line(&value))) {
                Some(Ok(Some(line))) => lines.extend_from_slice(line.as_bytes()),
                Some(Err(error)) if error.is_eof() => break,
                Some(_) => return self.end(),
                None => break,
            }
        }
        let consumed = values.byte_offset().min(self.pending.len());
        self.pending.drain(..consumed);
        if self.pending.len() > PENDING_BYTES_MAX {
            self.end();
        }
    }
}

/// Encodes a size. Names match in any case, as in Go; a missing number is 0.
fn line(value: &Value) -> Option<String> {
    let number = |name: &str| match value {
        Value::Null => Some(0),
        Value::Object(members) => {
            let found = members.iter().find(|(member, _)| member.eq_ignore_ascii_case(name));
            match found.map(|(_, value)| value) {
                None | Some(Value::Null) => Some(0),
                Some(value) => value.as_u64().and_then(|number| u16::try_from(number).ok()),
            }
        }
        _ => None,
    };
    Some(format!("{{\"Width\":{},\"Height\":{}}}\n", number("Width")?, number("Height")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(text: &str, part: usize) -> String {
        let mut sizes = Sizes::default();
        let lines: Vec<u8> = text.as_bytes().chunks(part).flat_map(|part| sizes.receive(part)).collect();
        String::from_utf8(lines).unwrap_or_default()
    }

    #[test]
    fn sizes_may_arrive_in_parts() {
        let two = "{\"Width\":80,\"Height\":24}\n{\"height\":30,\"x\":1}";
        let expected = "{\"Width\":80,\"Height\":24}\n{\"Width\":0,\"Height\":30}\n";
        for part in [1, 7, 100] {
            assert_eq!(received(two, part), expected, "{part}");
        }
    }

    #[test]
    fn sizes_end_with_invalid_value() {
        let valid = "{\"Width\":1,\"Height\":1}\n";
        for invalid in ["x", "[]", "{\"Width\":65536}", "{\"Width\":-1}"] {
            assert_eq!(received(&format!("{valid}{invalid}{valid}"), 4), valid, "{invalid}");
        }
    }

    #[test]
    fn incomplete_size_is_bounded() {
        let mut sizes = Sizes::default();
        sizes.receive(b"{\"Width\":\"");
        sizes.receive(&[b'x'; 4 * PENDING_BYTES_MAX]);
        assert!(sizes.broken && sizes.pending.is_empty());
    }
}
