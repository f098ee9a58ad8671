//! Client certificates. The handshake only proves that a client holds the key; whether somebody we
//! trust signed the certificate is judged afterwards, because a wrong one is answered with 401, not
//! with a broken connection, and does not matter beside a good token.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};

use authentication::{ClientCertificate, PresentedCertificate};

use super::TlsError;

/// Makes the judge of client certificates; `None` without authorities.
pub(super) fn verifier(
    paths: &[PathBuf],
    pems: &[Vec<u8>],
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsError> {
    let mut roots = RootCertStore::empty();
    for (path, pem) in paths.iter().zip(pems) {
        for certificate in super::certificates(path, pem)? {
            roots
                .add(certificate)
                .map_err(|error| TlsError::Content { path: path.clone(), problem: error.to_string() })?;
        }
    }
    if roots.is_empty() {
        return Ok(None);
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| Error::General(error.to_string()))?;
    Ok(Some(verifier))
}

/// Verifies a chain and reads who it is about.
pub(super) fn judge(
    clients: &dyn ClientCertVerifier,
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: i64,
) -> PresentedCertificate {
    let now = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now).unwrap_or(0)));
    let verified = clients.verify_client_cert(leaf, intermediates, now);
    let judged = match verified {
        Ok(_) => ClientCertificate::parse(leaf).map_err(|error| error.to_string()),
        Err(error) => Err(format!("verifying the client certificate failed: {error}")),
    };
    match judged {
        Ok(certificate) => PresentedCertificate::Verified(certificate),
        Err(reason) => PresentedCertificate::Refused(reason),
    }
}

/// Asks for a certificate, takes none for an answer, and checks only that the client holds its key.
#[derive(Debug)]
pub(super) struct AskOnly {
    signatures: Arc<dyn ClientCertVerifier>,
    /// The names of all authorities that may have signed a certificate.
    hints: Vec<DistinguishedName>,
}

impl AskOnly {
    /// For several kinds of authorities; `None` where there are none.
    pub(super) fn new(judges: impl IntoIterator<Item = Arc<dyn ClientCertVerifier>>) -> Option<Self> {
        let judges: Vec<_> = judges.into_iter().collect();
        let hints = judges.iter().flat_map(|judge| judge.root_hint_subjects()).cloned().collect();
        // Every judge knows the same signatures.
        Some(AskOnly { signatures: Arc::clone(judges.first()?), hints })
    }
}

impl ClientCertVerifier for AskOnly {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _leaf: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures.verify_tls12_signature(message, leaf, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signatures.verify_tls13_signature(message, leaf, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signatures.supported_verify_schemes()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SignatureAlgorithm,
    };

    use super::*;
    use crate::tls::{CertificateFiles, TlsOptions, certified_key};

    /// An authority's certificate, and what it signed with its key: a certificate and the key for it.
    fn issued(algorithm: &'static SignatureAlgorithm) -> (String, rcgen::Certificate, String) {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = || KeyPair::generate_for(algorithm).unwrap();
        let authority = CertifiedIssuer::self_signed(params, key()).unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "carol");
        let leaf_key = key();
        let leaf = params.signed_by(&leaf_key, &authority).unwrap();
        (authority.pem(), leaf, leaf_key.serialize_pem())
    }

    #[test]
    fn keys_may_be_of_any_kind_that_go_makes() {
        let provider = Arc::new(TlsOptions::default().provider());
        for algorithm in [
            &rcgen::PKCS_ECDSA_P256_SHA256,
            &rcgen::PKCS_ECDSA_P384_SHA384,
            &rcgen::PKCS_ECDSA_P521_SHA512,
            &rcgen::PKCS_ED25519,
            &rcgen::PKCS_RSA_SHA256,
        ] {
            let (authority, leaf, key) = issued(algorithm);
            let judge = verifier(&[PathBuf::new()], &[authority.into_bytes()], &provider).unwrap().unwrap();
            let judged = super::judge(&*judge, leaf.der(), &[], 1_700_000_000);
            assert!(matches!(judged, PresentedCertificate::Verified(_)), "{algorithm:?}");
            let (certificate, key_path) = (PathBuf::new(), PathBuf::new());
            let files = CertificateFiles { certificate, key: key_path };
            let served = certified_key(&files, &(leaf.pem().into_bytes(), key.into_bytes()), &provider);
            assert!(served.is_ok(), "{algorithm:?}");
        }
    }
}
