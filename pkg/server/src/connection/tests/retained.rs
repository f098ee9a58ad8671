//! Memory that a connection retains after large heads, while one of its requests is an idle watch. The allocator counts per
//! thread.

use std::sync::Arc;

use super::*;
use crate::testing::allocated;

/// Maximum memory that a large head adds, in bytes: 8 KiB, and 1 KiB for slots of requests that were open at the same time.
const RETAINED_BYTES_MAX: i64 = 9 * 1024;
const LARGE: usize = 900_000;
const WATCH: &str = "/api/v1/watched?watch=1";

/// Sends bytes to a connection until its watch has sent its initial state. Returns the memory of the connection in bytes.
async fn retained(protocol: Protocol, sent: &[u8]) -> i64 {
    let before = allocated();
    let script = Arc::new(Script::default());
    let chain = chain(&script, &[Mode::AlwaysAllow], ChainOptions::default());
    // The pipe keeps its buffer too, so it is small.
    let (client, server) = duplex(1024);
    let peer = Peer::new("192.0.2.1:1".parse().unwrap(), protocol, None);
    let serving = tokio::spawn(serve(server, peer, chain, ConnectionOptions::default(), Lifecycle::new()));
    let (mut read, mut write) = tokio::io::split(client);
    script.release.notify_one();
    let sending = async { write.write_all(sent).await.unwrap() };
    let receiving = async {
        let mut got = Vec::new();
        while !got.ends_with(b"initial") && !got.ends_with(b"initial\r\n") {
            assert!(read.read_buf(&mut got).await.unwrap() > 0, "ended: {}", String::from_utf8_lossy(&got));
        }
    };
    timeout(PATIENCE, async { tokio::join!(sending, receiving) }).await.unwrap();
    let after = allocated();
    drop((read, write));
    timeout(PATIENCE, serving).await.unwrap().unwrap();
    after - before
}

fn http1(target: &str, fields: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n").into_bytes()
}

/// Frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
}

/// Request of HTTP/2 without body.
fn request(stream: u8, block: &[u8]) -> Vec<u8> {
    let count = block.chunks(16_384).count();
    let parts = block.chunks(16_384).enumerate().flat_map(|(number, part)| {
        let end = if number + 1 == count { 4 } else { 0 };
        if number == 0 { frame(1, end | 1, stream, part) } else { frame(9, end, stream, part) }
    });
    parts.collect()
}

/// Field of HTTP/2. `kind`: 0, or 0x40 for an addition to the table.
fn field(kind: u8, name: &str, value: &[u8], huffman: u8) -> Vec<u8> {
    let mut length = vec![0x7f | huffman];
    let mut rest = value.len().checked_sub(0x7f);
    if rest.is_none() {
        length = vec![u8::try_from(value.len()).unwrap() | huffman];
    }
    while let Some(more) = rest {
        length.push(u8::try_from(more % 128).unwrap() | if more < 128 { 0 } else { 128 });
        rest = (more >= 128).then_some(more / 128);
    }
    [&[kind, u8::try_from(name.len()).unwrap()][..], name.as_bytes(), &length, value].concat()
}

/// Pseudo-headers of a request. `kind`: see [`field`].
fn block(kind: u8, path: &str) -> Vec<u8> {
    let pseudo = [("method", "GET"), ("scheme", "https"), ("authority", "x"), ("path", path)];
    pseudo.iter().flat_map(|(name, value)| field(kind, &format!(":{name}"), value.as_bytes(), 0)).collect()
}

fn http2(requests: &[Vec<u8>]) -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(4, 0, 0, &[]), requests.concat()].concat()
}

#[tokio::test]
async fn http1_connection_retains_no_head() {
    let small = http1(WATCH, "");
    retained(Protocol::Http1, &small).await;
    let small = retained(Protocol::Http1, &small).await;
    for head in [
        http1(WATCH, &format!("X: {}\r\n", "x".repeat(4000))),
        http1(WATCH, &format!("X: {}\r\n", "x".repeat(8100))),
        http1(WATCH, &format!("X: {}\r\n", "x".repeat(LARGE))),
        http1(
            WATCH,
            &(0..900).map(|number| format!("X-{number}: {}\r\n", "x".repeat(900))).collect::<String>(),
        ),
        http1(&format!("{WATCH}&{}", "x".repeat(LARGE)), ""),
        http1(&format!("/api/v1/namespaces/{}/watched?watch=1", "x".repeat(60_000)), ""),
    ] {
        let more = retained(Protocol::Http1, &head).await - small;
        assert!(more <= RETAINED_BYTES_MAX, "{more} bytes");
    }
}

#[tokio::test]
async fn http2_connection_retains_no_head() {
    let watch = block(0, WATCH);
    let small = http2(&[request(1, &watch)]);
    retained(Protocol::Http2, &small).await;
    let small = retained(Protocol::Http2, &small).await;
    let large = |size| [watch.clone(), field(0, "x", &vec![b'x'; size], 0)].concat();
    // Five zero bytes are the code of eight zeros.
    let huffman = [watch.clone(), field(0, "x", &[0; LARGE / 8 * 5], 0x80)].concat();
    // Each head adds its pseudo-headers to the table.
    let entries = |size, count| -> Vec<_> {
        let head = |number| {
            let path = format!("/api/v1/x{number}");
            request(2 * number + 1, &[block(0x40, &path), field(0, "x", &vec![b'x'; size], 0)].concat())
        };
        (0..count).map(head).chain([request(2 * count + 1, &watch)]).collect()
    };
    let mut heads = vec![vec![request(1, &huffman)], entries(LARGE, 10), entries(8000, 100)];
    heads.extend([4000, 8100, 12_000, 16_200, 20_000, LARGE].map(|size| vec![request(1, &large(size))]));
    for requests in heads {
        let more = retained(Protocol::Http2, &http2(&requests)).await - small;
        assert!(more <= RETAINED_BYTES_MAX, "{more} bytes");
    }
}

#[tokio::test]
async fn malformed_head_affects_only_its_stream() {
    let malformed = [block(0, WATCH), field(0, "Capital", b"x", 0)].concat();
    let requests = [request(1, &malformed), request(3, &block(0, WATCH))];
    // Waits for the initial state of the watch, and fails if the connection ends.
    retained(Protocol::Http2, &http2(&requests)).await;
}
