//! Decoding never panics, and decoded objects encode to canonical bytes that decode to the same object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::builtin;
use schema::proto::{Envelope, decode, encode, is_canonical};

fuzz_target!(|data: &[u8]| {
    let Ok(Envelope { api_version, kind, raw, .. }) = Envelope::parse(data) else { return };
    let Some(message) = builtin::kind(&api_version, &kind) else { return };
    let Ok(tree) = decode(message, raw) else {
        assert!(!is_canonical(message, raw));
        return;
    };
    let mut again = Vec::new();
    if encode(message, &tree, &mut again).is_ok() {
        assert_eq!(is_canonical(message, raw), again == raw);
        assert_eq!(decode(message, &again).as_ref(), Ok(&tree));
    }
});
