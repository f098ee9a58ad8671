//! Verifies signature, issuer and audiences of a token. The other claims are checked by the caller.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::go_quote::quote;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::{AlgorithmFamily, Validation, decode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio::time::Instant;

use super::claims::one_or_many;
use super::keys::{Algorithm, PublicKey};
use super::{VerificationKeys, es512};
use crate::Error;
use crate::TokenCacheMetrics;
use crate::expiring_cache::{ExpiringCache, key};

/// Message for clients about an invalid signature (text of upstream's JOSE library).
const CRYPTO_FAILURE: &str = "go-jose/go-jose: error in cryptographic primitive";

/// Cache lifetime of a valid signature (upstream's TTL for accepted tokens). All other checks run every time.
const SIGNATURE_CACHE_TTL: Duration = Duration::from_secs(10);

/// Verifier for the tokens of some issuers.
pub(super) struct Verifier {
    issuers: Vec<String>,
    keys: VerificationKeys,
    /// Audiences of tokens that list none.
    implicit_audiences: Vec<String>,
    /// Payloads of verified tokens.
    verified_payloads: ExpiringCache<Arc<Value>>,
    metrics: Arc<TokenCacheMetrics>,
}

/// A verified token.
#[derive(Debug)]
pub(super) struct VerifiedToken<C> {
    pub(super) claims: C,
    /// The requested audiences that the token is valid for.
    pub(super) audiences: Vec<String>,
}

/// The claims that the verifier checks.
#[derive(Deserialize)]
struct VerifiedClaims {
    #[serde(rename = "iss", default)]
    issuer: String,
    #[serde(rename = "aud", default, deserialize_with = "one_or_many")]
    audiences: Vec<String>,
}

/// Header fields that matter for verification.
#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crit: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    b64: Option<Value>,
}

/// Deserializes a present field, including `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// The `iss` claim, before signature verification.
#[derive(Deserialize)]
struct UnverifiedIssuer {
    #[serde(rename = "iss", default)]
    issuer: String,
}

impl Verifier {
    /// Creates a verifier for tokens of `issuers`, signed with one of `keys`. `implicit_audiences` apply to
    /// tokens without audiences.
    pub(super) fn new(
        issuers: Vec<String>,
        keys: VerificationKeys,
        implicit_audiences: Vec<String>,
        metrics: Arc<TokenCacheMetrics>,
    ) -> Self {
        Verifier { issuers, keys, implicit_audiences, verified_payloads: ExpiringCache::default(), metrics }
    }

    /// Verifies a token; `None` if another issuer issued it.
    ///
    /// # Errors
    /// The reason for the rejection.
    pub(super) async fn verify<C: DeserializeOwned>(
        &self,
        token: &str,
        requested: &[String],
    ) -> Result<Option<VerifiedToken<C>>, Error> {
        let Ok(claimed) = insecure_decode_claims::<UnverifiedIssuer>(token) else { return Ok(None) };
        if !self.issuers.contains(&claimed.issuer) {
            return Ok(None);
        }
        let remembered = key(token, []);
        let start = Instant::now();
        let payload = match self.verified_payloads.get(&remembered) {
            Some(payload) => {
                self.metrics.hit(start);
                payload
            }
            None => {
                let _missing = self.metrics.miss(start);
                let judging = self.metrics.begin_authentication();
                let payload = self.payload(token).await;
                judging.finish(payload.is_ok());
                let Some(payload) = payload? else { return Ok(None) };
                let payload = Arc::new(payload);
                self.verified_payloads.insert(remembered, Arc::clone(&payload), SIGNATURE_CACHE_TTL);
                payload
            }
        };
        let public =
            VerifiedClaims::deserialize(&*payload).map_err(|error| Error::credential(error.to_string()))?;
        // Claims that were read before verification are not trusted.
        if !self.issuers.contains(&public.issuer) {
            return Err(Error::credential(format!("token issuer {} is invalid", quote(&public.issuer))));
        }
        let audiences = self.matching_audiences(public.audiences, requested)?;
        let claims = C::deserialize(&*payload).map_err(|error| Error::credential(error.to_string()))?;
        Ok(Some(VerifiedToken { claims, audiences }))
    }

    /// Returns the payload if one of the keys verifies the signature; `None` if the text is not a token.
    async fn payload(&self, token: &str) -> Result<Option<Value>, Error> {
        let header = match header(token) {
            // Critical extensions (RFC 7515, 4.1.11; RFC 7797). None is supported.
            Some(Ok(header)) if header.crit.is_some() || header.b64.is_some() => {
                return Err(Error::credential(CRYPTO_FAILURE.to_owned()));
            }
            Some(Ok(header)) if is_known(&header.alg) => header,
            // An unsupported algorithm, or fields of a wrong type.
            Some(Ok(_)) => return Err(Error::credential(CRYPTO_FAILURE.to_owned())),
            Some(Err(error)) if error.is_data() => return Err(Error::credential(CRYPTO_FAILURE.to_owned())),
            Some(Err(_)) | None => return Ok(None),
        };
        let id = header.kid.as_deref().unwrap_or("");
        let keys = self.keys.keys_with_id(id).await;
        let mut keys = keys.with_id(id).peekable();
        if keys.peek().is_none() {
            return Err(Error::credential("invalid signature, no keys found".to_owned()));
        }
        let payload = keys.find_map(|key| verify_signature(token, &header.alg, key));
        payload.map(Some).ok_or_else(|| Error::credential(CRYPTO_FAILURE.to_owned()))
    }

    /// Returns the requested audiences that a token is valid for.
    fn matching_audiences(&self, audiences: Vec<String>, requested: &[String]) -> Result<Vec<String>, Error> {
        let audiences = if audiences.is_empty() { self.implicit_audiences.clone() } else { audiences };
        let matching: Vec<String> = requested.iter().filter(|one| audiences.contains(one)).cloned().collect();
        if matching.is_empty() && !self.implicit_audiences.is_empty() {
            let list = |texts: &[String]| texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(" ");
            let token_audiences = list(&audiences);
            let target_audiences = list(requested);
            return Err(Error::credential(format!(
                "token audiences [{token_audiences}] is invalid for the target audiences [{target_audiences}]"
            )));
        }
        Ok(matching)
    }
}

/// Parses the header of a token; `None` if it is not text.
fn header(token: &str) -> Option<serde_json::Result<Header>> {
    let (message, _) = token.rsplit_once('.')?;
    let (header, _) = message.rsplit_once('.')?;
    Some(serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?))
}

fn is_known(algorithm: &str) -> bool {
    algorithm == es512::NAME || algorithm.parse::<jsonwebtoken::Algorithm>().is_ok()
}

/// Returns the payload if this key verifies the signature. Times and audiences are not checked.
fn verify_signature(token: &str, signed_with: &str, key: &PublicKey) -> Option<Value> {
    let Some(algorithm) = key.algorithm.library() else {
        let point = key.decoding.try_get_as_bytes().ok()?;
        return if signed_with == es512::NAME { es512::decode(token, point) } else { None };
    };
    let mut validation = Validation::new(algorithm);
    if key.algorithm == Algorithm::Rs256 {
        // An RSA key works with all these algorithms.
        validation.algorithms = AlgorithmFamily::Rsa.algorithms().to_vec();
    }
    validation.required_spec_claims = HashSet::new();
    validation.validate_exp = false;
    validation.validate_aud = false;
    decode(token, &key.decoding, &validation).ok().map(|data| data.claims)
}
