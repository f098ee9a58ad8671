//! Signs tokens.

use jsonwebtoken::{Header, encode};

use super::{Claims, SigningKey, es512};

/// Whoever issues tokens: a name, and the key that proves it. Cheap to clone.
#[derive(Clone)]
pub struct Issuer {
    name: String,
    key: SigningKey,
}

impl Issuer {
    /// `name` is the first `--service-account-issuer`.
    pub fn new(name: String, key: SigningKey) -> Self {
        Issuer { name, key }
    }

    /// A token that says `claims`.
    ///
    /// # Errors
    /// The text of what the key cannot do, which is nothing once it was read.
    pub fn issue(&self, claims: Claims) -> Result<String, String> {
        let public = &self.key.public;
        let claims = Claims { issuer: self.name.clone(), ..claims };
        let Some(algorithm) = public.algorithm.library() else {
            return es512::encode(&public.id, &claims, self.key.encoding.as_bytes());
        };
        let header = Header { typ: None, kid: Some(public.id.clone()), ..Header::new(algorithm) };
        encode(&header, &claims, &self.key.encoding).map_err(|error| error.to_string())
    }
}
