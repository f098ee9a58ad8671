//! TLS as the flags ask for it: certificates by server name, client certificates that are judged
//! after the handshake, and a swap of everything when files change.

pub(crate) mod client_certificates;
mod clients;
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

use clients::{Authorities, ClientAuthorities, OptionalClientCertVerifier};
pub use reload::keep_fresh;
use self_signed::CertificatePair;
pub use suites::{TlsOptions, TlsVersion};

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path}: {problem}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// `--tls-cipher-suites` names one that does not exist.
    #[error("Cipher suite {0} not supported or doesn't exist")]
    UnknownSuite(String),
    /// `--tls-min-version` names one that does not exist.
    #[error("unknown tls version {0:?}")]
    UnknownVersion(String),
    /// The options leave nothing that both sides could speak, or a key does not fit its certificate.
    #[error("{0}")]
    Setup(#[from] rustls::Error),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
}

/// A certificate chain and its key, in PEM files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// The files that TLS is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// What clients see that name no host, or one that no other certificate is for.
    pub default: CertificateFiles,
    /// `--tls-sni-cert-key`: certificates for certain names; without names, for those in the
    /// certificate.
    pub sni: Vec<(CertificateFiles, Vec<String>)>,
    /// `--client-ca-file`: authorities that may vouch for clients. Without any, clients are not asked
    /// for a certificate.
    pub client_authorities: Vec<PathBuf>,
    /// `--requestheader-client-ca-file`: authorities that may vouch for proxies.
    pub proxy_authorities: Vec<PathBuf>,
    /// A certificate that is in no file, for the name that the server calls itself by.
    pub loopback: Option<(String, CertificatePair)>,
}

/// What the files hold. Equal contents make equal TLS.
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

/// TLS, ready to accept connections.
pub struct Tls {
    config: Arc<ServerConfig>,
    /// Who may vouch for clients. It is what requests on open connections are judged by.
    vouching: Arc<ClientAuthorities>,
}

impl Tls {
    /// Sets TLS up.
    ///
    /// # Errors
    /// Anything but [`TlsError::Read`].
    pub fn new(contents: &TlsContents, options: &TlsOptions) -> Result<Self, TlsError> {
        let provider = Arc::new(options.provider());
        let default = certified_key(&contents.files.default, &contents.default, &provider)?;
        let mut by_name = sni::SniResolver::new(default);
        if let Some((name, pair)) = &contents.files.loopback {
            let (nowhere, pems) = (CertificateFiles::default(), pair.pems());
            by_name.add(std::slice::from_ref(name), certified_key(&nowhere, &pems, &provider)?);
        }
        for ((files, names), pems) in contents.files.sni.iter().zip(&contents.sni) {
            let key = certified_key(files, pems, &provider)?;
            by_name.add(names, key);
        }
        let files = &contents.files;
        let clients = Authorities::of(&files.client_authorities, &contents.client_authorities, &provider)?;
        let proxies = Authorities::of(&files.proxy_authorities, &contents.proxy_authorities, &provider)?;
        let vouching = ClientAuthorities { clients, proxies };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(options.versions())?;
        let builder = match OptionalClientCertVerifier::new(
            vouching.all().map(|authorities| Arc::clone(authorities.judge())),
        ) {
            Some(asking) => builder.with_client_cert_verifier(Arc::new(asking)),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::new(by_name));
        config.alpn_protocols = options.alpn();
        Ok(Tls { config: Arc::new(config), vouching: Arc::new(vouching) })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

/// Whether two bundles of PEM have a certificate in common.
pub fn share_certificates(one: &[u8], other: &[u8]) -> bool {
    let all = |pem: &[u8]| CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect::<Vec<_>>();
    let others = all(other);
    all(one).iter().any(|certificate| others.contains(certificate))
}

/// All certificates in a PEM file.
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
    (certificate, key): &(Vec<u8>, Vec<u8>),
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = certificates(&files.certificate, certificate)?;
    let content = |problem: String| TlsError::Content { path: files.key.clone(), problem };
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| content(error.to_string()))?;
    let certified =
        CertifiedKey::from_der(chain, key, provider).map_err(|error| content(error.to_string()))?;
    Ok(Arc::new(certified))
}
