//! ES512 (ECDSA on P-521 with SHA-512), which `jsonwebtoken` does not support (RFC 7515, RFC 7518).

use crate::Error;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P521_SHA512_FIXED, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde_json::Value;

/// The algorithm name in tokens.
pub(crate) const NAME: &str = "ES512";

#[derive(Serialize)]
struct Header<'a> {
    alg: &'static str,
    kid: &'a str,
}

/// Signs a token with a PKCS#8 key and its id.
///
/// # Errors
/// The key is invalid, or the claims cannot be serialized.
pub(super) fn encode(id: &str, claims: &impl Serialize, pkcs8: &[u8]) -> Result<String, Error> {
    let part = |json: Result<Vec<u8>, serde_json::Error>| {
        json.map(|json| URL_SAFE_NO_PAD.encode(json)).map_err(|error| Error::Signing(error.to_string()))
    };
    let header = part(serde_json::to_vec(&Header { alg: NAME, kid: id }))?;
    let message = format!("{header}.{}", part(serde_json::to_vec(claims))?);
    let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P521_SHA512_FIXED_SIGNING, pkcs8);
    let pair = pair.map_err(|error| Error::Signing(error.to_string()))?;
    let signature = pair.sign(&SystemRandom::new(), message.as_bytes());
    let signature = signature.map_err(|_| Error::Signing("cannot sign".to_owned()))?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref())))
}

/// Verifies a token with a key and returns its payload. The key is an uncompressed point.
pub(crate) fn decode(token: &str, point: &[u8]) -> Option<Value> {
    let (message, signature) = token.rsplit_once('.')?;
    let (_, payload) = message.rsplit_once('.')?;
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let key = UnparsedPublicKey::new(&ECDSA_P521_SHA512_FIXED, point);
    key.verify(message.as_bytes(), &signature).ok()?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}
