//! A connection to one member: TCP, TLS with freshly read certificates, and HTTP/2 settings.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use crate::coalesced_stream::CoalescedStream;
use crate::{CustomDialer, Io, Options, TlsFiles};

/// HTTP/2 window per stream: the maximum of unread data. Bounds the memory of a watch with a slow consumer.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// The connection's window is the protocol's maximum: streams have their own bounds, and a few slow streams
/// must not block the others.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;
const DEFAULT_PORT: u16 = 2379;

/// Configuration error of a member, which prevents a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The URL is invalid.
    #[error("{0}")]
    Address(String),
    /// The TLS files are unusable.
    #[error(transparent)]
    Tls(io::Error),
}

/// A parsed member address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// Name or IP address. For a socket it is the name that requests and certificates contain.
    host: String,
    port: u16,
    tls: bool,
    /// Path of a Unix socket, which is dialed in place of host and port.
    socket: Option<PathBuf>,
}

impl Address {
    /// Parses a client URL. `tls` is the default if the URL has no scheme.
    pub(crate) fn parse(url: &str, tls: bool) -> Result<Self, ConnectError> {
        let bad = |why: &str| ConnectError::Address(format!("etcd endpoint {url:?}: {why}"));
        let default_scheme = if tls { "https" } else { "http" };
        let (scheme, rest) = match url.split_once(':') {
            // A socket may be written without slashes: `unix:path`.
            Some((scheme @ ("unix" | "unixs"), rest)) => (scheme, rest.strip_prefix("//").unwrap_or(rest)),
            _ => url.split_once("://").unwrap_or((default_scheme, url)),
        };
        let tls = match scheme {
            "http" => false,
            "https" => true,
            "unix" | "unixs" => {
                return Self::of_socket(rest, scheme == "unixs").ok_or_else(|| bad("no path"));
            }
            _ => return Err(bad("the scheme is none of http, https, unix and unixs")),
        };
        let uri: Uri = rest.trim_end_matches('/').parse().map_err(|e| bad(&format!("{e}")))?;
        let authority = uri.authority().ok_or_else(|| bad("no host"))?;
        let host = authority.host().to_owned();
        if host.is_empty() || authority.as_str().contains('@') || !matches!(uri.path(), "" | "/") {
            return Err(bad("expected scheme://host:port"));
        }
        Ok(Self { host, port: authority.port_u16().unwrap_or(DEFAULT_PORT), tls, socket: None })
    }

    /// Address of a Unix socket, as etcd's client dials it: the path may be relative, and `localhost:2379` is a path,
    /// too. Requests contain the last part of the path as their host.
    fn of_socket(path: &str, tls: bool) -> Option<Self> {
        let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
        let (host, port) = match name.rsplit_once(':') {
            Some((host, port)) if !host.is_empty() => (host, port.parse().ok()),
            _ => (name, None),
        };
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
        let host = if host.bytes().all(is_plain) { host } else { "localhost" };
        let port = port.unwrap_or(DEFAULT_PORT);
        Some(Self { host: host.to_owned(), port, tls, socket: Some(PathBuf::from(path)) })
    }

    fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    /// The host without the brackets of an IPv6 literal.
    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }
}

/// A lazily connecting, reconnecting HTTP/2 channel to one member. Opens no connection before its first use.
pub(crate) fn channel(address: &Address, options: &Options) -> Result<Channel, ConnectError> {
    let origin = address.url(if address.tls { "https" } else { "http" });
    let origin: Uri =
        origin.parse().map_err(|e| ConnectError::Address(format!("etcd endpoint {origin}: {e}")))?;
    // The connector handles TLS, so tonic gets an `http` URL; `origin` is sent on the wire.
    let endpoint =
        Endpoint::from_shared(address.url("http")).map_err(|e| ConnectError::Address(e.to_string()))?;
    let endpoint = endpoint
        .origin(origin)
        .connect_timeout(options.dial_timeout)
        .http2_keep_alive_interval(options.keepalive_interval)
        .keep_alive_timeout(options.keepalive_timeout)
        // etcd closes connections that send pings without active calls.
        .keep_alive_while_idle(false)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    let tls = address.tls.then(|| Arc::new(options.tls.clone().unwrap_or_default()));
    let address = address.clone();
    let dial_timeout = options.dial_timeout;
    let dialer = options.dialer.clone();
    Ok(endpoint.connect_with_connector_lazy(Connector { address, tls, dial_timeout, dialer }))
}

