//! A proxy: its address, its protocol, and the metrics of its connections.

use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use client::{Address, Dial, DialFuture, DialPath, Io, Source, Tls, TlsClient, Trust};
use component_base::trace::Span;
use http::Uri;
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout};

use crate::config::{Connection, DIRECT, GRPC, TcpTransport, TlsConfig, Transport};
use crate::metrics::{DialMetrics, Kind, Stage};
use crate::{Error, Random, connect, tunnel};

/// Timeout for a connection to a local proxy.
const ACCEPT_MAX: Duration = Duration::from_secs(30);

pub(crate) struct Proxy {
    endpoint: ProxyEndpoint,
    metrics: Arc<DialMetrics>,
    random: Random,
}

/// Address and protocol of a proxy.
#[derive(Debug)]
enum ProxyEndpoint {
    /// HTTP CONNECT over TCP. Errors contain `shown`.
    Tcp { address: Address, shown: String, tls: Option<TlsClient> },
    /// HTTP CONNECT at a Unix socket.
    Uds(String),
    /// Konnectivity's gRPC at a Unix socket.
    Grpc(String),
}

impl ProxyEndpoint {
    fn kind(&self) -> Kind {
        match self {
            ProxyEndpoint::Tcp { .. } => Kind::HttpConnectTcp,
            ProxyEndpoint::Uds(_) => Kind::HttpConnectUds,
            ProxyEndpoint::Grpc(_) => Kind::GrpcUds,
        }
    }
}

/// A connection through a proxy, or the failed stage and the reason.
type DialResult = Result<Box<dyn Io>, (Stage, Error)>;

impl Proxy {
    /// Builds the selection for a validated connection. Blocks on file I/O.
    ///
    /// # Errors
    /// A file or a URL cannot be used.
    pub(crate) fn new_dial_path(
        connection: &Connection,
        metrics: &Arc<DialMetrics>,
        random: &Random,
    ) -> Result<DialPath, Error> {
        let protocol = connection.proxy_protocol.as_str();
        let endpoint = match &connection.transport {
            _ if protocol == DIRECT => return Ok(DialPath::Direct),
            Some(Transport { uds: Some(uds), .. }) if protocol == GRPC => {
                ProxyEndpoint::Grpc(uds.uds_name.clone())
            }
            Some(Transport { uds: Some(uds), .. }) => ProxyEndpoint::Uds(uds.uds_name.clone()),
            Some(Transport { tcp: Some(tcp), .. }) => parse_endpoint(tcp)?,
            _ => return Err(Error::Invalid("Either a TCP or UDS transport must be specified".to_owned())),
        };
        let metrics = Arc::clone(metrics);
        let random = Arc::clone(random);
        Ok(DialPath::Proxy(Arc::new(Proxy { endpoint, metrics, random })))
    }

    /// Connects to the proxy, and through it to `target`.
    async fn dial_target(&self, target: &str) -> DialResult {
        let (stream, shown): (Box<dyn Io>, &str) = match &self.endpoint {
            ProxyEndpoint::Tcp { address, shown, tls } => {
                let stream = client::tcp(address).await.map_err(at_connect)?;
                let stream = match tls {
                    Some(tls) => tls.handshake(stream).await.map_err(at_connect)?,
                    None => Box::new(stream),
                };
                (stream, shown)
            }
            ProxyEndpoint::Uds(name) => (Box::new(unix(name).await.map_err(at_connect)?), name),
            ProxyEndpoint::Grpc(name) => {
                let channel = grpc::connect(name, ACCEPT_MAX).await.map_err(at_connect)?;
                let stream = tunnel::dial(channel, target, (self.random)()).await;
                return stream.map_err(|error| (Stage::Proxy, error));
            }
        };
        connect::connect(stream, shown, target).await.map_err(|error| (Stage::Proxy, error))
    }

