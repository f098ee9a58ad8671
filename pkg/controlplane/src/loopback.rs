//! Credentials for requests of this server to itself, as in upstream's loopback client: a token and a
//! certificate that are generated at start and live as long as the process.

use std::future::ready;
use std::sync::Arc;

use authentication::TokenFile;
use client::Source;
use client::kubeconfig::{Credentials, ServerIdentity};
use server::health::{Check, CheckError, NamedCheck};
use server::tls::TlsError;
use server::tls::self_signed::{CertificatePair, Usage, authority, issue, not_after};

use apimachinery::user_info::UserInfo;
use component_base::clock::Clock;
use registry::client::APISERVER_USER;

use crate::system;

#[cfg(test)]
mod tests;

/// The SNI server name of the certificate (upstream's `LoopbackClientServerNameOverride`).
const NAME: &str = "apiserver-loopback-client";

/// Loopback secrets.
#[derive(Clone)]
pub(crate) struct Loopback {
    /// The server certificate. It is the only one that loopback clients trust.
    certificate: CertificatePair,
    authority: Box<str>,
    token: Box<str>,
}

impl Loopback {
    /// Generates token and certificate. `now` is in seconds since 1970.
    ///
    /// # Errors
    /// [`TlsError::Issue`], in practice never.
    pub(crate) fn new(now: i64) -> Result<Self, TlsError> {
        // The CA's key is dropped immediately.
        let authority = authority(&format!("{NAME}-ca@{now}"), now)?;
        let certificate = issue(&authority, NAME, &[], &Usage::Server(vec![NAME.to_owned()]), now)?;
        Ok(Loopback { certificate, authority: authority.certificate.into(), token: system::uid().into() })
    }

    /// Returns the SNI name and its certificate.
    pub(crate) fn certificate(&self) -> (String, CertificatePair) {
        (NAME.to_owned(), self.certificate.clone())
    }

    /// Returns a health check that fails when the certificate has expired. Only a restart renews it.
    pub(crate) fn check(&self, clock: Arc<dyn Clock>) -> Arc<dyn Check> {
        let end = not_after(&self.certificate.certificate).unwrap_or(i64::MIN);
        Arc::new(NamedCheck("loopback-serving-certificate".into(), move || {
            let expired = clock.now().seconds > end;
            let expired = expired.then(|| CheckError::new("loopback serving certificate is expired"));
            ready(expired.map_or(Ok(()), Err))
        }))
    }

    /// Returns the authenticator for the token.
    pub(crate) fn tokens(&self) -> TokenFile {
        let groups = ["system:authenticated", "system:masters"].map(str::to_owned).to_vec();
        let user =
            UserInfo { name: APISERVER_USER.to_owned(), uid: system::uid(), groups, ..UserInfo::default() };
        TokenFile::of([(&*self.token, user)])
    }

    /// Returns the client credentials: token and trusted CA.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials {
            bearer: Some(Source::Inline(self.token.as_bytes().into())),
            expected: Some(ServerIdentity {
                name: NAME.to_owned(),
                authorities: self.authority.as_bytes().into(),
            }),
            ..Credentials::default()
        }
    }
}
