//! Tests of connections, over pipes and over TLS on a real socket.
#![allow(clippy::unwrap_used)]

mod heads;
mod incomplete_heads;
mod retained;
mod tls;

use std::sync::atomic::Ordering::SeqCst;

use authorization::Mode;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::ChainOptions;
use crate::testing::{PATIENCE, PIECE_BYTES, Script, chain};

struct Pipe {
    client: DuplexStream,
    serving: JoinHandle<()>,
    script: Arc<Script>,
    lifecycle: Lifecycle,
}

fn pipe(protocol: Protocol, modes: &[Mode]) -> Pipe {
    pipe_with(protocol, modes, ChainOptions::default())
}

fn pipe_with(protocol: Protocol, modes: &[Mode], options: ChainOptions) -> Pipe {
    let (client, server) = duplex(64 * 1024);
    let script = Arc::new(Script::default());
    let lifecycle = Lifecycle::new();
    let chain = chain(&script, modes, options);
    let peer = Peer::new("192.0.2.1:1".parse().unwrap(), protocol, None);
    let serving = tokio::spawn(serve(server, peer, chain, ConnectionOptions::default(), lifecycle.clone()));
    Pipe { client, serving, script, lifecycle }
}

async fn exchange(stream: &mut DuplexStream, head: &str, ends_with: &str) -> String {
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut got = Vec::new();
    while !got.ends_with(ends_with.as_bytes()) {
        assert!(stream.read_buf(&mut got).await.unwrap() > 0, "ended: {}", String::from_utf8_lossy(&got));
    }
    String::from_utf8(got).unwrap()
}

const GET: &str = "GET /api HTTP/1.1\r\nHost: x\r\n\r\n";

#[tokio::test]
async fn requests_follow_each_other_on_http1() {
    let mut pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
    for _ in 0..3 {
        let got = exchange(&mut pipe.client, GET, "dispatched").await;
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
    }
    let post = "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
    exchange(&mut pipe.client, post, "hello").await;
}

#[tokio::test]
async fn rejection_keeps_connection_usable() {
    let mut pipe = pipe(Protocol::Http1, &[Mode::Rbac]);
    pipe.client.write_all(b"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe").await.unwrap();
    let refused = exchange(&mut pipe.client, "llo", "}\n").await;
    assert!(refused.starts_with("HTTP/1.1 403 ") && !refused.contains("connection: close"), "{refused}");
    let next = exchange(&mut pipe.client, GET, "}\n").await;
    assert!(next.starts_with("HTTP/1.1 403 "), "{next}");
}

#[tokio::test]
async fn long_unread_body_closes_with_response() {
    for (head, body) in [("", 300 * 1024), ("Expect: 100-continue\r\n", 0)] {
        let pipe = pipe(Protocol::Http1, &[Mode::Rbac]);
        let (mut read, mut write) = tokio::io::split(pipe.client);
        let sending = tokio::spawn(async move {
            let head = format!("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n{head}\r\n");
            write.write_all(head.as_bytes()).await.unwrap();
            // The server may close the connection before it has read all input.
            let _ = write.write_all(&vec![b'x'; body]).await;
            write
        });
        let mut got = String::new();
        timeout(PATIENCE, read.read_to_string(&mut got)).await.unwrap().unwrap();
        assert!(got.starts_with("HTTP/1.1 403 ") && got.contains("connection: close\r\n"), "{got}");
        drop(sending.await.unwrap());
        timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn http2_requests_are_concurrent() {
    let pipe = pipe(Protocol::Http2, &[Mode::AlwaysAllow]);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(pipe.client)).await.unwrap();
    tokio::spawn(connection);
    let get = |path: &str| {
        http::Request::get(format!("https://x{path}"))
            .header("authorization", "Bearer ann")
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .unwrap()
    };
    let waiting = sender.send_request(get("/api/v1/wait"));
    let quick = sender.send_request(get("/api/v1/who")).await.unwrap();
    assert_eq!(quick.into_body().collect().await.unwrap().to_bytes(), "ann");
    pipe.script.release.notify_one();
    assert_eq!(waiting.await.unwrap().into_body().collect().await.unwrap().to_bytes(), "waited");
}

#[tokio::test]
async fn unauthenticated_http2_client_gets_one_request() {
    let pipe = pipe(Protocol::Http2, &[Mode::Rbac]);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(pipe.client)).await.unwrap();
    let client = tokio::spawn(connection);
    let get = http::Request::get("https://x/api").body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
    assert_eq!(sender.send_request(get).await.unwrap().status(), 403);
    timeout(PATIENCE, client).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn goaway_chance_affects_http2_only() {
    let options = || ChainOptions { goaway_chance: 1.0, ..ChainOptions::default() };
    let pipe = pipe_with(Protocol::Http2, &[Mode::Rbac], options());
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(pipe.client)).await.unwrap();
    let client = tokio::spawn(connection);
    let get = http::Request::get("https://x/api").header("authorization", "Bearer master");
    let get = get.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap();
    assert_eq!(sender.send_request(get).await.unwrap().status(), 200);
    timeout(PATIENCE, client).await.unwrap().unwrap().unwrap();
    timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();

    let mut pipe = pipe_with(Protocol::Http1, &[Mode::AlwaysAllow], options());
    for _ in 0..2 {
        exchange(&mut pipe.client, GET, "dispatched").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_stops_the_body() {
    const WINDOW: usize = 64 * 1024;
    let pipe = pipe(Protocol::Http2, &[Mode::AlwaysAllow]);
    let mut client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    client.initial_stream_window_size(WINDOW as u32);
    let (mut sender, connection) = client.handshake(TokioIo::new(pipe.client)).await.unwrap();
    tokio::spawn(connection);
    let get = http::Request::get("https://x/api/v1/watch/endless").header("authorization", "Bearer master");
    let response = sender.send_request(get.body(http_body_util::Empty::<bytes::Bytes>::new()).unwrap()).await;
    // Paused time advances when all tasks are idle.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let produced = pipe.script.pieces.load(SeqCst) * PIECE_BYTES;
    assert!((WINDOW..=WINDOW + SEND_BUFFER_BYTES + 2 * PIECE_BYTES).contains(&produced), "{produced}");
    drop(response);
}

#[tokio::test(start_paused = true)]
async fn http2_rejection_follows_pending_body() {
    let pipe = pipe(Protocol::Http2, &[Mode::Rbac]);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(pipe.client)).await.unwrap();
    tokio::spawn(connection);
    let (upload, body) = tokio::io::duplex(64);
    let body = futures::stream::once(async move {
        let mut body = body;
        let mut read = Vec::new();
        body.read_to_end(&mut read).await.map(|_| http_body::Frame::data(bytes::Bytes::from(read)))
    });
    let post = http::Request::post("https://x/api").header("authorization", "Bearer ann");
    let post = post.body(http_body_util::StreamBody::new(Box::pin(body))).unwrap();
    let response = tokio::spawn(sender.send_request(post));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!response.is_finished());
    drop(upload);
    assert_eq!(timeout(Duration::from_secs(1), response).await.unwrap().unwrap().unwrap().status(), 403);
}

