//! JSON Web Key Sets (RFC 7517) and signature checks with their keys. Performs no I/O.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsontree::Value;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;

use crate::Error;
use crate::service_account::es512;

/// Maximum number of keys in a set; further keys are ignored. A token without a key id is tried with all
/// keys.
const KEYS_MAX: usize = 256;

/// Supported signing algorithms.
pub const SIGNING_ALGORITHMS: [&str; 9] =
    ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512"];

/// The keys of an issuer.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Rsa(DecodingKey),
    P256(DecodingKey),
    P384(DecodingKey),
    /// The uncompressed point.
    P521(Vec<u8>),
}

#[derive(Deserialize)]
struct Set {
    #[serde(default)]
    keys: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Member {
    kty: String,
    kid: String,
    crv: String,
    n: String,
    e: String,
    x: String,
    y: String,
}

impl KeySet {
    /// Parses a key set. Skips malformed keys and keys for other purposes.
    ///
    /// # Errors
    /// The text is not a key set.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Error> {
        let set: Set = serde_json::from_slice(body)
            .map_err(|error| Error::unavailable(format!("oidc: failed to decode keys: {error}")))?;
        let members = set.keys.into_iter().filter_map(|key| jsontree::from_value::<Member>(key).ok());
        Ok(KeySet(members.filter_map(Key::of).take(KEYS_MAX).collect()))
    }

    /// Returns the payload of a token if a key verifies its signature: the key with its id, or any key if it
    /// has no id.
    pub(super) fn verified(&self, token: &str, algorithm: &str, id: &str) -> Option<Value> {
        self.0
            .iter()
            .filter(|key| id.is_empty() || key.id == id)
            .find_map(|key| key.verified(token, algorithm))
    }
}

impl Key {
    fn of(member: Member) -> Option<Self> {
        let kind = match (member.kty.as_str(), member.crv.as_str()) {
            ("RSA", _) => Kind::Rsa(DecodingKey::from_rsa_components(&member.n, &member.e).ok()?),
            ("EC", "P-256") => Kind::P256(DecodingKey::from_ec_der(&point(&member, 32)?)),
            ("EC", "P-384") => Kind::P384(DecodingKey::from_ec_der(&point(&member, 48)?)),
            ("EC", "P-521") => Kind::P521(point(&member, 66)?),
            _ => return None,
        };
        Some(Key { id: member.kid, kind })
    }

    fn verified(&self, token: &str, algorithm: &str) -> Option<Value> {
        let (key, algorithm) = match (&self.kind, algorithm) {
            (Kind::Rsa(key), "RS256") => (key, Algorithm::RS256),
            (Kind::Rsa(key), "RS384") => (key, Algorithm::RS384),
            (Kind::Rsa(key), "RS512") => (key, Algorithm::RS512),
            (Kind::Rsa(key), "PS256") => (key, Algorithm::PS256),
            (Kind::Rsa(key), "PS384") => (key, Algorithm::PS384),
            (Kind::Rsa(key), "PS512") => (key, Algorithm::PS512),
            (Kind::P256(key), "ES256") => (key, Algorithm::ES256),
            (Kind::P384(key), "ES384") => (key, Algorithm::ES384),
            (Kind::P521(point), es512::NAME) => return es512::decode(token, point).map(Value::from),
            _ => return None,
        };
        let mut validation = Validation::new(algorithm);
        // Times and audiences are checked later.
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        decode(token, key, &validation).ok().map(|data| data.claims)
    }
}

/// Returns the uncompressed point of a key; `None` if the coordinates are too long.
fn point(member: &Member, bytes: usize) -> Option<Vec<u8>> {
    let mut point = vec![4];
    for text in [&member.x, &member.y] {
        let coordinate = URL_SAFE_NO_PAD.decode(text).ok().filter(|coordinate| coordinate.len() <= bytes)?;
        point.resize(point.len() + bytes - coordinate.len(), 0);
        point.extend(coordinate);
    }
    Some(point)
}
