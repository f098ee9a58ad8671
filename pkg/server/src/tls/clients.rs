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
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use authentication::{ClientCertificate, PresentedCertificate, PresentedCertificates};

use super::TlsError;

/// When a certificate counts: from the first to the last of these seconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct Validity {
    first: i64,
    pub(super) last: i64,
}

impl Validity {
    pub(super) fn of(der: &[u8]) -> Result<Self, String> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| error.to_string())?;
        let validity = certificate.validity();
        Ok(Validity { first: validity.not_before.timestamp(), last: validity.not_after.timestamp() })
    }

    fn includes(self, now: i64) -> bool {
        (self.first..=self.last).contains(&now)
    }
}

/// The seconds in which a verdict stays what it is: no certificate that it is about begins or ceases to
/// count meanwhile. The first is included, the last is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    from: i64,
    until: i64,
}

impl Period {
    /// The longest around `now` without an end.
    fn around(now: i64, validities: impl Iterator<Item = Validity>) -> Self {
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

/// The authorities of one kind, and the judge that believes all of them.
#[derive(Debug)]
pub(super) struct Authorities {
    certificates: Vec<(CertificateDer<'static>, Validity)>,
    provider: Arc<CryptoProvider>,
    judge: Arc<dyn ClientCertVerifier>,
}

impl Authorities {
    /// Those in these files; `None` without any.
    pub(super) fn of(
        paths: &[PathBuf],
        pems: &[Vec<u8>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Self>, TlsError> {
        let mut found = Vec::new();
        for (path, pem) in paths.iter().zip(pems) {
            let content = |problem: String| TlsError::Content { path: path.clone(), problem };
            for certificate in super::certificates(path, pem)? {
                let validity = Validity::of(&certificate).map_err(content)?;
                // What no chain can end at shall be found now, with the name of its file.
                RootCertStore::empty()
                    .add(certificate.clone())
                    .map_err(|error| content(error.to_string()))?;
                found.push((certificate, validity));
            }
        }
        if found.is_empty() {
            return Ok(None);
        }
        let judge = verifier(found.iter().map(|(certificate, _)| certificate), provider)?;
        Ok(Some(Authorities { certificates: found, provider: Arc::clone(provider), judge }))
    }

    /// What knows the signatures of handshakes.
    pub(super) fn judge(&self) -> &Arc<dyn ClientCertVerifier> {
        &self.judge
    }

    /// Verifies a chain and reads who it is about. An authority counts as long as its own certificate
    /// does, as for Go, and other than for what verifies here.
    fn verdict(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: i64,
    ) -> PresentedCertificate {
        let time = UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(now).unwrap_or(0)));
        let verified = self
            .judge_at(now)
            .and_then(|judge| judge.verify_client_cert(leaf, intermediates, time).map_err(|e| e.to_string()));
        let judged = verified
            .map_err(|error| format!("verifying the client certificate failed: {error}"))
            .and_then(|_| ClientCertificate::parse(leaf).map_err(|error| error.to_string()));
        match judged {
            Ok(certificate) => PresentedCertificate::Verified(certificate),
            Err(reason) => PresentedCertificate::Refused(reason),
        }
    }

    /// The judge that believes those authorities that count now.
    fn judge_at(&self, now: i64) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let valid = |(_, validity): &&(CertificateDer<'static>, Validity)| validity.includes(now);
        let count = self.certificates.iter().filter(valid).count();
        if count == self.certificates.len() {
            return Ok(Arc::clone(&self.judge));
        }
        if count == 0 {
            return Err("no authority is valid at this time".to_owned());
        }
        let valid = self.certificates.iter().filter(valid).map(|(certificate, _)| certificate);
        verifier(valid, &self.provider).map_err(|error| error.to_string())
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

/// Everybody who may vouch for somebody: one generation, replaced as a whole.
#[derive(Debug, Default)]
pub(super) struct ClientAuthorities {
    pub(super) clients: Option<Authorities>,
    pub(super) proxies: Option<Authorities>,
}

impl ClientAuthorities {
    /// Each kind of authority that there is.
    pub(super) fn all(&self) -> impl Iterator<Item = &Authorities> {
        self.clients.iter().chain(&self.proxies)
    }

    /// Judges a chain, leaf first, and says for how long that holds. `now` is in seconds since 1970.
    pub(super) fn judge(&self, chain: &[CertificateDer<'_>], now: i64) -> (PresentedCertificates, Period) {
        let Some((leaf, intermediates)) = chain.split_first() else {
            return (PresentedCertificates::default(), Period::around(now, std::iter::empty()));
        };
        let by =
            |authorities: &Option<Authorities>| Some(authorities.as_ref()?.verdict(leaf, intermediates, now));
        let certificates = PresentedCertificates { client: by(&self.clients), proxy: by(&self.proxies) };
        // One that cannot be read is in no chain that verifies.
        let shown = chain.iter().filter_map(|der| Validity::of(der).ok());
        let period = Period::around(now, shown.chain(self.all().flat_map(Authorities::validities)));
        (certificates, period)
    }
}

/// Asks for a certificate, takes none for an answer, and checks only that the client holds its key.
#[derive(Debug)]
pub(super) struct OptionalClientCertVerifier {
    signatures: Arc<dyn ClientCertVerifier>,
    /// The names of all authorities that may have signed a certificate.
    hints: Vec<DistinguishedName>,
}

impl OptionalClientCertVerifier {
    /// For several kinds of authorities; `None` where there are none.
    pub(super) fn new(judges: impl IntoIterator<Item = Arc<dyn ClientCertVerifier>>) -> Option<Self> {
        let judges: Vec<_> = judges.into_iter().collect();
        let hints = judges.iter().flat_map(|judge| judge.root_hint_subjects()).cloned().collect();
        // Every judge knows the same signatures.
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
            let clients = Authorities::of(&[PathBuf::new()], &[authority.into_bytes()], &provider).unwrap();
            let (judged, _) =
                ClientAuthorities { clients, proxies: None }.judge(&[leaf.der().clone()], 1_700_000_000);
            assert!(matches!(judged.client, Some(PresentedCertificate::Verified(_))), "{algorithm:?}");
            let (certificate, key_path) = (PathBuf::new(), PathBuf::new());
            let files = CertificateFiles { certificate, key: key_path };
            let served = certified_key(&files, &(leaf.pem().into_bytes(), key.into_bytes()), &provider);
            assert!(served.is_ok(), "{algorithm:?}");
        }
    }
}