#[tokio::test]
async fn http2_settings_match_upstream_except_frame_size() {
    let mut pipe = pipe(Protocol::Http2, &[Mode::AlwaysAllow]);
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    pipe.client.write_all(preface).await.unwrap();
    let mut head = [0; 9];
    pipe.client.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "SETTINGS comes first");
    let mut payload = vec![0; usize::from(head[2])];
    pipe.client.read_exact(&mut payload).await.unwrap();
    let setting = |id: u8| {
        let entry = payload.chunks(6).find(|setting| setting[..2] == [0, id]).unwrap();
        u32::from_be_bytes(entry[2..].try_into().unwrap())
    };
    let [streams, window, frame, head] = [3, 4, 5, 6].map(setting);
    assert_eq!((streams, window, frame, head), (100, 256 << 10, 16 << 10, 1 << 20));
}

#[tokio::test]
async fn invalid_input_affects_only_its_connection() {
    for junk in [
        "\0\0\0",
        "GET\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ] {
        let mut pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
        pipe.client.write_all(junk.as_bytes()).await.unwrap();
        pipe.client.shutdown().await.unwrap();
        timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn slow_head_times_out_after_32s() {
    let mut pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
    let start = Instant::now();
    pipe.client.write_all(b"GET /api HTTP/1.1\r\nHo").await.unwrap();
    pipe.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 32);
}

#[tokio::test(start_paused = true)]
async fn idle_connection_closes_after_90s() {
    let mut pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
    exchange(&mut pipe.client, GET, "dispatched").await;
    let start = Instant::now();
    pipe.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 90);
}

#[tokio::test]
async fn draining_closes_after_active_request() {
    let mut pipe = pipe(Protocol::Http1, &[Mode::AlwaysAllow]);
    pipe.client.write_all(b"GET /api/v1/wait HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    pipe.script.entered.notified().await;
    pipe.lifecycle.drain();
    pipe.script.release.notify_one();
    let mut got = String::new();
    timeout(PATIENCE, pipe.client.read_to_string(&mut got)).await.unwrap().unwrap();
    assert!(got.starts_with("HTTP/1.1 200 OK\r\n") && got.ends_with("waited"), "{got}");
    assert!(got.contains("connection: close\r\n"), "{got}");
    timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn draining_ends_an_idle_connection_at_once() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let pipe = pipe(protocol, &[Mode::AlwaysAllow]);
        pipe.lifecycle.drain();
        let mut client = pipe.client;
        let mut rest = Vec::new();
        if protocol == Protocol::Http1 {
            timeout(PATIENCE, client.read_to_end(&mut rest)).await.unwrap().unwrap();
        } else {
            drop(client);
        }
        timeout(PATIENCE, pipe.serving).await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_client_delays_shutdown_by_10s() {
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let mut pipe = pipe(protocol, &[Mode::AlwaysAllow]);
        let get = "GET /api/v1/watch/endless HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer master\r\n\r\n";
        let unread = match protocol {
            Protocol::Http1 => {
                pipe.client.write_all(get.as_bytes()).await.unwrap();
                Err(pipe.client)
            }
            Protocol::Http2 => {
                let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
                let (mut sender, connection) = builder.handshake(TokioIo::new(pipe.client)).await.unwrap();
                tokio::spawn(connection);
                let get = http::Request::get("https://x/api/v1/watch/endless");
                let get = get.header("authorization", "Bearer master");
                let body = http_body_util::Empty::<bytes::Bytes>::new();
                Ok((sender.send_request(get.body(body).unwrap()).await, sender))
            }
        };
        tokio::time::sleep(Duration::from_secs(60)).await;
        let start = Instant::now();
        pipe.lifecycle.drain();
        let ended = timeout(PATIENCE, pipe.serving).await;
        assert!(ended.is_ok(), "{protocol:?}");
        assert_eq!(start.elapsed().as_secs(), 10, "{protocol:?}");
        drop(unread);
    }
}
