//! Server certificate verifiers.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

/// Accepts a certificate from a trusted CA, or one that is itself in the bundle. As in Go, the latter needs
/// no signature and may be a CA certificate. Many webhooks are their own CA.
#[derive(Debug)]
pub(super) struct BundleVerifier {
    /// Chain verifier; `None` without CAs.
    chains: Option<Arc<WebPkiServerVerifier>>,
    certificates: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl BundleVerifier {
    /// # Errors
    /// These CAs are unusable.
    pub(super) fn new(
        roots: RootCertStore,
        certificates: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, crate::Error> {
        let chains = if roots.is_empty() {
            None
        } else {
            let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(builder.build().map_err(|error| error.to_string()).map_err(crate::Error::credentials)?)
        };
        Ok(BundleVerifier { chains, certificates, provider })
    }
}

impl ServerCertVerifier for BundleVerifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.certificates.iter().any(|trusted| trusted.as_ref() == leaf.as_ref()) {
            return verify_bundled(leaf, name, now);
        }
        match &self.chains {
            Some(chains) => chains.verify_server_cert(leaf, intermediates, name, ocsp, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Checks a certificate of the bundle: its name, validity and purpose must still match.
fn verify_bundled(
    leaf: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, Error> {
    let bad = || Error::from(CertificateError::BadEncoding);
    let (_, certificate) = X509Certificate::from_der(leaf).map_err(|_| bad())?;
    let second = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = certificate.validity();
    let unsigned = |seconds: i64| {
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    };
    if second < validity.not_before.timestamp() {
        let not_before = unsigned(validity.not_before.timestamp());
        return Err(CertificateError::NotValidYetContext { time: now, not_before }.into());
    }
    if second > validity.not_after.timestamp() {
        let not_after = unsigned(validity.not_after.timestamp());
        return Err(CertificateError::ExpiredContext { time: now, not_after }.into());
    }
    let purposes = certificate.extended_key_usage().map_err(|_| bad())?;
    if purposes.is_some_and(|purposes| !(purposes.value.server_auth || purposes.value.any)) {
        return Err(CertificateError::InvalidPurpose.into());
    }
    verify_server_name(&ParsedCertificate::try_from(leaf)?, name)?;
    Ok(ServerCertVerified::assertion())
}

/// Accepts any certificate, if the server has its key.
#[derive(Debug)]
pub(super) struct NoCertificateVerification(pub(super) Arc<CryptoProvider>);

impl ServerCertVerifier for NoCertificateVerification {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
