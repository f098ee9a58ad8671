//! Client certificates. The handshake only proves that the client holds the key. The chain is verified
//! afterwards, because an untrusted certificate is a 401 and not a failed handshake, and does not matter next
//! to a valid token.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::CryptoProvider;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_parser::certificate::X509Certificate;
use x509_parser::nom;
use x509_parser::prelude::{FromDer, X509Error};

use authentication::{ClientCertificate, PresentedCertificate, PresentedCertificates};

use super::TlsError;

/// Validity of a certificate: from the first to the last of these seconds since 1970, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validity {
    first: i64,
    pub(super) last: i64,
}

impl Validity {
    pub(super) fn of(der: &[u8]) -> Result<Self, nom::Err<X509Error>> {
        let (_, certificate) = X509Certificate::from_der(der)?;
        let validity = certificate.validity();
        Ok(Validity { first: validity.not_before.timestamp(), last: validity.not_after.timestamp() })
    }

    fn includes(self, now: i64) -> bool {
        (self.first..=self.last).contains(&now)
    }
}

/// Period in seconds in which a verdict stays correct, because none of its certificates becomes valid or
/// expires. The start is included, the end is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    from: i64,
    until: i64,
}

impl Period {
    /// Longest period around `now`.
    fn containing(now: i64, validities: impl Iterator<Item = Validity>) -> Self {
        let mut period = Period { from: i64::MIN, until: i64::MAX };
        for boundary in validities.flat_map(|valid| [valid.first, valid.last.saturating_add(1)]) {
            if boundary <= now {
                period.from = period.from.max(boundary)
            } else {
                period.until = period.until.min(boundary)
            }
        }
        period
    }

    pub(super) fn includes(self, now: i64) -> bool {
        (self.from..self.until).contains(&now)
    }
}

/// CAs of one kind, with a verifier that trusts all of them.
#[derive(Debug)]
pub(super) struct Authorities {
    certificates: Vec<(CertificateDer<'static>, Validity)>,
    provider: Arc<CryptoProvider>,
    verifier: Arc<dyn ClientCertVerifier>,
    ignores_uids: bool,
}

impl Authorities {
    /// Loads the CAs in these files; `None` without any.
    pub(super) fn of(
        paths: &[PathBuf],
        pems: &[Vec<u8>],
        provider: &Arc<CryptoProvider>,
        ignores_uids: bool,
    ) -> Result<Option<Self>, TlsError> {
        let mut certificates = Vec::new();
        for (path, pem) in paths.iter().zip(pems) {
            let content = |problem: String| TlsError::Content { path: path.clone(), problem };
            for certificate in super::certificates(path, pem)? {
                let validity = Validity::of(&certificate).map_err(|error| content(error.to_string()))?;
                // Unusable trust anchors are reported here, with the name of their file.
                RootCertStore::empty()
                    .add(certificate.clone())
                    .map_err(|error| content(error.to_string()))?;
                certificates.push((certificate, validity));
            }
        }
        if certificates.is_empty() {
            return Ok(None);
        }
        let verifier = verifier(certificates.iter().map(|(certificate, _)| certificate), provider)?;
        Ok(Some(Authorities { certificates, provider: Arc::clone(provider), verifier, ignores_uids }))
    }

    /// Verifier for handshake signatures.
    pub(super) fn signature_verifier(&self) -> &Arc<dyn ClientCertVerifier> {
        &self.verifier
    }

    /// Verifies a chain and returns its subject. Like in Go, but unlike in the verifier, a CA must be within
    /// its own validity period.
    fn verdict(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: i64,
    ) -> PresentedCertificate {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now).unwrap_or(0)));
        let verified = self
            .verifier_at(now)
            .and_then(|judge| Ok(judge.verify_client_cert(leaf, intermediates, time)?));
        if let Err(error) = verified {
            return PresentedCertificate::Rejected(format!(
                "verifying the client certificate failed: {error}"
            ));
        }
        match ClientCertificate::parse(leaf, !self.ignores_uids) {
            Ok(certificate) => PresentedCertificate::Verified(certificate),
            Err(error) => PresentedCertificate::Rejected(error.to_string()),
        }
    }

    /// Verifier that trusts the CAs that are valid at this time.
    fn verifier_at(&self, now: i64) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
        let valid = |(_, validity): &&(CertificateDer<'static>, Validity)| validity.includes(now);
        let count = self.certificates.iter().filter(valid).count();
        if count == self.certificates.len() {
            return Ok(Arc::clone(&self.verifier));
        }
        if count == 0 {
            return Err(TlsError::NoValidAuthority);
        }
        let valid = self.certificates.iter().filter(valid).map(|(certificate, _)| certificate);
        verifier(valid, &self.provider)
    }

    fn validities(&self) -> impl Iterator<Item = Validity> {
        self.certificates.iter().map(|(_, validity)| *validity)
    }
}

