//! Tests of many incomplete heads.

use super::*;
use crate::limits::memory::{MemoryBudget, Meter};

/// Bytes of a head; two of them exceed the limit of the test.
const BYTES: usize = 600_000;

/// Server that uses no memory.
struct NoMemory;

impl Meter for NoMemory {
    fn bytes(&self) -> Option<u64> {
        Some(0)
    }
}

/// Returns the start of a request.
fn incomplete_head(protocol: Protocol) -> Vec<u8> {
    match protocol {
        Protocol::Http1 => [b"GET /api HTTP/1.1\r\nX: ".as_slice(), &[b'x'; BYTES]].concat(),
        Protocol::Http2 => {
            let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
            for number in 0..=BYTES / (16 << 10) {
                // HEADERS and its continuations, 16 KiB each, on stream 1.
                bytes.extend_from_slice(&[0, 0x40, 0, if number == 0 { 1 } else { 9 }, 0, 0, 0, 0, 1]);
                bytes.extend_from_slice(&[0; 16 << 10]);
            }
            bytes
        }
    }
}

async fn check(protocol: Protocol) {
    let script = Arc::new(Script::default());
    let memory = MemoryBudget::new(16 << 20, Arc::new(NoMemory));
    let chain = chain(&script, &[Mode::AlwaysAllow], ChainOptions { memory, ..ChainOptions::default() });
    let mut connections = Vec::new();
    for _ in 0..2 {
        let (mut client, server) = duplex(1024);
        let peer = Peer::new("192.0.2.1:1".parse().unwrap(), protocol, None);
        let serving = serve(server, peer, Arc::clone(&chain), ConnectionOptions::default(), Lifecycle::new());
        let serving = tokio::spawn(serving);
        client.write_all(&incomplete_head(protocol)).await.unwrap();
        connections.push((client, serving));
    }
    let (_second, second_serving) = connections.pop().unwrap();
    let (_first, first_serving) = connections.pop().unwrap();
    timeout(PATIENCE, first_serving).await.unwrap().unwrap();
    assert!(!second_serving.is_finished());
}

#[tokio::test]
async fn oldest_connection_is_closed() {
    check(Protocol::Http1).await;
    check(Protocol::Http2).await;
}
