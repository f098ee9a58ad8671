//! Applies any text as each kind of patch to any document (separated by NUL): it never panics, output is
//! bounded, and JSON input gives JSON output.
#![no_main]

use jsontree::Value;
use libfuzzer_sys::fuzz_target;
use schema::patch::json_patch::{COPIED_LENGTH_MAX, JsonPatch};
use schema::patch::merge_patch::MergePatch;
use schema::patch::{expand, strategic, text, typed};
use schema::{builtin, json};

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (Some(document), Some(patch)) = (parts.next(), parts.next()) else { return };
    let message = builtin::kind("v1", "Pod").expect("the type is in the tables");
    let Ok(decoded) = json::decode(message, document) else { return };
    let Ok(document) = text(message, &decoded.object) else { return };
    let limit = COPIED_LENGTH_MAX + 6 * (document.len() + patch.len());
    for validates in [false, true] {
        if let Ok((patch, _)) = JsonPatch::parse(patch, validates)
            && let Ok(patched) = patch.apply(&document)
        {
            assert!(patched.len() <= limit);
            let _ = json::decode(message, &patched);
        }
        if let Ok((patch, _)) = MergePatch::parse(patch, validates)
            && let Ok(patched) = patch.apply(&document)
        {
            assert!(patched.len() <= limit);
            let _ = json::decode(message, &patched);
        }
    }
    if let (Ok((mut patch, _)), Ok(Value::Object(mut value))) =
        (strategic::parse(patch), expand(message, &decoded.object))
        && strategic::apply(message, &mut value, &mut patch).is_ok()
    {
        let _ = strategic::quoted(&patch);
        let _ = typed::object(message, value);
    }
});
