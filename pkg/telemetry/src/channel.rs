//! The gRPC channel to the trace collector, by an address in gRPC's syntax
//! (<https://github.com/grpc/grpc/blob/master/doc/naming.md>).

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use client::{Dialer, Io};
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tower_service::Service;

use crate::Error;
use crate::environment::ExporterEnvironment;

/// The default endpoint of OTLP over gRPC.
const DEFAULT: &str = "localhost:4317";
/// The port of a TCP address without one.
const PORT: u16 = 80;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    /// Host and port.
    Tcp(String),
    /// A socket in the file system.
    Unix(PathBuf),
    /// A socket in the abstract namespace.
    Abstract(String),
}

/// Returns a channel that connects on first use and reconnects when needed. `endpoint`, of the configuration file, takes
/// precedence over that of the environment. Without certificates in the environment and without an `https` URL there,
/// the channel is not encrypted, as in upstream.
///
/// # Errors
/// The address, a certificate or a key cannot be used.
pub(crate) fn connect_lazily(
    endpoint: Option<&str>,
    environment: &ExporterEnvironment,
    dialer: Option<Dialer>,
) -> Result<Channel, Error> {
    let target = match endpoint.filter(|text| !text.is_empty()) {
        Some(text) => Target { text, secure: false },
        None => {
            environment.endpoint.as_deref().map_or(Target { text: DEFAULT, secure: false }, Target::of_url)
        }
    };
    let address = Address::parse(target.text)?;
    let tls = match environment.tls()? {
        None if target.secure => Some(ClientTlsConfig::new().with_native_roots()),
        tls => tls,
    };
    let endpoint =
        |host: &str| encrypted(host, tls.clone()).map(|endpoint| endpoint.timeout(environment.timeout));
    Ok(match address {
        Address::Tcp(host) => match dialer {
            None => endpoint(&host)?.connect_lazy(),
            Some(dialer) => endpoint(&host)?.connect_with_connector_lazy(ProxyConnector(dialer)),
        },
        socket => endpoint("localhost")?.connect_with_connector_lazy(Connector(socket)),
    })
}

/// Returns the endpoint of a host and port.
fn encrypted(host: &str, tls: Option<ClientTlsConfig>) -> Result<Endpoint, Error> {
    let failed = |source| Error::Connection { endpoint: host.to_owned(), source };
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{host}")).map_err(failed)?;
    let endpoint = endpoint.connect_timeout(CONNECT_TIMEOUT);
    match tls {
        Some(tls) => endpoint.tls_config(tls).map_err(failed),
        None => Ok(endpoint),
    }
}

/// Address of a collector and the security that its URL demands.
#[derive(Debug, PartialEq, Eq)]
struct Target<'a> {
    text: &'a str,
    secure: bool,
}

impl<'a> Target<'a> {
    /// Reads an endpoint of the environment: a URL, or an address in gRPC's syntax.
    fn of_url(text: &'a str) -> Self {
        let after = |scheme: &str| {
            let rest = text.get(scheme.len()..)?;
            let is_scheme = text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
            is_scheme.then(|| rest.trim_end_matches('/'))
        };
        match after("https://") {
            Some(text) => Target { text, secure: true },
            None => Target { text: after("http://").unwrap_or(text), secure: false },
        }
    }
}

impl Address {
    fn parse(text: &str) -> Result<Self, Error> {
        let cannot = |why: &str| format!("tracing endpoint {text:?}: {why}");
        if let Some(rest) = text.strip_prefix("dns://") {
            return match rest.split_once('/') {
                Some(("", host)) => Ok(Address::Tcp(host.to_owned())),
                Some(_) => Err(Error::Endpoint(cannot(
                    "DNS servers in addresses are not supported: use dns:///HOST:PORT",
                ))),
                None => Ok(Address::Tcp(rest.to_owned())),
            };
        }
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return Ok(Address::Unix(PathBuf::from(path)));
        }
        if let Some(name) = text.strip_prefix("unix-abstract:") {
            return Ok(Address::Abstract(name.strip_prefix("//").unwrap_or(name).to_owned()));
        }
        Ok(Address::Tcp(text.strip_prefix("dns:").unwrap_or(text).to_owned()))
    }
}

/// Connects to a fixed Unix socket and ignores the URI of the request.
#[derive(Clone)]
struct Connector(Address);

impl Service<Uri> for Connector {
    type Response = TokioIo<UnixStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let address = self.0.clone();
        Box::pin(async move {
            let path = match address {
                Address::Unix(path) => path,
                // An abstract socket is a path that begins with a zero byte.
                Address::Abstract(name) => PathBuf::from(format!("\0{name}")),
                Address::Tcp(_) => return Err(io::Error::from(io::ErrorKind::Unsupported)),
            };
            UnixStream::connect(path).await.map(TokioIo::new)
        })
    }
}

/// Connects to the URI of the request through an egress proxy.
#[derive(Clone)]
struct ProxyConnector(Dialer);

impl Service<Uri> for ProxyConnector {
    type Response = TokioIo<Box<dyn Io>>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dialer = Arc::clone(&self.0);
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = uri.port_u16().unwrap_or(PORT);
        Box::pin(async move {
            let stream = dialer.dial(&client::Address { host, port }).await;
            stream.map(TokioIo::new).map_err(io::Error::other)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn only_https_urls_demand_encryption() {
        let check = |text, expected, secure| {
            assert_eq!(Target::of_url(text), Target { text: expected, secure }, "{text}");
        };
        check("https://otel:4317", "otel:4317", true);
        check("HTTPS://otel:4317/", "otel:4317", true);
        check("http://otel:4317/", "otel:4317", false);
        check("otel:4317", "otel:4317", false);
        check("unix:///run/otel.sock", "unix:///run/otel.sock", false);
    }

    #[tokio::test]
    async fn export_without_response_ends() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = silent.local_addr().unwrap().to_string();
        let timeout = |name: &str| (name == "OTEL_EXPORTER_OTLP_TIMEOUT").then(|| "20".to_owned());
        let environment = ExporterEnvironment::read(timeout);
        let mut channel = connect_lazily(Some(&address), &environment, None).unwrap();
        poll_fn(|context| channel.poll_ready(context)).await.unwrap();
        let request = http::Request::new(tonic::body::Body::empty());
        assert!(channel.call(request).await.is_err());
    }

    #[test]
    fn addresses_follow_grpc_naming() {
        let tcp = |host: &str| Ok(Address::Tcp(host.to_owned()));
        let check = |text: &str, expected: Result<Address, ()>| {
            assert_eq!(Address::parse(text).map_err(|_| ()), expected, "{text}");
        };
        check("otel:4317", tcp("otel:4317"));
        check("dns:otel:4317", tcp("otel:4317"));
        check("dns:///otel:4317", tcp("otel:4317"));
        check("dns://8.8.8.8/otel:4317", Err(()));
        check("[::1]:4317", tcp("[::1]:4317"));
        check("unix:otel.sock", Ok(Address::Unix("otel.sock".into())));
        check("unix:///run/otel.sock", Ok(Address::Unix("/run/otel.sock".into())));
        check("unix-abstract:otel", Ok(Address::Abstract("otel".to_owned())));
    }
}
