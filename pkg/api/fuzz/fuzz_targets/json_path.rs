//! Fuzzes printer-column paths: the input is a path and an object, separated by a NUL. Nothing may panic, and
//! the work is bounded.
#![no_main]

use api::jsonpath::{JsonPath, EvaluationBudget};
use jsontree::Value;
use libfuzzer_sys::fuzz_target;
use schema::json;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(path), Some(text)) = (parts.next(), parts.next()) else { return };
    let Ok(path) = std::str::from_utf8(path) else { return };
    let Ok(Value::Object(object)) = json::decode_untyped(text).map(|untyped| untyped.value) else { return };
    for path in [JsonPath::of(path), JsonPath::parse(path)].into_iter().flatten() {
        let first = path.first(&object, &mut EvaluationBudget::default());
        let all = path.find(&object, &mut EvaluationBudget::default());
        assert_eq!(first.is_ok(), all.is_ok());
    }
});
