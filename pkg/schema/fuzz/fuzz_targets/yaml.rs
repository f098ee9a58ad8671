//! Any bytes as YAML: no panic; what converts to JSON is JSON, and goes back to YAML that means the
//! same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::{json, yaml};

fuzz_target!(|text: &[u8]| {
    let Ok(converted) = yaml::to_json(text) else { return };
    let Ok(value) = json::decode_untyped(&converted.json) else { return };
    let mut written = Vec::new();
    yaml::from_json(&converted.json, &mut written).expect("the JSON that was made is JSON");
    let again = yaml::to_json(&written).expect("what was written reads");
    assert_eq!(json::decode_untyped(&again.json), Ok(value));
});