fn verifier<'a>(
    authorities: impl Iterator<Item = &'a CertificateDer<'static>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in authorities {
        roots.add(certificate.clone())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| Error::General(error.to_string()))?;
    Ok(verifier)
}

/// All CAs for client certificates: one generation, replaced as a whole.
#[derive(Debug, Default)]
pub(super) struct ClientAuthorities {
    pub(super) clients: Option<Authorities>,
    pub(super) proxies: Option<Authorities>,
}

impl ClientAuthorities {
    /// Iterates over the configured kinds of CAs.
    pub(super) fn all(&self) -> impl Iterator<Item = &Authorities> {
        self.clients.iter().chain(&self.proxies)
    }

    /// Verifies a chain, leaf first, and returns the period for which the result is valid. `now` is in
    /// seconds since 1970.
    pub(super) fn verify_chain(
        &self,
        chain: &[CertificateDer<'_>],
        now: i64,
    ) -> (PresentedCertificates, Period) {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return (PresentedCertificates::default(), Period::containing(now, std::iter::empty()));
        };
        let by =
            |authorities: &Option<Authorities>| Some(authorities.as_ref()?.verdict(leaf, intermediates, now));
        let certificates = PresentedCertificates { client: by(&self.clients), proxy: by(&self.proxies) };
        // An unparseable certificate is in no chain that verifies.
        let shown = chain.iter().filter_map(|der| Validity::of(der).ok());
        let period = Period::containing(now, shown.chain(self.all().flat_map(Authorities::validities)));
        (certificates, period)
    }
}

/// Verifier that requests an optional certificate and only checks that the client holds its key.
#[derive(Debug)]
pub(super) struct OptionalClientCertVerifier {
    signatures: Arc<dyn ClientCertVerifier>,
    /// Names of all CAs, as hints for the client.
    hints: Vec<DistinguishedName>,
}

impl OptionalClientCertVerifier {
    /// Creates the verifier for several kinds of CAs; `None` without any.
    pub(super) fn new(judges: impl IntoIterator<Item = Arc<dyn ClientCertVerifier>>) -> Option<Self> {
        let judges: Vec<_> = judges.into_iter().collect();
        let hints = judges.iter().flat_map(|judge| judge.root_hint_subjects()).cloned().collect();
        // All verifiers support the same signatures.
        Some(OptionalClientCertVerifier { signatures: Arc::clone(judges.first()?), hints })
    }
}

impl ClientCertVerifier for OptionalClientCertVerifier {
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

    /// CA certificate, and a certificate with its key that the CA has signed.
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
    fn all_key_types_of_go_are_accepted() {
        let provider = Arc::new(TlsOptions::default().provider());
        for algorithm in [
            &rcgen::PKCS_ECDSA_P256_SHA256,
            &rcgen::PKCS_ECDSA_P384_SHA384,
            &rcgen::PKCS_ECDSA_P521_SHA512,
            &rcgen::PKCS_ED25519,
            &rcgen::PKCS_RSA_SHA256,
        ] {
            let (authority, leaf, key) = issued(algorithm);
            let clients =
                Authorities::of(&[PathBuf::new()], &[authority.into_bytes()], &provider, false).unwrap();
            let (judged, _) = ClientAuthorities { clients, proxies: None }
                .verify_chain(&[leaf.der().clone()], 1_700_000_000);
            assert!(matches!(judged.client, Some(PresentedCertificate::Verified(_))), "{algorithm:?}");
            let certificate = PathBuf::new();
            let key_path = PathBuf::new();
            let files = CertificateFiles { certificate, key: key_path };
            let served = certified_key(&files, leaf.pem().as_bytes(), key.as_bytes(), &provider);
            assert!(served.is_ok(), "{algorithm:?}");
        }
    }
}
