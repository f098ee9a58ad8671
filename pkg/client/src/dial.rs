//! TCP: finding a host and connecting to it.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use http::Uri;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use crate::error::Error;

/// How long the other end may take to accept a connection (Go's default dialer).
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// When the system asks whether a silent other end is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Where to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name or an address, without brackets.
    pub host: String,
    /// A port.
    pub port: u16,
}

impl Address {
    /// The URI of a path at this address, by HTTPS.
    ///
    /// # Errors
    /// The parts do not make a URI.
    pub fn uri(&self, path: &str) -> Result<Uri, String> {
        Uri::try_from(format!("https://{self}{path}")).map_err(|error| error.to_string())
    }
}

/// As Go's `net.JoinHostPort` writes it.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Where a URL's host and port really are, for hosts that DNS does not know. Asked for each new connection.
///
/// # Errors
/// Why nobody is there, in words for clients.
pub type Route = Arc<dyn Fn(&str, u16) -> Result<Address, String> + Send + Sync>;

/// Bytes in both directions.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Io for S {}

/// A connection on its way, or why there is none, in words for clients.
pub type DialFuture<'d> = Pin<Box<dyn Future<Output = Result<Box<dyn Io>, String>> + Send + 'd>>;

/// A way to others that does not begin in this machine's own network, such as a proxy's.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects to an address. Whoever is on the way looks names up. Takes a bounded time; dropping it gives up.
    fn dial<'d>(&'d self, address: &'d Address) -> DialFuture<'d>;
}

/// A way that is shared.
pub type Dialer = Arc<dyn Dial>;

/// A way that somebody has chosen.
#[derive(Debug, Clone)]
pub enum DialPath {
    /// This machine's own network.
    Direct,
    /// Another one.
    Through(Dialer),
}

/// All addresses of a host. An address is its own.
///
/// # Errors
/// [`Error::Connect`].
pub async fn addresses(host: &str) -> Result<Vec<IpAddr>, Error> {
    let found = lookup(host, 0).await.map_err(Error::Connect)?;
    Ok(found.into_iter().map(|address| address.ip()).collect())
}

/// Connects to the first address of a host that accepts, without any proxy. Each has 30 s.
///
/// # Errors
/// Why the first one did not, in the words of Go's `net`.
pub async fn tcp(address: &Address) -> Result<TcpStream, String> {
    let Address { host, port } = address;
    let found = lookup(host, *port).await.map_err(|error| format!("dial tcp: {error}"))?;
    let mut first = None;
    for address in found {
        match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                prepare(&stream);
                return Ok(stream);
            }
            Ok(Err(error)) => first.get_or_insert(format!("dial tcp {address}: connect: {}", words(&error))),
            Err(_) => first.get_or_insert(format!("dial tcp {address}: i/o timeout")),
        };
    }
    Err(first.unwrap_or_else(|| format!("dial tcp: lookup {host}: no such host")))
}

/// Options without which a stream works, only not as well.
fn prepare(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    let socket = SockRef::from(stream);
    let set = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&keepalive));
    if let Err(error) = set {
        tracing::debug!(%error, "options of an outgoing connection");
    }
}

async fn lookup(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    let found = timeout(CONNECT_MAX, lookup_host((host, port))).await;
    match found {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(_)) => Err(format!("lookup {host}: no such host")),
        Err(_) => Err(format!("lookup {host}: i/o timeout")),
    }
}

/// The system's reason as Go words it, which is the system's own words, in lower case.
pub fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
        io::ErrorKind::TimedOut => "connection timed out".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_refused_connection_is_worded_as_go_words_it() {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let error = tcp(&Address { host: "127.0.0.1".to_owned(), port: address.port() }).await.unwrap_err();
        assert_eq!(error, format!("dial tcp {address}: connect: connection refused"));
    }

    #[tokio::test]
    async fn an_address_is_its_own() {
        assert_eq!(addresses("::1").await.unwrap(), ["::1".parse::<IpAddr>().unwrap()]);
    }
}
