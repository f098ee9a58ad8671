//! Warnings about secrets.

mod key_pair;

use crate::warnings::collector::Warnings;
use api::tree::{child, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::object::Object;

/// Warns about a TLS `Secret` with a key that does not match its certificate.
pub(super) fn secret(secret: &Object, out: &mut Warnings) {
    if text(secret, "type") != "kubernetes.io/tls" {
        return;
    }
    let data = |key| child(secret, "data").and_then(|data| STANDARD.decode(text(data, key)).ok());
    let certificate = data("tls.crt").unwrap_or_default();
    let key = data("tls.key").unwrap_or_default();
    if let Err(error) = key_pair::check(&certificate, &key) {
        out.add(format_args!("{error}"));
    }
}
