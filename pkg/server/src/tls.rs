//! TLS configuration from flags: certificates by server name, client certificates that are verified after the
//! handshake, and reload of all files.

mod client_authorities;
pub(crate) mod client_certificates;
mod p521;
mod reload;
pub mod self_signed;
mod sni;
mod suites;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use client_authorities::{Authorities, ClientAuthorities, OptionalClientCertVerifier};
pub use reload::reload_files;
use self_signed::CertificatePair;
pub use suites::{TlsOptions, TlsVersion, is_fips};

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    /// A file has invalid content.
    #[error("{path}: {problem}")]
    Content { path: PathBuf, problem: String },
    /// Unknown name in `--tls-cipher-suites`.
    #[error("Cipher suite {0} not supported or doesn't exist")]
    UnknownSuite(String),
    /// Unknown version in `--tls-min-version`.
    #[error("unknown tls version {0:?}")]
    UnknownVersion(String),
    /// The options leave no usable protocol, or a key does not match its certificate.
    #[error("{0}")]
    Setup(#[from] rustls::Error),
    /// All authorities for client certificates have expired, or are not valid yet.
    #[error("no authority is valid at this time")]
    NoValidAuthority,
    /// A certificate cannot be generated.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
}

/// Certificate chain and key as PEM files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// Default certificate, for clients that send no server name or an unknown one.
    pub default: CertificateFiles,
    /// `--tls-sni-cert-key`: certificates for host names. Without names, those in the certificate apply.
    pub sni: Vec<(CertificateFiles, Vec<String>)>,
    /// `--client-ca-file`: CAs for client certificates. Without any, no client certificate is requested.
    pub client_authorities: Vec<PathBuf>,
    /// `--requestheader-client-ca-file`: CAs for authenticating proxies.
    pub proxy_authorities: Vec<PathBuf>,
    /// Generated certificate for the server's loopback name.
    pub loopback: Option<(String, CertificatePair)>,
}

/// Contents of the files. Equal contents produce equal TLS configurations.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsContents {
    files: TlsFiles,
    default: (Vec<u8>, Vec<u8>),
    sni: Vec<(Vec<u8>, Vec<u8>)>,
    client_authorities: Vec<Vec<u8>>,
    proxy_authorities: Vec<Vec<u8>>,
}

impl TlsContents {
    fn has_authorities_of(&self, other: &TlsContents) -> bool {
        self.client_authorities == other.client_authorities
            && self.proxy_authorities == other.proxy_authorities
    }
}

impl TlsFiles {
    /// Reads the files.
    ///
    /// # Errors
    /// [`TlsError::Read`].
    pub fn read(&self) -> Result<TlsContents, TlsError> {
        let read =
            |path: &PathBuf| fs::read(path).map_err(|source| TlsError::Read { path: path.clone(), source });
        let pair =
            |files: &CertificateFiles| Ok::<_, TlsError>((read(&files.certificate)?, read(&files.key)?));
        Ok(TlsContents {
            files: self.clone(),
            default: pair(&self.default)?,
            sni: self.sni.iter().map(|(files, _)| pair(files)).collect::<Result<_, _>>()?,
            client_authorities: self.client_authorities.iter().map(read).collect::<Result<_, _>>()?,
            proxy_authorities: self.proxy_authorities.iter().map(read).collect::<Result<_, _>>()?,
        })
    }
}

/// TLS configuration, ready to accept connections.
pub struct Tls {
    config: Arc<ServerConfig>,
    /// CAs for client certificates, also used for later requests on open connections.
    authorities: Arc<ClientAuthorities>,
}

impl Tls {
    /// Creates the configuration.
    ///
    /// # Errors
    /// All variants except [`TlsError::Read`].
    pub fn new(contents: &TlsContents, options: &TlsOptions) -> Result<Self, TlsError> {
        let provider = Arc::new(options.provider());
        let default =
            certified_key(&contents.files.default, &contents.default.0, &contents.default.1, &provider)?;
        let mut by_name = sni::SniResolver::new(default);
        if let Some((name, pair)) = &contents.files.loopback {
            let no_files = CertificateFiles::default();
            let (certificate, key) = pair.pems();
            let key = certified_key(&no_files, &certificate, &key, &provider)?;
            by_name.add(std::slice::from_ref(name), key);
        }
        for ((files, names), (certificate, key)) in contents.files.sni.iter().zip(&contents.sni) {
            let key = certified_key(files, certificate, key, &provider)?;
            by_name.add(names, key);
        }
        let files = &contents.files;
        let load = |paths: &[PathBuf], pems: &[Vec<u8>]| {
            Authorities::of(paths, pems, &provider, options.ignores_uids)
        };
        let clients = load(&files.client_authorities, &contents.client_authorities)?;
        let proxies = load(&files.proxy_authorities, &contents.proxy_authorities)?;
        let authorities = ClientAuthorities { clients, proxies };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(options.versions())?;
        let builder = match OptionalClientCertVerifier::new(
            authorities.all().map(|authorities| Arc::clone(authorities.signature_verifier())),
        ) {
            Some(verifier) => builder.with_client_cert_verifier(Arc::new(verifier)),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(by_name));
        config.alpn_protocols = options.alpn();
        Ok(Tls { config: Arc::new(config), authorities: Arc::new(authorities) })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

/// True if two PEM bundles have a certificate in common.
pub fn share_certificates(left: &[u8], right: &[u8]) -> bool {
    let certificates =
        |pem: &[u8]| CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect::<Vec<_>>();
    let right_certificates = certificates(right);
    certificates(left).iter().any(|certificate| right_certificates.contains(certificate))
}

/// Parses all certificates in a PEM file.
fn certificates(path: &Path, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let content = |problem: String| TlsError::Content { path: path.to_owned(), problem };
    let certificates = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| content(error.to_string()))?;
    if certificates.is_empty() {
        Err(content("data does not contain any valid RSA or ECDSA certificates".to_owned()))
    } else {
        Ok(certificates)
    }
}

fn certified_key(
    files: &CertificateFiles,
    certificate: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = certificates(&files.certificate, certificate)?;
    let content = |problem: String| TlsError::Content { path: files.key.clone(), problem };
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| content(error.to_string()))?;
    let certified =
        CertifiedKey::from_der(chain, key, provider).map_err(|error| content(error.to_string()))?;
    Ok(Arc::new(certified))
}
