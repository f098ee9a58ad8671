//! Decodes any bytes as JSON, as a few types with many kinds of fields and without a type. It never panics,
//! decoded objects survive a round trip, and text that is reported as canonical equals the encoder's output.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::{builtin, json, json_write};

const TYPES: [(&str, &str); 5] = [
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("apps/v1", "ControllerRevision"),
    ("coordination.k8s.io/v1", "Lease"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

fuzz_target!(|text: &[u8]| {
    let _ = json::type_meta(text);
    let _ = json::decode_untyped(text);
    if let Ok(outline) = json::decode_outline(text, &["openAPIV3Schema", "fieldsV1"]) {
        assert!(outline.skipped.into_iter().all(|object| text.get(object).is_some()));
    }
    for (api_version, kind) in TYPES {
        let message = builtin::kind(api_version, kind).expect("the type is in the tables");
        let is_canonical = json::is_canonical(message, text);
        let Ok(decoded) = json::decode(message, text) else {
            assert!(!is_canonical);
            continue;
        };
        let mut out = Vec::new();
        let written = json_write::encode(message, &decoded.object, &mut out).is_ok();
        assert!(!is_canonical || written && out == text);
        if written {
            json::decode(message, &out).expect("what was written decodes");
        }
    }
});
