//! What this server shows to backends, and what it believes of them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use endpoints::proxy::Trust;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use server::tls::CertificateFiles;

use crate::config::KubeletConfig;
use crate::run::RunError;

/// The TLS clients that this server can be. Files are read again for each connection, as they may have been
/// renewed: connections are few.
pub(super) struct Clients {
    provider: Arc<CryptoProvider>,
    certificate: Option<CertificateFiles>,
    authority: Option<PathBuf>,
}

impl Clients {
    /// Sees to it that the files are there and hold what they should.
    ///
    /// # Errors
    /// [`RunError::File`], [`RunError::Credentials`].
    pub(super) fn new(kubelets: &KubeletConfig) -> Result<Self, RunError> {
        let KubeletConfig { certificate, authority, .. } = kubelets.clone();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let clients = Clients { provider, certificate, authority };
        let read = |path: &Path| std::fs::read(path).map_err(|source| RunError::read(path, source));
        let certificate = match &clients.certificate {
            Some(files) => Some((read(&files.certificate)?, read(&files.key)?)),
            None => None,
        };
        let authority = clients.authority.as_deref().map(read).transpose()?;
        clients.build(certificate, authority).map_err(RunError::Credentials)?;
        Ok(clients)
    }

    /// How to talk TLS with somebody.
    ///
    /// # Errors
    /// A file is not what it was.
    pub(super) async fn config(&self, trust: Trust) -> Result<ClientConfig, String> {
        let read = async |path: &Path| {
            tokio::fs::read(path).await.map_err(|error| format!("open {}: {error}", path.display()))
        };
        let certificate = match &self.certificate {
            Some(files) if trust != Trust::Anyone => {
                Some((read(&files.certificate).await?, read(&files.key).await?))
            }
            _ => None,
        };
        let authority = match &self.authority {
            Some(path) if trust == Trust::Kubelet => Some(read(path).await?),
            _ => None,
        };
        self.build(certificate, authority)
    }

    /// Without an authority nobody is asked who he is.
    fn build(
        &self,
        certificate: Option<(Vec<u8>, Vec<u8>)>,
        authority: Option<Vec<u8>>,
    ) -> Result<ClientConfig, String> {
        let words = |error: Error| error.to_string();
        let verifier = match authority {
            Some(pem) => self.verifier(&pem)?,
            None => Arc::new(Believer(Arc::clone(&self.provider))),
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(words)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        match certificate {
            None => Ok(builder.with_no_client_auth()),
            Some((chain, key)) => {
                let chain = certificates(&chain)?;
                let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| error.to_string())?;
                builder.with_client_auth_cert(chain, key).map_err(words)
            }
        }
    }

    fn verifier(&self, pem: &[u8]) -> Result<Arc<dyn ServerCertVerifier>, String> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem)? {
            roots.add(certificate).map_err(|error| error.to_string())?;
        }
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider));
        Ok(verifier.build().map_err(|error| error.to_string())?)
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| error.to_string())?;
    match certificates.is_empty() {
        true => Err("data does not contain any valid RSA or ECDSA certificates".to_owned()),
        false => Ok(certificates),
    }
}

/// Why a handshake failed, in Go's words where it has some.
pub(super) fn explain(error: &io::Error) -> String {
    let unverified = |why: &str| format!("tls: failed to verify certificate: x509: {why}");
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(Error::InvalidCertificate(reason)) => match reason {
            CertificateError::UnknownIssuer => unverified("certificate signed by unknown authority"),
            CertificateError::Expired | CertificateError::NotValidYet => {
                unverified("certificate has expired or is not yet valid")
            }
            other => unverified(&other.to_string()),
        },
        Some(Error::InvalidMessage(_)) => "tls: first record does not look like a TLS handshake".to_owned(),
        Some(Error::AlertReceived(alert)) => format!("remote error: tls: {alert:?}"),
        _ if error.kind() == io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
        _ => error.to_string(),
    }
}

/// Believes whatever certificate it is shown, as long as the other end has its key.
#[derive(Debug)]
struct Believer(Arc<CryptoProvider>);

impl ServerCertVerifier for Believer {
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
