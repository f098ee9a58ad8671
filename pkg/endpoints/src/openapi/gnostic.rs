//! The documents as protobuf, in gnostic's messages. They are made from the JSON, as upstream makes them.

pub(super) mod v2;
pub(super) mod v3;

use jsontree::{Object, Value};

fn elements(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A protobuf message in the making.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// A string, unless there is none.
    fn text(&mut self, number: u32, value: &Value) {
        if let Some(text) = value.as_str() {
            self.bytes(number, text.as_bytes());
        }
    }

    fn texts(&mut self, number: u32, values: &Value) {
        elements(values).iter().for_each(|value| self.text(number, value));
    }

    /// A boolean, unless it is false.
    fn boolean(&mut self, number: u32, value: &Value) {
        if value == &Value::Bool(true) {
            self.varint(u64::from(number << 3));
            self.varint(1);
        }
    }

    /// A boolean in a choice, where false is written too.
    fn any_boolean(&mut self, number: u32, value: bool) {
        self.varint(u64::from(number << 3));
        self.varint(u64::from(value));
    }

    /// An integer, unless there is none or it is zero.
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
        // How long it is stands before it and is known after it; it moves by the few bytes that takes.
        let len = self.0.len() - start;
        self.varint(len as u64);
        if let Some(inner) = self.0.get_mut(start..) {
            inner.rotate_left(len);
        }
    }

    /// The members of an object as messages of a name and a value.
    fn named(&mut self, number: u32, object: &Value, write: impl Fn(&mut Message, &Value)) {
        for (name, value) in object.as_object().into_iter().flatten() {
            self.message(number, |m| {
                m.bytes(1, name.as_bytes());
                m.message(2, |m| write(m, value));
            });
        }
    }

    /// The members whose names begin with `x-`.
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

    /// Any value is carried as YAML.
    fn yaml(&mut self, value: &Value) {
        let (json, mut yaml) = (value.to_string(), Vec::new());
        match schema::yaml::from_json(json.as_bytes(), &mut yaml) {
            Ok(()) => self.bytes(2, &yaml),
            // Nested too deeply to be written in blocks; JSON is YAML, too.
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
