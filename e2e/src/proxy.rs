//! Bad network between two processes: a TCP proxy that delays, throttles, blocks, cuts or blackholes
//! connections.

use std::net::Ipv4Addr;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Buffer of one direction of a connection: number and size of reads. TCP throttles a sender beyond that.
const CHUNKS_MAX: usize = 256;
const CHUNK_BYTES: usize = 16 << 10;

/// Network condition of all connections, in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Bytes are forwarded at once.
    Clear,
    /// Bytes are forwarded in order, with a delay between `least` and `most`.
    Late {
        /// The shortest delay.
        least: Duration,
        /// The longest delay.
        most: Duration,
    },
    /// Limited bandwidth per direction of a connection.
    Narrow {
        /// At least 1.
        bytes_per_second: u32,
    },
    /// Bytes are buffered until the condition changes. Connections stay open, and new ones are accepted.
    Silent,
    /// Bytes from clients are buffered; responses pass.
    Deaf,
    /// Responses are buffered; bytes from clients pass.
    Mute,
}

/// Direction of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// To the port behind the proxy.
    There,
    /// To the client.
    Back,
}

/// End of the connections that existed at some time.
#[derive(Debug, Clone, Copy)]
enum End {
    Cut,
    Forgotten,
}

/// A proxy in front of a local port. Its connections are closed when it is dropped.
pub struct Proxy {
    port: u16,
    network: watch::Sender<Network>,
    ends: watch::Sender<End>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Starts a proxy that forwards to `port`.
    ///
    /// # Panics
    /// It cannot listen.
    pub async fn start(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let network = watch::Sender::new(Network::Clear);
        let ends = watch::Sender::new(End::Cut);
        let mut tasks = JoinSet::new();
        let own_port = listener.local_addr().expect("a socket that listens has an address").port();
        tasks.spawn(accept(listener, port, network.clone(), ends.clone()));
        Proxy { port: own_port, network, ends, _tasks: tasks }
    }

    /// Returns the client URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the client port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the network condition, also for buffered bytes.
    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }

    /// Closes all present connections; buffered bytes are lost.
    pub fn cut(&self) {
        self.ends.send_replace(End::Cut);
    }

    /// Blackholes all present connections permanently, like a middlebox that lost its connection table. The
    /// endpoints are not notified; new connections work.
    pub fn forget(&self) {
        self.ends.send_replace(End::Forgotten);
    }
}

async fn accept(listener: TcpListener, port: u16, network: watch::Sender<Network>, ends: watch::Sender<End>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let network = network.subscribe();
        let mut ends = ends.subscribe();
        connections.spawn(async move {
            let mut connection = pin!(connection(client, port, network));
            let alive = tokio::select! {
                () = &mut connection => false,
                changed = ends.changed() => changed.is_ok(),
            };
            let forgotten = matches!(*ends.borrow(), End::Forgotten);
            if alive && forgotten {
                // Its sockets stay open.
                std::future::pending::<()>().await;
            }
        });
    }
}

/// Forwards one connection until one side closes it.
async fn connection(client: TcpStream, port: u16, network: watch::Receiver<Network>) {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pass(from_client, to_server, Direction::There, network.clone()) => {}
        () = pass(from_server, to_client, Direction::Back, network) => {}
    }
}

/// Forwards one direction. Ends after its last byte is delivered.
async fn pass(
    mut from: OwnedReadHalf,
    to: OwnedWriteHalf,
    direction: Direction,
    network: watch::Receiver<Network>,
) {
    let (sender, chunks) = mpsc::channel(CHUNKS_MAX);
    let reading = async move {
        loop {
            let mut chunk = Vec::with_capacity(CHUNK_BYTES);
            let read = from.read_buf(&mut chunk).await;
            if !matches!(read, Ok(1..)) || sender.send((Instant::now(), chunk)).await.is_err() {
                return;
            }
        }
    };
    tokio::join!(reading, deliver(chunks, to, direction, network));
}

async fn deliver(
    mut chunks: mpsc::Receiver<(Instant, Vec<u8>)>,
    mut to: OwnedWriteHalf,
    direction: Direction,
    mut network: watch::Receiver<Network>,
) {
    for count in 0_u32.. {
        let Some((arrived, chunk)) = chunks.recv().await else { return };
        let dequeued = Instant::now();
        loop {
            // Recompute if the condition has changed.
            let due = due(*network.borrow_and_update(), direction, count, chunk.len(), arrived, dequeued);
            tokio::select! {
                () = until(due) => break,
                changed = network.changed() => if changed.is_err() { return },
            }
        }
        if to.write_all(&chunk).await.is_err() {
            return;
        }
    }
}

/// Returns the delivery time of a chunk that arrived and was dequeued at these times; `None` while it is
/// blocked.
fn due(
    network: Network,
    direction: Direction,
    count: u32,
    bytes: usize,
    arrived: Instant,
    dequeued: Instant,
) -> Option<Instant> {
    match network {
        Network::Deaf if direction == Direction::Back => Some(dequeued),
        Network::Mute if direction == Direction::There => Some(dequeued),
        Network::Silent | Network::Deaf | Network::Mute => None,
        Network::Clear => Some(dequeued),
        Network::Late { least, most } => Some(arrived + least + (most - least) * (count % 4) / 3),
        Network::Narrow { bytes_per_second } => {
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            Some(dequeued + Duration::from_secs(1) * bytes / bytes_per_second)
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_delivery_time_depends_on_condition() {
        let arrived = Instant::now();
        let ms = Duration::from_millis;
        let dequeued = arrived + ms(7);
        let check_one = |network, direction, count, expected: Option<Duration>| {
            let due = due(network, direction, count, 500, arrived, dequeued);
            assert_eq!(due.map(|due| due - arrived), expected, "{network:?}");
        };
        let check = |network, count, expected| {
            check_one(network, Direction::There, count, expected);
            check_one(network, Direction::Back, count, expected);
        };
        check(Network::Clear, 0, Some(ms(7)));
        let late = Network::Late { least: ms(50), most: ms(200) };
        check(late, 0, Some(ms(50)));
        check(late, 2, Some(ms(150)));
        check(late, 3, Some(ms(200)));
        check(Network::Narrow { bytes_per_second: 1000 }, 0, Some(ms(507)));
        check(Network::Silent, 0, None);
        check_one(Network::Deaf, Direction::There, 0, None);
        check_one(Network::Deaf, Direction::Back, 0, Some(ms(7)));
        check_one(Network::Mute, Direction::There, 0, Some(ms(7)));
        check_one(Network::Mute, Direction::Back, 0, None);
    }

    #[tokio::test]
    async fn bytes_pass_in_order_unless_blocked() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let proxy = Proxy::start(listener.local_addr().unwrap().port()).await;
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port)).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let mut read = [0; 3];
        client.write_all(b"abc").await.unwrap();
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"abc");
        proxy.set(Network::Silent);
        client.write_all(b"def").await.unwrap();
        proxy.set(Network::Late { least: Duration::ZERO, most: Duration::from_millis(2) });
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"def");
        proxy.cut();
        assert_eq!(client.read(&mut read).await.unwrap_or(0), 0);
    }
}
