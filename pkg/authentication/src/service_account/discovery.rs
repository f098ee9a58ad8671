//! OpenID Connect discovery documents, as far as relying parties need them to verify tokens (KEP-1393).

use std::collections::BTreeSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::keys::{KeyComponents, PublicKey};
use super::{PublicKeys, VerificationKeys};

/// Reason why there are no documents. The server runs without them.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    #[error("empty issuer URL")]
    NoIssuer,
    #[error("issuer URL must use https scheme, got: {0}")]
    IssuerScheme(String),
    #[error("issuer URL may not include a query, got: {0}")]
    IssuerQuery(String),
    #[error("issuer URL may not include a fragment, got: {0}")]
    IssuerFragment(String),
    /// The key URI is not an https URL.
    #[error("jwksURI requires https scheme, parsed as: {0}")]
    KeysScheme(String),
    #[error("no keys provided for validating keyset")]
    NoKeys,
    #[error("could not marshal issuer discovery JSON, error: {0}")]
    Json(#[from] serde_json::Error),
}

/// The documents, as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenIdDocuments {
    /// The discovery document: issuer and URL of its keys.
    pub configuration: Vec<u8>,
    /// The key set (RFC 7517).
    pub keys: Vec<u8>,
}

impl OpenIdDocuments {
    /// Path of the discovery document below the issuer's URL (OpenID Connect Discovery 1.0, 4).
    pub const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
    /// Path of the key set.
    pub const KEYS_PATH: &str = "/openid/v1/jwks";

    /// Builds the documents of an issuer. The keys are at `keys_uri`, or by default at `address`, which is
    /// `host:port`.
    ///
    /// # Errors
    /// [`DiscoveryError`].
    pub fn new(
        issuer: &str,
        keys_uri: Option<&str>,
        address: &str,
        keys: &PublicKeys,
    ) -> Result<Self, DiscoveryError> {
        let owned_issuer = || issuer.to_owned();
        let (url, fragment) = issuer.split_once('#').unwrap_or((issuer, ""));
        match url.split_once('?').map_or("", |(_, query)| query) {
            _ if issuer.is_empty() => return Err(DiscoveryError::NoIssuer),
            _ if !is_https(issuer) => return Err(DiscoveryError::IssuerScheme(owned_issuer())),
            "" => {}
            _ => return Err(DiscoveryError::IssuerQuery(owned_issuer())),
        }
        if !fragment.is_empty() {
            return Err(DiscoveryError::IssuerFragment(owned_issuer()));
        }
        let keys_uri = match keys_uri {
            Some(uri) if !is_https(uri) => return Err(DiscoveryError::KeysScheme(uri.to_owned())),
            Some(uri) => uri.to_owned(),
            None => format!("https://{address}{}", Self::KEYS_PATH),
        };
        if keys.discoverable().next().is_none() {
            return Err(DiscoveryError::NoKeys);
        }
        let configuration = Configuration {
            issuer,
            jwks_uri: &keys_uri,
            response_types_supported: ["id_token"],
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: keys.discoverable().map(|k| k.algorithm.name()).collect(),
        };
        let set = KeySet { keys: keys.discoverable().map(Jwk::of).collect() };
        Ok(OpenIdDocuments { configuration: json(&configuration)?, keys: json(&set)? })
    }
}

/// The documents. They are rebuilt when the keys change.
pub struct OpenIdMetadata {
    issuer: String,
    keys_uri: Option<String>,
    address: String,
    keys: VerificationKeys,
    documents: ArcSwap<(Arc<PublicKeys>, Arc<OpenIdDocuments>)>,
}

impl OpenIdMetadata {
    /// Builds the documents of an issuer and its keys; see [`OpenIdDocuments::new`].
    ///
    /// # Errors
    /// [`DiscoveryError`].
    pub fn new(
        issuer: String,
        keys_uri: Option<String>,
        address: String,
        keys: VerificationKeys,
    ) -> Result<Self, DiscoveryError> {
        let current = keys.current();
        let documents = OpenIdDocuments::new(&issuer, keys_uri.as_deref(), &address, &current)?;
        let made = ArcSwap::from_pointee((current, Arc::new(documents)));
        Ok(OpenIdMetadata { issuer, keys_uri, address, keys, documents: made })
    }

    /// Returns the current documents and their cache lifetime in seconds. If no documents can be built for
    /// the current keys, the previous ones remain.
    pub fn current(&self) -> (Arc<OpenIdDocuments>, u64) {
        let cached = self.documents.load();
        let keys = self.keys.current();
        let mut documents = Arc::clone(&cached.1);
        if !Arc::ptr_eq(&cached.0, &keys) {
            match OpenIdDocuments::new(&self.issuer, self.keys_uri.as_deref(), &self.address, &keys) {
                Ok(anew) => documents = Arc::new(anew),
                Err(error) => {
                    tracing::error!(%error, "failed to rebuild the OpenID discovery documents, the previous ones remain")
                }
            }
            self.documents.store(Arc::new((keys, Arc::clone(&documents))));
        }
        (documents, self.keys.max_age_seconds())
    }
}

fn is_https(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("https"))
}

fn json(document: &impl Serialize) -> Result<Vec<u8>, DiscoveryError> {
    Ok(serde_json::to_vec(document)?)
}

#[derive(Serialize)]
struct Configuration<'a> {
    issuer: &'a str,
    jwks_uri: &'a str,
    response_types_supported: [&'static str; 1],
    subject_types_supported: [&'static str; 1],
    id_token_signing_alg_values_supported: BTreeSet<&'static str>,
}

#[derive(Serialize)]
struct KeySet<'a> {
    keys: Vec<Jwk<'a>>,
}

/// A key (RFC 7517, 7518). Its fields are in the order of upstream's JOSE library.
#[derive(Serialize)]
struct Jwk<'a> {
    r#use: &'static str,
    kty: &'static str,
    kid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<&'static str>,
    alg: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
}

impl<'a> Jwk<'a> {
    fn of(key: &'a PublicKey) -> Self {
        let text = |number: &Vec<u8>| Some(URL_SAFE_NO_PAD.encode(number));
        let (kty, crv, x, y, n, e) = match &key.numbers {
            KeyComponents::Rsa { n, e } => ("RSA", None, None, None, text(n), text(e)),
            KeyComponents::Ec { curve, x, y } => ("EC", Some(*curve), text(x), text(y), None, None),
        };
        Jwk { r#use: "sig", kty, kid: &key.id, crv, alg: key.algorithm.name(), x, y, n, e }
    }
}

#[cfg(test)]
mod tests;
