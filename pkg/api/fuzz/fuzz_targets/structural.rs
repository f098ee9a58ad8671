//! Fuzzes structural schemas: the input is a custom resource schema and an object, separated by a NUL.
//! Nothing may panic; pruning and defaulting are idempotent.
#![no_main]

use api::structural::{Coercion, Literals, Structural};
use jsontree::{Object, Value};
use libfuzzer_sys::fuzz_target;
use schema::json;

fn object(text: &[u8]) -> Option<Object> {
    match json::decode_untyped(text).ok()?.value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(schema), Some(text)) = (parts.next(), parts.next()) else { return };
    let (Some(schema), Some(mut object)) = (object(schema), object(text)) else { return };
    for literals in [Literals::Plain, Literals::Texts] {
        let structural = Structural::new(&schema, literals);
        let mut coerced = object.clone();
        let _ = structural.coerce(&mut coerced, Coercion::Reported);
    }
    let structural = Structural::new(&schema, Literals::Plain);
    let old = object.clone();
    if structural.coerce(&mut object, Coercion::Silent).is_err() {
        return;
    }
    let once = object.clone();
    assert_eq!(structural.coerce(&mut object, Coercion::Silent), Ok(Vec::new()));
    assert_eq!(object, once, "pruning twice");
    if structural.default(&mut object).is_err() {
        return;
    }
    let once = object.clone();
    assert_eq!(structural.default(&mut object), Ok(()));
    assert_eq!(object, once, "defaults of defaults");
    let _ = structural.validate(&object);
    let _ = structural.validate_update(&object, &old);
    let _ = structural.validate_embedded(&object);
    let _ = structural.validate_lists(&object);
});
