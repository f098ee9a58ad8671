//! Strict decoding of any bytes: errors are bounded in number and unique, and the encoder's own output causes
//! none.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::json::{STRICT_ERRORS_MAX, StrictError};
use schema::{builtin, json, json_write};

fn check(strict: &[StrictError]) {
    assert!(strict.len() <= STRICT_ERRORS_MAX);
    assert!(strict.iter().enumerate().all(|(at, error)| !strict[..at].contains(error)));
}

fuzz_target!(|text: &[u8]| {
    if let Ok(strict) = json::check_operations(text) {
        check(&strict);
    }
    if let Ok(untyped) = json::decode_untyped(text) {
        check(&untyped.strict);
    }
    let message = builtin::kind("v1", "Pod").expect("the type is in the tables");
    let Ok(decoded) = json::decode(message, text) else { return };
    check(&decoded.strict);
    let mut written = Vec::new();
    if json_write::encode(message, &decoded.object, &mut written).is_ok() {
        assert_eq!(json::decode(message, &written).map(|again| again.strict), Ok(Vec::new()));
    }
});
