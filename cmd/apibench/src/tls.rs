//! TLS client configuration.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

use crate::error::{Error, Result};

/// PEM material for one server.
#[derive(Debug, Default)]
pub(crate) struct Material {
    /// Trusted CAs; by default the system's.
    pub(crate) ca: Option<Vec<u8>>,
    /// Client certificate chain and key.
    pub(crate) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Trust every server certificate.
    pub(crate) insecure: bool,
}

/// Creates a client configuration that offers HTTP/2 only.
pub(crate) fn client_config(material: &Material) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let bad = |e: &dyn std::fmt::Display| Error::Usage(format!("TLS: {e}"));
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| bad(&e))?;
    let builder = if material.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(TrustAll(provider)))
    } else {
        builder.with_root_certificates(roots(material.ca.as_deref())?)
    };
    let mut config = match &material.identity {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => {
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|e| bad(&e))?;
            builder.with_client_auth_cert(certificates(chain)?, key).map_err(|e| bad(&e))?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(config))
}

fn roots(ca: Option<&[u8]>) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    let trusted = match ca {
        Some(pem) => certificates(pem)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    store.add_parsable_certificates(trusted);
    if store.is_empty() {
        return Err(Error::Usage("TLS: no usable CA certificate; give ca=FILE or --insecure".to_owned()));
    }
    Ok(store)
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let parsed: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    parsed.map_err(|e| Error::Usage(format!("TLS: {e}")))
}

/// Accepts any certificate, but verifies that the server holds its key. For test servers with an unknown CA.
#[derive(Debug)]
struct TrustAll(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
