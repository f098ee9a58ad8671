//! TCP: name resolution and connecting.

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

/// Connect timeout (Go's default dialer).
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// TCP keepalive time and interval.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// Host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
}

impl Address {
    /// The URI of a path at this address, by HTTPS.
    ///
    /// # Errors
    /// The parts do not make a URI.
    pub fn uri(&self, path: &str) -> Result<Uri, crate::Error> {
        Uri::try_from(format!("https://{self}{path}")).map_err(|error| Error::connect(error.to_string()))
    }
}

/// Formats like Go's `net.JoinHostPort`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// Resolves a URL's host and port to an address, for hosts that DNS does not know. Called for each new
/// connection.
///
/// # Errors
/// The reason, worded for clients.
pub type Route = Arc<dyn Fn(&str, u16) -> Result<Address, Error> + Send + Sync>;

/// A bidirectional byte stream.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Io for S {}

/// A connection attempt. Its error is worded for clients.
pub type DialFuture<'d> = Pin<Box<dyn Future<Output = Result<Box<dyn Io>, crate::Error>> + Send + 'd>>;

/// Connects by other means than this machine's network, such as a proxy.
pub trait Dial: fmt::Debug + Send + Sync {
    /// Connects to an address. The proxy resolves names. Completes in bounded time; dropping the future
    /// cancels it.
    fn dial<'d>(&'d self, address: &'d Address) -> DialFuture<'d>;
}

/// A shared dialer.
pub type Dialer = Arc<dyn Dial>;

/// Configured way of connecting.
#[derive(Debug, Clone)]
pub enum DialPath {
    /// Directly, over this machine's network.
    Direct,
    Proxy(Dialer),
}

/// True for an address that a client may connect to.
pub type AddressCheck = fn(IpAddr) -> bool;

/// Resolves all addresses of a host. An address resolves to itself.
///
/// # Errors
/// [`Error::Connect`].
pub async fn addresses(host: &str) -> Result<Vec<IpAddr>, Error> {
    let addresses = lookup(host, 0).await?;
    Ok(addresses.into_iter().map(|address| address.ip()).collect())
}

/// Connects directly to the first address of a host that accepts. Each attempt has a timeout of 30 s.
///
/// # Errors
/// The error of the first address, in the words of Go's `net`.
pub async fn tcp(address: &Address) -> Result<TcpStream, Error> {
    let addresses = lookup_to_dial(address).await?;
    to_first(&addresses, &address.host).await
}

/// As [`tcp`], if all addresses of the host are permitted. Only addresses that were checked are dialed.
///
/// # Errors
/// As [`tcp`], or a forbidden address.
pub(crate) async fn tcp_permitted(address: &Address, permits: AddressCheck) -> Result<TcpStream, Error> {
    let addresses = lookup_to_dial(address).await?;
    check_all(&addresses, permits)?;
    to_first(&addresses, &address.host).await
}

/// Resolves a name to an address that a dialer can use in its place, if all of its addresses are permitted.
///
/// # Errors
/// The name does not resolve, or has a forbidden address.
pub(crate) async fn permitted(address: &Address, permits: AddressCheck) -> Result<Address, Error> {
    let addresses = lookup_to_dial(address).await?;
    check_all(&addresses, permits)?;
    let first = addresses.first().ok_or_else(|| Error::connect("no addresses for hostname"))?;
    Ok(Address { host: first.ip().to_string(), port: first.port() })
}

fn check_all(addresses: &[SocketAddr], permits: AddressCheck) -> Result<(), Error> {
    if addresses.iter().all(|address| permits(address.ip())) {
        Ok(())
    } else {
        Err(Error::connect("address not allowed"))
    }
}

async fn lookup_to_dial(Address { host, port }: &Address) -> Result<Vec<SocketAddr>, Error> {
    lookup(host, *port).await.map_err(|error| Error::connect(format!("dial tcp: {error}")))
}

async fn to_first(addresses: &[SocketAddr], host: &str) -> Result<TcpStream, Error> {
    let mut first = None;
    for address in addresses {
        match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                prepare(&stream);
                return Ok(stream);
            }
            Ok(Err(error)) => {
                first.get_or_insert(format!("dial tcp {address}: connect: {}", go_io_error_text(&error)))
            }
            Err(_) => first.get_or_insert(format!("dial tcp {address}: i/o timeout")),
        };
    }
    Err(Error::connect(first.unwrap_or_else(|| format!("dial tcp: lookup {host}: no such host"))))
}

/// Sets socket options. Failures are only logged, because they are optimizations.
fn prepare(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    let socket = SockRef::from(stream);
    let set = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&keepalive));
    if let Err(error) = set {
        tracing::debug!(%error, "cannot set socket options of outgoing connection");
    }
}

async fn lookup(host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
    let result = timeout(CONNECT_MAX, lookup_host((host, port))).await;
    match result {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(_)) => Err(Error::connect(format!("lookup {host}: no such host"))),
        Err(_) => Err(Error::connect(format!("lookup {host}: i/o timeout"))),
    }
}

/// Formats an I/O error like Go: the system's text in lower case.
pub fn go_io_error_text(error: &io::Error) -> String {
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
    async fn refused_connection_error_equals_gos() {
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = closed.local_addr().unwrap();
        drop(closed);
        let error = tcp(&Address { host: "127.0.0.1".to_owned(), port: address.port() }).await.unwrap_err();
        assert_eq!(error.to_string(), format!("dial tcp {address}: connect: connection refused"));
    }

    #[tokio::test]
    async fn forbidden_address_is_not_dialed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address { host: "localhost".to_owned(), port: listener.local_addr().unwrap().port() };
        let forbids: AddressCheck = |address| !address.is_loopback();
        let error = tcp_permitted(&address, forbids).await.unwrap_err();
        assert_eq!(error, Error::connect("address not allowed"));
        assert_eq!(permitted(&address, forbids).await, Err(error));
        tcp_permitted(&address, |_| true).await.unwrap();
    }

    #[tokio::test]
    async fn dialer_gets_the_checked_address() {
        let address = Address { host: "localhost".to_owned(), port: 7 };
        let permitted_address = permitted(&address, |address| address.is_loopback()).await.unwrap();
        assert!(permitted_address.host.parse::<IpAddr>().unwrap().is_loopback(), "{permitted_address}");
        assert_eq!(permitted_address.port, 7);
    }

    #[tokio::test]
    async fn address_resolves_to_itself() {
        assert_eq!(addresses("::1").await.unwrap(), ["::1".parse::<IpAddr>().unwrap()]);
    }
}
