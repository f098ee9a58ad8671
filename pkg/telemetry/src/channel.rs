//! The gRPC channel to the trace collector, by an address in gRPC's syntax
//! (<https://github.com/grpc/grpc/blob/master/doc/naming.md>). It is never encrypted, as in upstream.

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
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use crate::Error;

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

/// Returns a channel that connects on first use and reconnects when needed.
///
/// # Errors
/// The address cannot be used.
pub(crate) fn connect_lazily(endpoint: Option<&str>, dialer: Option<Dialer>) -> Result<Channel, Error> {
    let address = Address::parse(endpoint.filter(|text| !text.is_empty()).unwrap_or(DEFAULT))?;
    let endpoint = |host: &str| {
        Endpoint::from_shared(format!("http://{host}"))
            .map(|endpoint| endpoint.connect_timeout(CONNECT_TIMEOUT))
            .map_err(|error| Error::Endpoint(format!("tracing endpoint {host:?}: {error}")))
    };
    Ok(match address {
        Address::Tcp(host) => match dialer {
            None => endpoint(&host)?.connect_lazy(),
            Some(dialer) => endpoint(&host)?.connect_with_connector_lazy(ProxyConnector(dialer)),
        },
        socket => endpoint("localhost")?.connect_with_connector_lazy(Connector(socket)),
    })
}

impl Address {
    fn parse(text: &str) -> Result<Self, Error> {
        let cannot = |why: &str| format!("tracing endpoint {text:?}: {why}");
        if let Some(rest) = text.strip_prefix("dns://") {
            return match rest.split_once('/') {
                Some(("", host)) => Ok(Address::Tcp(host.to_owned())),
                Some(_) => Err(Error::Endpoint(cannot(
                    "this server asks the system alone for names, no other DNS server",
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
mod tests {
    use super::*;

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
