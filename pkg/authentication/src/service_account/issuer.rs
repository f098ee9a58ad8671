//! Issues service account tokens.

use std::sync::Arc;

use jsonwebtoken::{Header, encode};

use super::{Claims, ExternalKeys, SigningKey, es512};
use crate::Error;

/// Signer of tokens.
#[derive(Clone)]
pub enum Signer {
    /// A key in this process.
    Key(Box<SigningKey>),
    /// An external signer.
    External(Arc<ExternalKeys>),
}

/// Token issuer: a name and a signer. Cheap to clone.
#[derive(Clone)]
pub struct Issuer {
    name: String,
    signer: Signer,
}

impl Issuer {
    /// `name` is the first `--service-account-issuer`.
    pub fn new(name: String, signer: Signer) -> Self {
        Issuer { name, signer }
    }

    /// Issues a token with `claims`.
    ///
    /// # Errors
    /// A valid local key does not fail. An external signer may fail.
    pub async fn issue(&self, claims: Claims) -> Result<String, Error> {
        let claims = Claims { issuer: self.name.clone(), ..claims };
        let key = match &self.signer {
            Signer::Key(key) => key,
            Signer::External(keys) => return Ok(keys.issue(&claims).await?),
        };
        let public = &key.public;
        let Some(algorithm) = public.algorithm.library() else {
            return es512::encode(&public.id, &claims, key.encoding.as_bytes());
        };
        let header = Header { typ: None, kid: Some(public.id.clone()), ..Header::new(algorithm) };
        encode(&header, &claims, &key.encoding).map_err(|error| Error::Signing(error.to_string()))
    }
}
