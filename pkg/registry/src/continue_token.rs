//! The `continue` token of chunked lists (upstream's `storage/continue.go`).

use apimachinery::go_json;
use base64::engine::general_purpose::{self, GeneralPurpose, URL_SAFE_NO_PAD};
use base64::{Engine, alphabet};
use jsontree::Value;
use schema::json;

const VERSION: &str = "meta.k8s.io/v1";

/// URL-safe base64 without padding. Like Go's decoder it ignores unused trailing bits.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::URL_SAFE, general_purpose::NO_PAD.with_decode_allow_trailing_bits(true));

/// Error of an invalid token, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("continue key is not valid: {0}")]
pub(crate) struct TokenError(#[from] TokenErrorCause);

/// Cause of a [`TokenError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum TokenErrorCause {
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    #[error(transparent)]
    Json(#[from] json::Error),
    #[error("json: cannot unmarshal {0} into Go value of type storage.continueToken")]
    NotObject(&'static str),
    #[error("json: cannot unmarshal {kind} into Go struct field continueToken.{field} of type {go_type}")]
    Field { kind: &'static str, field: &'static str, go_type: &'static str },
    #[error("server does not recognize this encoded version {0}")]
    Version(String),
    #[error("incorrect encoded start resourceVersion (version {VERSION})")]
    Revision,
    #[error("encoded start key empty (version {VERSION})")]
    NoStart,
    /// A start outside of the list's prefix.
    #[error("{0}")]
    Start(String),
}

/// Position in a chunked list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ContinueToken {
    /// Revision of the list; -1 means to continue at the latest.
    pub(crate) revision: i64,
    /// First requested key, relative to the list's prefix, without a leading slash.
    pub(crate) start: String,
}

impl ContinueToken {
    pub(crate) fn encode(&self) -> String {
        let start = serde_json::to_string(&self.start).unwrap_or_default();
        let json = format!("{{\"v\":\"{VERSION}\",\"rv\":{},\"start\":{start}}}", self.revision);
        URL_SAFE_NO_PAD.encode(json)
    }

    /// Decodes a token. `start` has a leading slash if the token comes from a watch cache and none if it
    /// comes from etcd; both are accepted.
    ///
    /// # Errors
    /// The message for the 400.
    pub(crate) fn decode(token: &str) -> Result<Self, TokenError> {
        Ok(decode(token)?)
    }
}

fn decode(token: &str) -> Result<ContinueToken, TokenErrorCause> {
    let bytes = decode_base64(token)?;
    let value = json::decode_untyped(&bytes)?.value;
    if !value.is_object() && !value.is_null() {
        return Err(TokenErrorCause::NotObject(go_json::kind_of(&value)));
    }
    for (name, go_type) in [("v", "string"), ("rv", "int64"), ("start", "string")] {
        check_type(&value, name, go_type)?;
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or("");
    if text("v") != VERSION {
        return Err(TokenErrorCause::Version(text("v").to_owned()));
    }
    let revision = value.get("rv").and_then(Value::as_i64).unwrap_or(0);
    if revision == 0 {
        return Err(TokenErrorCause::Revision);
    }
    let start = text("start");
    if start.is_empty() {
        return Err(TokenErrorCause::NoStart);
    }
    let relative = start.strip_prefix('/').unwrap_or(start);
    if !is_clean(relative) {
        return Err(TokenErrorCause::Start(start.to_owned()));
    }
    Ok(ContinueToken { revision, start: relative.to_owned() })
}

/// Rejects a field of the wrong type.
fn check_type(value: &Value, field: &'static str, go_type: &'static str) -> Result<(), TokenErrorCause> {
    let fits = match value.get(field) {
        None | Some(Value::Null) => true,
        Some(Value::String(_)) => go_type == "string",
        Some(Value::Number(number)) => go_type == "int64" && number.is_i64(),
        Some(_) => false,
    };
    if fits {
        return Ok(());
    }
    let kind = value.get(field).map_or("null", go_json::kind_of);
    Err(TokenErrorCause::Field { kind, field, go_type })
}

/// Decodes like Go's decoder, which skips newlines. Its error offsets start at 0, and a single excess byte at
/// the end is reported there, whatever follows it.
fn decode_base64(text: &str) -> Result<Vec<u8>, TokenErrorCause> {
    let is_break = |byte: u8| matches!(byte, b'\n' | b'\r');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if let Some(at) = text.bytes().position(|byte| !is_digit(byte) && !is_break(byte)) {
        return Err(TokenErrorCause::Base64(at));
    }
    let digits: Vec<u8> = text.bytes().filter(|&byte| !is_break(byte)).collect();
    LENIENT.decode(digits).map_err(|_| TokenErrorCause::Base64(text.len().saturating_sub(1)))
}

/// True if a path has no empty, `.` or `..` segments, so it cannot leave the list's prefix.
fn is_clean(path: &str) -> bool {
    let trimmed = path.strip_suffix('\0').unwrap_or(path);
    !trimmed.is_empty() && trimmed.split('/').all(|s| !matches!(s, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tokens_have_upstreams_bytes() {
        let token = ContinueToken { revision: 1234, start: "default/pod-1\0".to_owned() };
        let text = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MTIzNCwic3RhcnQiOiJkZWZhdWx0L3BvZC0xXHUwMDAwIn0";
        assert_eq!(token.encode(), text);
        assert_eq!(ContinueToken::decode(text).unwrap(), token);
    }

    #[test]
    fn start_with_and_without_slash_is_accepted() {
        let encoded = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"/a/b\u0000"}"#);
        assert_eq!(
            ContinueToken::decode(&encoded).unwrap(),
            ContinueToken { revision: -1, start: "a/b\0".to_owned() }
        );
    }

    #[test]
    fn base64_decodes_like_go() {
        let check = |text: &str, expected: Result<&str, usize>| {
            let expected = expected.map(|text| text.as_bytes().to_vec());
            assert_eq!(decode_base64(text), expected.map_err(TokenErrorCause::Base64), "{text:?}");
        };
        check("", Ok(""));
        check("YWJj", Ok("abc"));
        check("YWI", Ok("ab"));
        check("YWJ", Ok("ab"));
        check("YW\nJ\r\nj\n", Ok("abc"));
        check("x", Err(0));
        check("YWJjx", Err(4));
        check("YWJjx\n\n", Err(6));
        check("YWI=", Err(3));
        check("YW+j", Err(2));
        check("Y\nW é", Err(3));
    }

    #[test]
    fn a_token_cannot_lead_out_of_its_prefix() {
        for start in ["../x", "a/../../b", "a//b", ".", ""] {
            let json = jsontree::json!({"v": "meta.k8s.io/v1", "rv": 5, "start": start}).to_string();
            assert!(ContinueToken::decode(&URL_SAFE_NO_PAD.encode(json)).is_err(), "{start:?}");
        }
    }
}
