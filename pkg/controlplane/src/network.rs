//! The way to kubelets, pods, and whatever stands behind Services: TCP, and TLS as the backend deserves.
//! Failures are worded as Go's `net` and `crypto/tls` word them, because clients get to see them.

mod trust;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use endpoints::proxy::{Backend, Network, Stream, Trust};
use rustls_pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::config::KubeletConfig;
use crate::run::RunError;
use trust::{Clients, explain};

/// How long the other end may take to accept a connection (Go's default dialer).
const CONNECT_MAX: Duration = Duration::from_secs(30);
/// How long a TLS handshake may take (Go's default transport).
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// When the system asks whether a silent other end is still there.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// The network that this machine is in.
pub(crate) struct SystemNetwork {
    clients: Clients,
}

impl SystemNetwork {
    /// Reads what this server shows to kubelets and believes of them.
    ///
    /// # Errors
    /// [`RunError::File`], [`RunError::Credentials`].
    pub(crate) fn new(kubelets: &KubeletConfig) -> Result<Self, RunError> {
        Ok(SystemNetwork { clients: Clients::new(kubelets)? })
    }
}

#[async_trait]
impl Network for SystemNetwork {
    async fn connect(&self, backend: Backend<'_>) -> Result<Box<dyn Stream>, String> {
        let stream = tcp(backend).await?;
        match backend.tls {
            None => Ok(Box::new(stream)),
            Some(trust) => Ok(Box::new(self.handshake(stream, backend, trust).await?)),
        }
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let found = lookup(host, 0).await?;
        Ok(found.into_iter().map(|address| address.ip()).collect())
    }
}

impl SystemNetwork {
    async fn handshake(
        &self,
        stream: TcpStream,
        backend: Backend<'_>,
        trust: Trust,
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
        let name = ServerName::try_from(backend.host.to_owned());
        let name = name.map_err(|error| format!("tls: {error}"))?;
        let config = self.clients.config(trust).await?;
        match timeout(HANDSHAKE_MAX, TlsConnector::from(Arc::new(config)).connect(name, stream)).await {
            Ok(connected) => connected.map_err(|error| explain(&error)),
            Err(_) => Err("net/http: TLS handshake timeout".to_owned()),
        }
    }
}

async fn tcp(backend: Backend<'_>) -> Result<TcpStream, String> {
    let port = match backend.port {
        "http" => 80,
        "https" => 443,
        port => port.parse().map_err(|_| format!("dial tcp: lookup tcp/{port}: unknown port"))?,
    };
    let addresses = lookup(backend.host, port).await.map_err(|error| format!("dial tcp: {error}"))?;
    let mut first = None;
    for address in addresses {
        match timeout(CONNECT_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                prepare(&stream);
                return Ok(stream);
            }
            Ok(Err(error)) => first.get_or_insert(format!("dial tcp {address}: connect: {}", words(&error))),
            Err(_) => first.get_or_insert(format!("dial tcp {address}: i/o timeout")),
        };
    }
    Err(first.unwrap_or_else(|| format!("dial tcp: lookup {}: no such host", backend.host)))
}

/// Options without which a stream works, only not as well.
fn prepare(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    let socket = SockRef::from(stream);
    let set = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_keepalive(&keepalive));
    if let Err(error) = set {
        tracing::debug!(%error, "options of a connection to a backend");
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
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset by peer".to_owned(),
        io::ErrorKind::TimedOut => "connection timed out".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