/// Reads and validates the TLS files once, so that a wrong path is reported at startup.
pub(crate) fn check_tls(files: &TlsFiles) -> Result<(), ConnectError> {
    client_config(files).map(drop).map_err(ConnectError::Tls)
}

#[derive(Clone)]
struct Connector {
    address: Address,
    tls: Option<Arc<TlsFiles>>,
    dial_timeout: Duration,
    dialer: Option<CustomDialer>,
}

impl Service<Uri> for Connector {
    type Response = TokioIo<CoalescedStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.dial().await.map(CoalescedStream::new).map(TokioIo::new) })
    }
}

impl Connector {
    async fn dial(self) -> io::Result<Box<dyn Io>> {
        let host = self.address.bare_host();
        let port = self.address.port;
        if let Some(socket) = &self.address.socket {
            let stream = timeout(self.dial_timeout, UnixStream::connect(socket)).await??;
            return encrypted(stream, host, self.tls).await;
        }
        if let Some(dialer) = &self.dialer {
            let stream = dialer.dial(host, port).await?;
            return encrypted(stream, host, self.tls).await;
        }
        let addresses: Vec<SocketAddr> = lookup_host((host, port)).await?.collect();
        let tcp = connect_first(&addresses, self.dial_timeout, TcpStream::connect).await?;
        tcp.set_nodelay(true)?;
        encrypted(tcp, host, self.tls).await
    }
}

/// Wraps a stream in TLS for a host, if there are TLS files.
async fn encrypted(
    stream: impl Io + 'static,
    host: &str,
    tls: Option<Arc<TlsFiles>>,
) -> io::Result<Box<dyn Io>> {
    let Some(files) = tls else { return Ok(Box::new(stream)) };
    let config =
        tokio::task::spawn_blocking(move || client_config(&files)).await.map_err(io::Error::other)??;
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    Ok(Box::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?))
}

/// A connection to the first address that accepts one. Each address gets a share of `limit`, so that an
/// unresponsive one does not prevent the others.
async fn connect_first<S, F>(
    addresses: &[SocketAddr],
    limit: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<S>
where
    F: Future<Output = io::Result<S>>,
{
    let part = limit / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "no such host");
    for address in addresses {
        match timeout(part, connect(*address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failure = error,
            Err(_) => failure = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failure)
}

fn client_config(files: &TlsFiles) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots(files.ca.as_deref())?);
    let mut config = match (&files.cert, &files.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let key = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|e| bad_file(key, &e))?;
            builder.with_client_auth_cert(chain, key).map_err(|e| bad_file(cert, &e))?
        }
        (None, None) => builder.with_no_client_auth(),
        _ => return Err(io::Error::other("etcd's certificate file and key file go together")),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

fn roots(ca: Option<&Path>) -> io::Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    match ca {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|e| bad_file(path, &e))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(roots)
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    let certificates = certificates.map_err(|e| bad_file(path, &e))?;
    if certificates.is_empty() {
        return Err(bad_file(path, &"no certificate in it"));
    }
    Ok(certificates)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| bad_file(path, &e))
}

