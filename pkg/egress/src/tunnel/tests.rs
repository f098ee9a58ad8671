//! Tunnels through correct and incorrect konnectivity proxies.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use client::{Address, Dialer};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tonic::Status;

use super::*;
use crate::testing::{Konnectivity, RANDOM, assert_echoes, closed, data, dialer, dialled, echo, packet};
use crate::tunnel::packet::CloseDial;

type Out = mpsc::Sender<Result<Packet, Status>>;

fn socket() -> (TempDir, PathBuf, Dialer) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("proxy.sock");
    let dialer = dialer(&format!("{{proxyProtocol: GRPC, transport: {{uds: {{udsName: {path:?}}}}}}}"));
    (dir, path, dialer)
}

fn nobody() -> Address {
    Address { host: "10.0.0.1".to_owned(), port: 443 }
}

/// A proxy that sends these packets to every client, and records received packets and the end of the stream.
fn proxy_sending(
    path: &std::path::Path,
    packets: Vec<Result<Packet, Status>>,
) -> mpsc::UnboundedReceiver<Payload> {
    let (sender, receiver) = mpsc::unbounded_channel();
    Konnectivity::start(path, move |mut inbound, out: Out| {
        let packets = packets.clone();
        let sender = sender.clone();
        tokio::spawn(async move {
            let send_packets = async {
                for packet in packets {
                    let _ = out.send(packet).await;
                }
            };
            let receive_packets = async {
                while let Ok(Some(Packet { payload: Some(payload), .. })) = inbound.message().await {
                    let _ = sender.send(payload);
                }
            };
            tokio::join!(send_packets, receive_packets);
        });
    });
    receiver
}

#[tokio::test]
async fn closing_sends_close_request() {
    let (_dir, path, dialer) = socket();
    let mut packets = Konnectivity::honest(&path);
    let other = echo().await;
    let mut stream = dialer.dial(&other).await.unwrap();
    assert_echoes(&mut stream).await;
    drop(stream);
    let Payload::DialRequest(request) = packets.recv().await.unwrap() else {
        panic!("a request comes first")
    };
    assert_eq!((request.protocol.as_str(), request.random), ("tcp", RANDOM));
    assert_eq!(request.address, format!("{}:{}", other.host, other.port));
    assert!(matches!(packets.recv().await.unwrap(), Payload::Data(data) if &data.data[..] == b"hello"));
    assert!(matches!(packets.recv().await.unwrap(), Payload::CloseRequest(close) if close.connect_id == 1));
}

#[tokio::test]
async fn slow_readers_get_all_bytes_in_order() {
    let (_dir, path, dialer) = socket();
    let _packets = Konnectivity::honest(&path);
    let stream = dialer.dial(&echo().await).await.unwrap();
    let sent: Vec<u8> = (0..1_000_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    let (mut read, mut write) = tokio::io::split(stream);
    let expected = sent.clone();
    let writing = tokio::spawn(async move {
        write.write_all(&sent).await.unwrap();
        write
    });
    let mut got = vec![0; expected.len()];
    for piece in got.chunks_mut(777) {
        read.read_exact(piece).await.unwrap();
    }
    assert!(got == expected, "bytes were lost or mixed up");
    writing.await.unwrap();
}

#[tokio::test]
async fn data_before_close_is_delivered() {
    let (_dir, path, dialer) = socket();
    let packets = vec![dialled("", 3, RANDOM), data(3, b"bye"), data(9, b"not ours"), closed(3)];
    let _packets = proxy_sending(&path, packets);
    let mut stream = dialer.dial(&nobody()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "bye");
}

#[tokio::test]
async fn dial_errors_carry_the_proxys_message() {
    let check = async |packet: Result<Packet, Status>, expected: &str| {
        let (_dir, path, dialer) = socket();
        let _packets = proxy_sending(&path, vec![packet]);
        assert_eq!(dialer.dial(&nobody()).await.err().unwrap().to_string(), expected);
    };
    check(dialled("dial tcp: no route to host", 0, RANDOM), "dial tcp: no route to host").await;
    check(dialled("", 3, RANDOM + 1), "tunnel closed").await;
    check(packet(Payload::CloseDial(CloseDial { random: RANDOM })), "dial closed").await;
    check(Err(Status::unavailable("no agent")), "rpc error: code = Unavailable desc = no agent").await;
}

#[tokio::test]
async fn dropped_dial_is_cancelled_at_the_proxy() {
    let (_dir, path, dialer) = socket();
    let mut packets = proxy_sending(&path, vec![]);
    let other = nobody();
    let mut dialling = dialer.dial(&other);
    tokio::select! {
        _ = &mut dialling => panic!("nobody has answered"),
        first = packets.recv() => assert!(matches!(first, Some(Payload::DialRequest(_)))),
    }
    drop(dialling);
    assert!(matches!(packets.recv().await, Some(Payload::CloseDial(close)) if close.random == RANDOM));
}

#[tokio::test]
async fn missing_proxy_fails_immediately() {
    let (_dir, path, dialer) = socket();
    let error = dialer.dial(&nobody()).await.err().unwrap();
    let message = format!(
        "connection error: desc = \"transport: Error while dialing: dial unix {}: connect: no such file or directory\"",
        path.display()
    );
    assert_eq!(error, client::Error::connect(message));
}

#[tokio::test]
async fn unread_data_exerts_backpressure() {
    const PACKETS: usize = 1000;
    const BYTES: usize = 10_000;
    let (_dir, path, dialer) = socket();
    let (count, mut counts) = mpsc::unbounded_channel();
    Konnectivity::start(&path, move |mut inbound, out: Out| {
        let count = count.clone();
        tokio::spawn(async move {
            let _ = inbound.message().await;
            let _ = out.send(dialled("", 3, RANDOM)).await;
            for _ in 0..PACKETS {
                if out.send(data(3, &[0; BYTES])).await.is_err() {
                    return;
                }
                let _ = count.send(());
            }
            let _ = out.send(closed(3)).await;
            // Keeps the stream open.
            while let Ok(Some(_)) = inbound.message().await {}
        });
    });
    let mut stream = dialer.dial(&nobody()).await.unwrap();
    // The maximum number of bytes in flight: the windows and buffers of both ends.
    let mut read = 0;
    let mut buffer = vec![0; BYTES];
    while let Ok(bytes @ 1..) = stream.read(&mut buffer).await {
        read += bytes;
        let mut sent = counts.len();
        sent = sent.saturating_mul(BYTES);
        assert!(sent <= read + (2 << 20), "{sent} bytes were sent when {read} had been read");
    }
    assert_eq!(read, PACKETS * BYTES);
    assert_eq!(counts.recv_many(&mut Vec::new(), PACKETS).await, PACKETS);
}

#[tokio::test]
async fn unread_connection_is_closed() {
    let (_dir, path, dialer) = socket();
    let (end, mut ended) = mpsc::unbounded_channel();
    Konnectivity::start(&path, move |mut inbound, out: Out| {
        let end = end.clone();
        tokio::spawn(async move {
            let _ = inbound.message().await;
            let _ = out.send(dialled("", 3, RANDOM)).await;
            while out.send(data(3, &[0; 10_000])).await.is_ok() {}
            let _ = end.send(());
        });
    });
    let mut stream = dialer.dial(&nobody()).await.unwrap();
    // From here on, time advances when every task is idle.
    tokio::time::pause();
    ended.recv().await.unwrap();
    let mut remaining = Vec::new();
    stream.read_to_end(&mut remaining).await.unwrap();
    assert_eq!(remaining.len(), BUFFER_BYTES);
}
