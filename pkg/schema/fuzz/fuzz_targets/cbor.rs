//! Decodes any bytes as CBOR, as a few types with many kinds of fields and without a type. It never panics,
//! and decoded objects survive a round trip to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::{builtin, cbor};

const TYPES: [(&str, &str); 5] = [
    ("v1", "Pod"),
    ("v1", "Secret"),
    ("apps/v1", "ControllerRevision"),
    ("coordination.k8s.io/v1", "Lease"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
];

fuzz_target!(|bytes: &[u8]| {
    let _ = cbor::type_meta(bytes);
    let _ = cbor::decode_untyped(bytes);
    for (api_version, kind) in TYPES {
        let message = builtin::kind(api_version, kind).expect("the type is in the tables");
        let Ok(decoded) = cbor::decode(message, bytes) else { continue };
        let mut out = Vec::new();
        if cbor::encode(message, &decoded.object, &mut out).is_ok() {
            let again = cbor::decode(message, &out).expect("what was written decodes");
            let mut twice = Vec::new();
            cbor::encode(message, &again.object, &mut twice).expect("what decodes can be written");
            assert_eq!(twice, out);
        }
    }
});
