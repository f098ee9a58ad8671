//! Distributed claims: the token contains a reference to them (OpenID Connect Core 1.0, 5.6.2). As in
//! upstream, only groups may be distributed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::Uri;
use jsontree::Value;
use serde::Deserialize;

use super::claims::Claims;
use super::provider::Provider;
use super::token::untrusted_issuer;
use super::verifier::{TokenRequirements, Verifier};
use crate::Error;

/// Maximum number of issuers of distributed claims, per token issuer.
const ISSUERS_MAX: usize = 16;

/// Resolver of a distributed claim.
pub(super) struct DistributedClaims {
    pub(super) claim: String,
    pub(super) provider: Provider,
    pub(super) requirements: TokenRequirements,
    /// By issuer.
    pub(super) verifiers: Mutex<HashMap<String, Arc<Verifier>>>,
}

/// Location of a claim.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Source {
    endpoint: String,
    access_token: String,
}

impl DistributedClaims {
    /// Adds the claim if `claims` contains a reference to it.
    ///
    /// # Errors
    /// Upstream's message about the failed resolution.
    pub(super) async fn expand(&self, claims: &mut Claims) -> Result<(), Error> {
        if claims.contains_key(&self.claim) {
            return Ok(());
        }
        let Some(source) = self.source(claims)? else { return Ok(()) };
        let value = self.resolve(&source).await?;
        claims.insert(self.claim.clone(), value);
        Ok(())
    }

    fn source(&self, claims: &Claims) -> Result<Option<Source>, Error> {
        let Some(names) = claims.get("_claim_names") else { return Ok(None) };
        let names: HashMap<String, String> = jsontree::from_value(names.clone()).map_err(|error| {
            Error::credential(format!("oidc: error parsing distributed claim names: {error}"))
        })?;
        let sources = claims
            .get("_claim_sources")
            .ok_or_else(|| Error::credential("oidc: no claim sources".to_owned()))?;
        let mut sources: HashMap<String, Source> = jsontree::from_value(sources.clone())
            .map_err(|error| Error::credential(format!("oidc: could not parse claim sources: {error}")))?;
        let Some(name) = names.get(&self.claim) else { return Ok(None) };
        let source = sources.remove(name).ok_or_else(|| {
            Error::credential(format!(
                "id token _claim_names contained a source {name} missing in _claims_sources"
            ))
        })?;
        Ok(Some(source).filter(|source| !source.endpoint.is_empty()))
    }

    async fn resolve(&self, source: &Source) -> Result<Value, Error> {
        let claim = &self.claim;
        let endpoint = &source.endpoint;
        let unreachable = |error: Error| error.context(format!("while getting distributed claim {claim:?}"));
        let uri =
            Uri::try_from(endpoint).map_err(|error| unreachable(Error::credential(error.to_string())))?;
        let bearer = Some(source.access_token.as_str()).filter(|token| !token.is_empty());
        let body = self.provider.get(&uri, bearer).await.map_err(unreachable)?;
        let token = std::str::from_utf8(&body).map_err(|_| {
            unreachable(Error::unavailable("could not decode distributed claim response".to_owned()))
        })?;
        let issuer = untrusted_issuer(token).ok_or_else(|| Error::credential(format!(
                "getting untrusted issuer from endpoint {endpoint} failed for claim {claim:?}: malformed token"
            )))?;
        let verifier = self
            .verifier(&issuer)
            .map_err(|error| error.context(format!("verifying untrusted issuer {issuer} failed")))?;
        let mut claims =
            verifier.verify(token).await.map_err(|error| error.context("verify distributed claim token"))?;
        claims.remove(claim).ok_or_else(|| {
            Error::credential(format!(
                "jwt returned by distributed claim endpoint {endpoint:?} did not contain claim: {claim}"
            ))
        })
    }

    /// Returns the verifier of an issuer. The first call for an issuer only starts its discovery, and fails.
    fn verifier(&self, issuer: &str) -> Result<Arc<Verifier>, Error> {
        let mut verifiers = self.verifiers.lock().unwrap_or_else(PoisonError::into_inner);
        let verifier = match verifiers.get(issuer) {
            Some(verifier) => Arc::clone(verifier),
            None if verifiers.len() >= ISSUERS_MAX => {
                return Err(Error::credential("too many issuers of claims".to_owned()));
            }
            None => {
                let provider = self.provider.of_other(issuer)?;
                let verifier = Arc::new(Verifier::new(issuer, self.requirements.clone(), provider));
                verifiers.insert(issuer.to_owned(), Arc::clone(&verifier));
                verifier
            }
        };
        if verifier.is_ready() {
            Ok(verifier)
        } else {
            Err(Error::credential(format!("verifier not initialized for issuer: {issuer:?}")))
        }
    }
}
