//! Transcoding gives the same text as decoding and encoding the tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::{builtin, json_write};
use schema::proto::{Envelope, decode};
use schema::transcode::to_json;

fuzz_target!(|data: &[u8]| {
    let Ok(Envelope { api_version, kind, raw, .. }) = Envelope::parse(data) else { return };
    let Some(message) = builtin::kind(&api_version, &kind) else { return };
    let mut direct = Vec::new();
    let transcoded = to_json(message, raw, None, None, &mut direct);
    let Ok(tree) = decode(message, raw) else {
        assert!(transcoded.is_err());
        return;
    };
    let mut written = Vec::new();
    assert_eq!(transcoded.is_ok(), json_write::encode(message, &tree, &mut written).is_ok());
    // Raw JSON keeps invalid UTF-8, which a tree cannot contain.
    if let (Ok(()), Ok(direct)) = (transcoded, String::from_utf8(direct)) {
        assert_eq!(direct.replace("\\ufffd", "\u{fffd}").as_bytes(), written);
    }
});
