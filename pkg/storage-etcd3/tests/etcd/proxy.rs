//! A TCP proxy in front of a member that can break, reject or freeze connections. In front of a peer port it
//! can break the connections of one other member only.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    /// Bytes are forwarded.
    Open,
    /// Connections are closed, new ones immediately.
    Broken,
    /// Requests are forwarded, responses are not.
    Mute,
    /// Nothing is forwarded and nothing closed, as behind a firewall that drops packets.
    Frozen,
}

/// Forwards a port of its own to `target`.
pub(crate) struct Proxy {
    address: SocketAddr,
    line: Arc<watch::Sender<Line>>,
    /// The member whose connections to this peer port are broken; 0 for none.
    outcast: Arc<watch::Sender<u64>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn to(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let line = Arc::new(watch::Sender::new(Line::Open));
        let outcast = Arc::new(watch::Sender::new(0));
        let lines = line.clone();
        let outcasts = outcast.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, target, lines.subscribe(), outcasts.subscribe()));
            }
        });
        Self { address, line, outcast, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn set(&self, line: Line) {
        self.line.send_replace(line);
    }

    /// Breaks current and later connections of this member to this peer.
    pub(crate) fn cast_out(&self, member: u64) {
        self.outcast.send_replace(member);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.set(Line::Broken);
    }
}

async fn forward(
    mut client: TcpStream,
    target: u16,
    mut line: watch::Receiver<Line>,
    mut outcast: watch::Receiver<u64>,
) {
    if line
        .wait_for(|line| *line != Line::Frozen)
        .await
        .is_ok_and(|line| matches!(*line, Line::Open | Line::Mute))
    {
        let mut head = vec![0; 16 * 1024];
        let Ok(read @ 1..) = client.read(&mut head).await else { return };
        let from = sender(&head[..read]);
        let Ok(mut server) = TcpStream::connect(("127.0.0.1", target)).await else { return };
        if *outcast.borrow() == from && from != 0 || server.write_all(&head[..read]).await.is_err() {
            return;
        }
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        tokio::select! {
            () = pump(from_client, to_server, &[Line::Frozen], line.clone()) => {}
            () = pump(from_server, to_client, &[Line::Frozen, Line::Mute], line.clone()) => {}
            _ = line.wait_for(|line| *line == Line::Broken) => {}
            _ = outcast.wait_for(|outcast| *outcast == from && from != 0) => {}
        }
    }
}

/// The sending member of a peer request, from etcd's header; 0 for other traffic.
fn sender(head: &[u8]) -> u64 {
    let head = String::from_utf8_lossy(head);
    let id = head.lines().find_map(|line| line.strip_prefix("X-Server-From: "));
    id.and_then(|id| u64::from_str_radix(id.trim(), 16).ok()).unwrap_or_default()
}

async fn pump(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    held_by: &[Line],
    mut line: watch::Receiver<Line>,
) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let Ok(read @ 1..) = from.read(&mut buffer).await else { return };
        if line.wait_for(|line| !held_by.contains(line)).await.is_err() {
            return;
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