    async fn dial_counted(&self, address: &Address) -> Result<Box<dyn Io>, Error> {
        let target = target(address)?;
        let kind = self.endpoint.kind();
        let start = Instant::now();
        self.metrics.started(kind);
        let name = format!("Proxy via {} protocol over {}", kind.protocol(), kind.transport());
        let span = Span::current().child(&name, || vec![("address", target.as_str().into())]);
        match span.instrument(pin!(self.dial_target(&target))).await {
            Ok(stream) => {
                self.metrics.connected(kind, start.elapsed());
                Ok(stream)
            }
            Err((stage, error)) => {
                self.metrics.failed(kind, stage);
                Err(error)
            }
        }
    }
}

impl Dial for Proxy {
    fn dial<'d>(&'d self, address: &'d Address) -> DialFuture<'d> {
        Box::pin(async move {
            self.dial_counted(address).await.map_err(|error| client::Error::connect(error.to_string()))
        })
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.endpoint).finish()
    }
}

fn at_connect(error: impl Into<Error>) -> (Stage, Error) {
    (Stage::Connect, error.into())
}

/// Returns the target address for the proxy.
///
/// # Errors
/// The address contains invalid characters. Some addresses come from API objects; their authors must not be
/// able to inject requests to the proxy.
fn target(Address { host, port }: &Address) -> Result<String, Error> {
    match host {
        host if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_graphic()) => {
            Err(Error::dial(format!("dial tcp: lookup {host:?}: no such host")))
        }
        host if host.contains(':') => Ok(format!("[{host}]:{port}")),
        host => Ok(format!("{host}:{port}")),
    }
}

async fn unix(name: &str) -> Result<UnixStream, Error> {
    // An abstract socket is a path that begins with a zero byte.
    let path = name.strip_prefix('@').map_or_else(|| PathBuf::from(name), |name| format!("\0{name}").into());
    match timeout(ACCEPT_MAX, UnixStream::connect(path)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => {
            Err(Error::dial(format!("dial unix {name}: connect: {}", client::go_io_error_text(&error))))
        }
        Err(_) => Err(Error::dial(format!("dial unix {name}: i/o timeout"))),
    }
}

/// Parses the proxy's URL.
fn parse_endpoint(tcp: &TcpTransport) -> Result<ProxyEndpoint, Error> {
    let wrong = |cause: &str| format!("invalid proxy server url {:?}: {cause}", tcp.url);
    let uri: Uri = tcp
        .url
        .parse()
        .map_err(|error: http::uri::InvalidUri| wrong(&error.to_string()))
        .map_err(Error::Invalid)?;
    let authority = uri.authority().ok_or_else(|| wrong("no host")).map_err(Error::Invalid)?;
    let host = authority.host().trim_matches(['[', ']']).to_owned();
    // Upstream starts with a URL without a port, and fails on every connection.
    let port =
        authority.port_u16().ok_or_else(|| wrong("missing port in address")).map_err(Error::Invalid)?;
    let tls = tcp.tls_config.as_ref().map(|files| tls_client(files, &host)).transpose()?;
    Ok(ProxyEndpoint::Tcp { shown: authority.as_str().to_owned(), address: Address { host, port }, tls })
}

fn tls_client(files: &TlsConfig, host: &str) -> Result<TlsClient, Error> {
    let cert = &files.client_cert;
    let key = &files.client_key;
    let file = |path: &str| Source::File(path.into());
    let shown = Tls {
        certificate: Some((file(cert), file(key))),
        server_name: Some(files.tls_server_name.clone()).filter(|name| !name.is_empty()),
        ..Tls::default()
    };
    TlsClient::new(&Tls { trust: Trust::Unverified, ..shown.clone() }, host)
        .map_err(|error| Error::Invalid(format!("failed to read key pair {cert} & {key}, got {error}")))?;
    let trust = match files.ca_bundle.as_str() {
        "" => Trust::System,
        path => {
            let pem = std::fs::read(path)
                .map_err(|error| {
                    format!(
                        "failed to read cert file {path}, got open {path}: {}",
                        client::go_io_error_text(&error)
                    )
                })
                .map_err(Error::Invalid)?;
            Trust::Bundle(Source::Inline(pem.into()))
        }
    };
    TlsClient::new(&Tls { trust, ..shown }, host)
        .map_err(|error| Error::Invalid(format!("failed to append CA cert to the cert pool: {error}")))
}

#[cfg(test)]
mod tests;
