//! Secrets: write-only text becomes data.

use super::kind::{Conversion, NONE};
use crate::tree::pairs;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::Value;
use schema::object::Object;

pub(super) static CONVERSION: Conversion = Conversion {
    normalise: |object| {
        secret(object);
        Ok(())
    },
    ..NONE
};

fn secret(object: &mut Object) {
    let texts: Vec<(String, Value)> = pairs(object, "stringData")
        .map(|(key, text)| (key.to_owned(), Value::from(STANDARD.encode(text))))
        .collect();
    object.remove("stringData");
    if texts.is_empty() {
        return;
    }
    let data = object.entry("data").or_insert(Value::Null);
    if !data.is_object() {
        *data = Value::Object(Object::new());
    }
    if let Value::Object(data) = data {
        data.extend(texts);
    }
}
