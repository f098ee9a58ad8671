//! Decoder of stored JSON, which another server may have nested more deeply than a tree may be.

use std::sync::Arc;

use jsontree::Value;

use super::decoder::Decoder;
use super::errors::Error;
use super::slot::Slot;
use super::typed::Decoded;
use super::{TREE_DEPTH_MAX, Untyped};
use crate::json_write::compact;
use crate::memory::DecodeBudget;
use crate::table::Message;

/// Depth from which values stay raw in a text that exceeds [`TREE_DEPTH_MAX`]. Below that limit, because a
/// conversion to another version can move values a few levels down.
const RAW_DEPTH: usize = TREE_DEPTH_MAX - 16;

/// Decodes a stored object of a type. If it is nested too deeply for a tree, the deepest objects and lists
/// become [raw](Value::Raw).
///
/// # Errors
/// As for [`decode`](super::decode), with [`DEPTH_MAX`](super::DEPTH_MAX) as the depth limit.
pub fn decode_stored(message: &'static Message, text: &[u8]) -> Result<Decoded, Error> {
    match super::decode(message, text) {
        Err(Error::Syntax(_)) => {
            super::typed::decode_with(message, Decoder { raw_depth: RAW_DEPTH, ..Decoder::new(text) })
        }
        decoded => decoded,
    }
}

/// Decodes a stored value without a type, as [`decode_stored`] does.
///
/// # Errors
/// As for [`decode_untyped`](super::decode_untyped), with [`DEPTH_MAX`](super::DEPTH_MAX) as the depth limit.
pub fn decode_untyped_stored(text: &[u8]) -> Result<Untyped, Error> {
    match super::decode_untyped(text) {
        Err(Error::Syntax(_)) => {
            let budget = DecodeBudget::of_body(text.len());
            Decoder { budget, raw_depth: RAW_DEPTH, ..Decoder::new(text) }.decode_all()
        }
        decoded => decoded,
    }
}

impl Decoder<'_> {
    /// True if an object or list that starts with this byte must stay raw.
    #[inline(always)]
    pub(super) fn stays_raw(&self, start: u8) -> bool {
        matches!(start, b'{' | b'[') && self.scan.depth() >= self.raw_depth
    }

    /// Copies the text of the next value. Always returns true: there is a value.
    #[cold]
    pub(super) fn raw_value(&mut self, slot: Slot<'_>) -> Result<bool, Error> {
        let text = self.scan.skip()?;
        let mut compacted = Vec::new();
        compact(text, &mut compacted).map_err(|error| Error::Value(error.to_string()))?;
        Ok(slot.put(Value::Raw(Arc::from(String::from_utf8_lossy(&compacted)))))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::json::DEPTH_MAX;
    use crate::json_write;

    fn nested(levels: usize) -> String {
        r#"{"a":["#.repeat(levels / 2) + &"]}".repeat(levels / 2)
    }

    #[test]
    fn deep_values_round_trip() {
        for levels in [2, 300, 400, 402, 1000, DEPTH_MAX] {
            let text = nested(levels);
            let value = decode_untyped_stored(text.as_bytes()).unwrap().value;
            assert_eq!(value.has_raw(), levels > TREE_DEPTH_MAX, "{levels}");
            let mut encoded = Vec::new();
            json_write::untyped(&value, &mut encoded).unwrap();
            assert!(encoded == text.as_bytes(), "{levels}");
        }
        assert!(decode_untyped_stored(nested(DEPTH_MAX + 2).as_bytes()).is_err());
    }

    #[test]
    fn deep_schemas_round_trip() {
        let message = builtin::kind("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
        let opened = r#"{"type":"object","properties":{"a":"#;
        let schema = opened.repeat(300) + r#"{"type":"string"}"# + &"}}".repeat(300);
        let text = format!(r#"{{"spec":{{"versions":[{{"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#);
        let object = decode_stored(message, text.as_bytes()).unwrap().object;
        let mut encoded = Vec::new();
        json_write::encode(message, &object, &mut encoded).unwrap();
        let encoded = String::from_utf8(encoded).unwrap();
        assert!(encoded.contains(&schema));
    }

    #[test]
    fn deep_garbage_is_rejected() {
        for text in [r#"{"a":"#.repeat(500), "[".repeat(500) + &"}".repeat(500), nested(500) + "x"] {
            assert!(decode_untyped_stored(text.as_bytes()).is_err());
        }
    }
}
