//! Listening socket with its accept loop.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use socket2::{Domain, Protocol, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use crate::Chain;
use crate::connection::activity::HEAD_TIMEOUT;
use crate::connection::plain_http::{self, is_plain_http};
use crate::connection::{ConnectionOptions, serve_tls};
use crate::lifecycle::Lifecycle;
use crate::tls::Tls;

/// Maximum number of connections. More of them wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 65_536;
/// Length of the kernel's accept queue.
const BACKLOG: i32 = 1024;
/// First and longest pause after a failed accept, for example for lack of file descriptors.
const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(5);
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);
/// Idle time before the kernel sends TCP keep-alive probes.
const KEEPALIVE: Duration = Duration::from_secs(180);

/// Options of the listening socket.
#[derive(Debug, Clone, Copy)]
pub struct BindOptions {
    /// `--bind-address` and `--secure-port`; port 0 selects a free port.
    pub address: SocketAddr,
    /// `--permit-port-sharing`: several processes may listen (SO_REUSEPORT).
    pub share_port: bool,
}

/// Opens the listening socket. Like Go, an unspecified IPv4 address also listens on IPv6 if the machine
/// supports it.
///
/// # Errors
/// The system's error, for example if the address is in use.
pub fn bind(options: BindOptions) -> io::Result<TcpListener> {
    let address = options.address;
    if address.ip().is_unspecified() {
        let dual = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), address.port());
        match listen(dual, options.share_port) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
            Err(_) => {}
        }
    }
    listen(address, options.share_port)
}

fn listen(address: SocketAddr, share_port: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(share_port)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Accepts and serves connections until [`Lifecycle::drain`]. Then waits up to `drain_max` for open
/// connections. The rest is cut when the runtime ends.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ArcSwap<Tls>>,
    chain: Arc<Chain>,
    options: ConnectionOptions,
    lifecycle: Lifecycle,
    drain_max: Duration,
) {
    let connections = TaskTracker::new();
    tokio::select! {
        () = accept_all(&listener, &tls, &chain, options, &lifecycle, &connections) => {}
        () = lifecycle.draining().cancelled() => {}
    }
    drop(listener);
    connections.close();
    let drained = async {
        connections.wait().await;
        chain.wait_for_writes().await;
    };
    if timeout(drain_max, drained).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections still open after the drain timeout");
    }
}

async fn accept_all(
    listener: &TcpListener,
    tls: &Arc<ArcSwap<Tls>>,
    chain: &Arc<Chain>,
    options: ConnectionOptions,
    lifecycle: &Lifecycle,
    connections: &TaskTracker,
) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut pause = ACCEPT_PAUSE_MIN;
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let (stream, remote) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, ?pause, "cannot accept connections");
                sleep(pause).await;
                pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
                continue;
            }
        };
        pause = ACCEPT_PAUSE_MIN;
        tune(&stream);
        let tls = Arc::clone(tls);
        let chain = Arc::clone(chain);
        let lifecycle = lifecycle.clone();
        let open = OpenConnection::count(&chain);
        connections.spawn(async move {
            let is_plain = tokio::select! {
                is_plain = is_plain_http(&stream, HEAD_TIMEOUT) => is_plain,
                () = lifecycle.draining().cancelled() => return,
            };
            if is_plain {
                plain_http::reject(stream).await;
            } else {
                serve_tls(stream, remote, tls, chain, options, lifecycle).await;
            }
            drop((open, permit));
        });
    }
}

/// Options can fail on a connection that is already closed; serving it then reports the error.
fn tune(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
    let _ = socket2::SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// Counts an open connection while it lives.
struct OpenConnection(Arc<Chain>);

impl OpenConnection {
    fn count(chain: &Arc<Chain>) -> Self {
        chain.metrics().connections.add(1);
        OpenConnection(Arc::clone(chain))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.metrics().connections.add(-1);
    }
}
