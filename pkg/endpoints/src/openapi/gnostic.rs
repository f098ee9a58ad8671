//! Documents as protobuf, in gnostic's messages. As in upstream, they are converted from JSON.

pub(super) mod v2;
pub(super) mod v3;

use jsontree::{Object, Value};

fn elements(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Protobuf message under construction.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// Appends a string, unless it is absent.
    fn text(&mut self, number: u32, value: &Value) {
        if let Some(text) = value.as_str() {
            self.bytes(number, text.as_bytes());
        }
    }

    fn texts(&mut self, number: u32, values: &Value) {
        elements(values).iter().for_each(|value| self.text(number, value));
    }

    /// Appends a boolean, unless it is false.
    fn boolean(&mut self, number: u32, value: &Value) {
        if value == &Value::Bool(true) {
            self.varint(u64::from(number << 3));
            self.varint(1);
        }
    }

    /// Appends a boolean of a oneof, where false is encoded too.
    fn any_boolean(&mut self, number: u32, value: bool) {
        self.varint(u64::from(number << 3));
        self.varint(u64::from(value));
    }

    /// Appends an integer, unless it is absent or zero.
    fn integer(&mut self, number: u32, value: &Value) {
        if let Some(value) = value.as_u64().filter(|value| *value != 0) {
            self.varint(u64::from(number << 3));
            self.varint(value);
        }
    }

    fn double(&mut self, number: u32, value: &Value) {
        if let Some(value) = value.as_f64() {
            self.varint(u64::from(number << 3 | 1));
            self.0.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn message(&mut self, number: u32, write: impl FnOnce(&mut Message)) {
        self.varint(u64::from(number << 3 | 2));
        let start = self.0.len();
        write(self);
        // The length precedes the message but is only known afterwards. The message moves by the size of the
        // length.
        let len = self.0.len() - start;
        self.varint(len as u64);
        if let Some(inner) = self.0.get_mut(start..) {
            inner.rotate_left(len);
        }
    }

    /// Appends the members of an object as messages with a name and a value.
    fn named_members(&mut self, number: u32, object: &Value, write: impl Fn(&mut Message, &Value)) {
        for (name, value) in object.as_object().into_iter().flatten() {
            self.message(number, |m| {
                m.bytes(1, name.as_bytes());
                m.message(2, |m| write(m, value));
            });
        }
    }

    /// Appends the members with the prefix `x-`.
    fn extensions(&mut self, number: u32, object: &Value) {
        let none = Object::new();
        let members = object.as_object().unwrap_or(&none);
        for (name, value) in members.iter().filter(|(name, _)| name.starts_with("x-")) {
            self.message(number, |m| {
                m.bytes(1, name.as_bytes());
                m.message(2, |m| m.yaml(value));
            });
        }
    }

    fn yaml(&mut self, value: &Value) {
        let json = value.to_string();
        let mut yaml = Vec::new();
        match schema::yaml::from_json(json.as_bytes(), &mut yaml) {
            Ok(()) => self.bytes(2, &yaml),
            // The value is nested too deeply for block style. JSON is valid YAML.
            Err(_) => self.bytes(2, format!("{json}\n").as_bytes()),
        }
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number << 3 | 2));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
pub(in crate::openapi) mod tests {
    use super::*;

    pub(super) fn check(write: impl FnOnce(&mut Message), expected: &[u8]) {
        let mut message = Message::default();
        write(&mut message);
        assert_eq!(message.0, expected);
    }
}
