//! Strings as in Go: bytes, with U+FFFD for each byte that is not part of a UTF-8 sequence.

use std::borrow::Cow;

/// Converts bytes to text with one U+FFFD per invalid byte. (Rust's lossy conversion has one per invalid
/// sequence.)
pub(crate) fn go_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let mut out = String::with_capacity(bytes.len() + 8);
            for chunk in bytes.utf8_chunks() {
                out.push_str(chunk.valid());
                out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Cow::Owned(out)
        }
    }
}

/// Like [`go_text`], owned.
pub(crate) fn go_string(bytes: &[u8]) -> String {
    go_text(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_invalid_byte_becomes_one_replacement() {
        assert_eq!(go_string("héllo".as_bytes()), "héllo");
        assert_eq!(go_string(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
        assert_eq!(go_string(b"\xe2\x80"), "\u{fffd}\u{fffd}");
    }
}
