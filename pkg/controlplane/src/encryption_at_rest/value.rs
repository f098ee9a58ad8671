//! The value of a stored key, as far as encryption changes it.

use bytes::Bytes;
use encryption::{DecryptedValue, NOT_EXPECTED, is_encrypted};
use storage::{Form, KeyValue};

/// Marks the value of an unencrypted resource as unreadable if it is encrypted.
pub(super) fn expect_plain(kv: &mut KeyValue) {
    if is_encrypted(&kv.value) {
        kv.value = Bytes::new();
        kv.form = Form::Unreadable(NOT_EXPECTED.into());
    }
}

/// Stores the result of a decryption.
pub(super) fn set_decrypted(kv: &mut KeyValue, opened: Result<DecryptedValue, encryption::Error>) {
    let (value, form) = match opened {
        Ok(DecryptedValue { plain, stale: false }) => (plain, Form::Current),
        Ok(DecryptedValue { plain, stale: true }) => (plain, Form::Stale),
        Err(error) => (Bytes::new(), Form::Unreadable(error.to_string().into())),
    };
    (kv.value, kv.form) = (value, form);
}