fn bad_file(path: &Path, reason: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, tls: bool, expected: Result<(&str, u16, bool), ()>) {
        let got = Address::parse(url, tls).map_err(|_| ());
        let expected =
            expected.map(|(host, port, tls)| Address { host: host.to_owned(), port, tls, socket: None });
        assert_eq!(got, expected, "{url}");
    }

    #[test]
    fn an_endpoint_is_scheme_host_and_port() {
        check("http://127.0.0.1:2379", false, Ok(("127.0.0.1", 2379, false)));
        check("https://etcd-0.etcd:4001/", false, Ok(("etcd-0.etcd", 4001, true)));
        check("https://[::1]:2379", true, Ok(("[::1]", 2379, true)));
        check("http://etcd", true, Ok(("etcd", 2379, false)));
        check("etcd:1", true, Ok(("etcd", 1, true)));
        check("etcd:1", false, Ok(("etcd", 1, false)));
        check("ftp://etcd:1", false, Err(()));
        check("http://", false, Err(()));
        check("", false, Err(()));
        check("http://user@etcd:1", false, Err(()));
        check("http://etcd:1/path", false, Err(()));
    }

    #[test]
    fn socket_is_dialed_by_its_path() {
        let check = |url: &str, expected: Option<(&str, &str, u16, bool)>| {
            let expected = expected.map(|(path, host, port, tls)| Address {
                host: host.to_owned(),
                port,
                tls,
                socket: Some(path.into()),
            });
            assert_eq!(Address::parse(url, false).ok(), expected, "{url}");
        };
        check("unix:///run/etcd.sock", Some(("/run/etcd.sock", "etcd.sock", 2379, false)));
        check("unixs:///run/etcd_1.sock", Some(("/run/etcd_1.sock", "localhost", 2379, true)));
        check("unix://localhost:7001", Some(("localhost:7001", "localhost", 7001, false)));
        check("unix:etcd.sock", Some(("etcd.sock", "etcd.sock", 2379, false)));
        check("unix://", None);
        check("unix:///", None);
    }

    #[tokio::test]
    async fn socket_gets_the_connection() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("etcd.sock");
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        let address = Address::parse(&format!("unix://{}", path.display()), false).unwrap();
        let connector = Connector { address, tls: None, dial_timeout: Duration::from_secs(5), dialer: None };
        assert!(connector.dial().await.is_ok());
        assert!(listener.accept().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn unresponsive_address_does_not_block_others() {
        let limit = Duration::from_secs(1);
        let at = |n: u8| SocketAddr::from(([192, 0, 2, n], 2379));
        let check = async |addresses: &[SocketAddr], expected: Result<SocketAddr, io::ErrorKind>| {
            let connect = async |address: SocketAddr| match address.ip().to_string().as_str() {
                "192.0.2.1" => std::future::pending().await,
                "192.0.2.2" => Err(io::ErrorKind::ConnectionRefused.into()),
                _ => Ok(address),
            };
            let connected = timeout(limit, connect_first(addresses, limit, connect)).await;
            let connected = connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            assert_eq!(connected.map_err(|error| error.kind()), expected, "{addresses:?}");
        };
        check(&[at(3)], Ok(at(3))).await;
        check(&[at(1), at(3)], Ok(at(3))).await;
        check(&[at(2), at(1), at(3)], Ok(at(3))).await;
        check(&[at(1), at(2)], Err(io::ErrorKind::ConnectionRefused)).await;
        check(&[at(1)], Err(io::ErrorKind::TimedOut)).await;
        check(&[], Err(io::ErrorKind::NotFound)).await;
    }

    #[test]
    fn the_name_to_verify_has_no_brackets() {
        let address = Address::parse("https://[::1]:2379", true);
        assert_eq!(address.unwrap().bare_host(), "::1");
    }

    #[test]
    fn errors_name_unusable_tls_files() {
        let missing = TlsFiles { ca: Some("no/such/ca.crt".into()), ..TlsFiles::default() };
        let error = check_tls(&missing).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("no/such/ca.crt"), "{error}");
        let half = TlsFiles { cert: Some("client.crt".into()), ..TlsFiles::default() };
        assert!(check_tls(&half).is_err());
    }
}
