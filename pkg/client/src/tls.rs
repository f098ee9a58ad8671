//! TLS client configuration: certificates to present and to trust.

mod tls_error;
mod verify;

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use crate::error::Error;
use crate::material::{Material, Source};
pub(crate) use tls_error::explain;
use verify::{BundleVerifier, NoCertificateVerification};

/// Trusted servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    /// Servers with a certificate from one of the system's CAs.
    #[default]
    System,
    /// Servers with a certificate from one of these CAs (PEM), or with one of these certificates.
    Bundle(Source),
    /// Any server. Only where upstream allows it.
    Unverified,
}

/// TLS client options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    pub trust: Trust,
    /// Client certificate chain and key (PEM).
    pub certificate: Option<(Source, Source)>,
    /// Expected server name, if not the URL's host.
    pub server_name: Option<String>,
    /// Disables HTTP/2, which would send all requests to one of the pods behind a Service
    /// (kubernetes/kubernetes#75791).
    pub http1_only: bool,
}

impl Tls {
    /// Creates the TLS configuration. Protocols are not set.
    ///
    /// # Errors
    /// [`Error::Credentials`], in the words of upstream's client library.
    pub(crate) fn config(&self, material: &Material) -> Result<ClientConfig, Error> {
        let bad = |error: rustls::Error| Error::credentials(error.to_string());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(bad)?
            .dangerous();
        let builder = match (&self.trust, &material.authorities) {
            (Trust::Unverified, _) => {
                builder.with_custom_certificate_verifier(Arc::new(NoCertificateVerification(provider)))
            }
            (_, Some(pem)) => {
                builder.with_custom_certificate_verifier(Arc::new(new_verifier(bundle(pem)?, provider)?))
            }
            (_, None) => {
                let certificates = rustls_native_certs::load_native_certs().certs;
                builder.with_custom_certificate_verifier(Arc::new(new_verifier(certificates, provider)?))
            }
        };
        match &material.certificate {
            None => Ok(builder.with_no_client_auth()),
            Some((chain, key)) => {
                let chain = certificates(chain)?;
                let key = private_key(key)?;
                builder.with_client_auth_cert(chain, key).map_err(bad)
            }
        }
    }
}

impl Tls {
    /// Reads the sources, which blocks on files.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub(crate) fn material(&self, bearer: Option<&Source>) -> Result<Material, Error> {
        let authorities = match &self.trust {
            Trust::Bundle(source) => Some(source.read()?),
            Trust::System | Trust::Unverified => None,
        };
        let certificate = match &self.certificate {
            Some((chain, key)) => Some((chain.read()?, key.read()?)),
            None => None,
        };
        Ok(Material { authorities, certificate, token: bearer.map(token).transpose()? })
    }

    /// Returns true if the contents can change.
    pub(crate) fn may_change(&self, bearer: Option<&Source>) -> bool {
        let authorities = matches!(&self.trust, Trust::Bundle(source) if source.is_file());
        let certificate =
            self.certificate.as_ref().is_some_and(|(chain, key)| chain.is_file() || key.is_file());
        authorities || certificate || bearer.is_some_and(Source::is_file)
    }
}

fn token(source: &Source) -> Result<String, Error> {
    let bytes = source.read()?;
    let text = String::from_utf8(bytes).map_err(|_| Error::credentials("the token is no text".to_owned()))?;
    match (text.trim(), source) {
        ("", Source::File(path)) => {
            Err(Error::credentials(format!("read empty token from file {:?}", path.display().to_string())))
        }
        (token, _) => Ok(token.to_owned()),
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(Error::credentials("tls: failed to find any PEM data in certificate input".to_owned())),
    }
}

fn private_key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(pem)
        .map_err(|_| Error::credentials("tls: failed to find any PEM data in key input".to_owned()))
}

/// Checks that a certificate chain and a key are valid and belong together.
///
/// # Errors
/// The reason as text.
pub(crate) fn check_pair(chain: &[u8], key: &[u8]) -> Result<(), Error> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let checked = CertifiedKey::from_der(certificates(chain)?, private_key(key)?, &provider);
    checked.map(drop).map_err(|error| Error::credentials(format!("tls: {error}")))
}

/// Validity of a certificate, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    /// First valid second.
    pub(crate) begin: i64,
    /// Last valid second.
    pub(crate) end: i64,
}

/// Returns the validity of the first certificate of a chain.
///
/// # Errors
/// The error of the chain.
pub(crate) fn validity(chain: &[u8]) -> Result<Validity, Error> {
    let chain = certificates(chain)?;
    let leaf = chain.first().ok_or_else(|| Error::credentials("x509: malformed certificate".to_owned()))?;
    let (_, leaf) = X509Certificate::from_der(leaf)
        .map_err(|_| Error::credentials("x509: malformed certificate".to_owned()))?;
    let validity = leaf.validity();
    Ok(Validity { begin: validity.not_before.timestamp(), end: validity.not_after.timestamp() })
}

/// Parses the certificates of a bundle.
fn bundle(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect::<Vec<_>>();
    if certificates.is_empty() {
        Err(Error::credentials(
            "unable to load root certificates: unable to parse bytes as PEM block".to_owned(),
        ))
    } else {
        Ok(certificates)
    }
}

/// Creates a verifier that trusts these CAs and certificates. Unreadable ones are skipped, unless none would
/// be left.
fn new_verifier(
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
) -> Result<BundleVerifier, Error> {
    let mut roots = RootCertStore::empty();
    let total = certificates.len();
    let (added, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if added == 0 && total > 0 {
        let words =
            "unable to load root certificates: failed to parse certificate: x509: malformed certificate";
        return Err(Error::credentials(words.to_owned()));
    }
    BundleVerifier::new(roots, certificates, provider)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(path: &str) -> Tls {
        Tls { trust: Trust::Bundle(Source::File(path.into())), ..Tls::default() }
    }

    #[test]
    fn missing_file_is_named() {
        let error = bundle("/nonexistent/ca.crt").material(None).err();
        let expected = "open /nonexistent/ca.crt: no such file or directory";
        assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(expected));
    }
}
