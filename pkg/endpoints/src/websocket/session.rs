//! Open WebSocket: sends the server's messages, answers pings, and ends with a close frame.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use futures::{Stream, StreamExt};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::frame::{NORMAL, Opcode, PROTOCOL_ERROR, append, append_close};
use super::input::{Input, Received};
use crate::routing::dispatch::{Response, Tunnel};

/// Timeout for the close frame and the shutdown of the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Size of the read buffer. Clients send only small control frames.
const READ_BYTES: usize = 512;

/// Sends `messages`, which are complete frames, after the response. The connection ends with the messages, with the
/// client, or at `shutdown`.
pub(crate) fn start(
    response: &mut Response,
    connection: OnUpgrade,
    messages: impl Stream<Item = Bytes> + Send + Unpin + 'static,
    shutdown: CancellationToken,
) {
    Tunnel::spawn(response, async move {
        tokio::select! {
            connection = connection => match connection {
                Ok(connection) => run(TokioIo::new(connection), messages, shutdown).await,
                Err(error) => tracing::debug!(%error, "connection upgrade failed"),
            },
            () = shutdown.cancelled() => {}
        }
    });
}

async fn run(
    connection: impl AsyncRead + AsyncWrite,
    messages: impl Stream<Item = Bytes> + Unpin,
    shutdown: CancellationToken,
) {
    let (reader, mut writer) = split(connection);
    let code = tokio::select! {
        code = exchange(reader, &mut writer, messages) => code,
        () = shutdown.cancelled() => None,
    };
    let goodbye = async {
        if let Some(code) = code {
            let mut close = Vec::new();
            append_close(code, &mut close);
            writer.write_all(&close).await?;
        }
        writer.shutdown().await
    };
    if let Ok(Err(error)) = timeout(CLOSE_TIMEOUT, goodbye).await {
        tracing::debug!(%error, "WebSocket shutdown failed");
    }
}

/// Sends all messages and answers pings. Returns the status code of the close frame; `None` if the connection failed, or
/// ended within a message.
async fn exchange(
    mut reader: impl AsyncRead + Unpin,
    writer: &mut (impl AsyncWrite + Unpin),
    mut messages: impl Stream<Item = Bytes> + Unpin,
) -> Option<u16> {
    let mut input = Input::default();
    let mut received = BytesMut::new();
    let mut sending = Bytes::new();
    let mut unflushed = false;
    let mut closing = None;
    loop {
        // A pong waits for the end of a message. Meanwhile no more input is read, so that at most one waits.
        while sending.is_empty() && closing.is_none() && !received.is_empty() {
            match input.next(&mut received) {
                Some(Received::Ping(payload)) => {
                    let mut pong = Vec::new();
                    append(Opcode::Pong, &payload, &mut pong);
                    sending = pong.into();
                }
                Some(Received::Close) => closing = Some(NORMAL),
                Some(Received::Unmasked) => closing = Some(PROTOCOL_ERROR),
                Some(Received::Data(_)) | None => {}
            }
        }
        if sending.is_empty() && closing.is_some() {
            return closing;
        }
        let sends = !sending.is_empty() || unflushed;
        let reads = received.is_empty();
        if reads {
            received.reserve(READ_BYTES);
        }
        tokio::select! {
            sent = send(writer, &sending), if sends => match sent {
                Ok(0) if !sending.is_empty() => return None,
                Ok(count) => {
                    unflushed = !sending.is_empty();
                    sending.advance(count);
                }
                Err(_) => return None,
            },
            message = messages.next(), if !sends => match message {
                Some(message) => sending = message,
                None => closing = Some(NORMAL),
            },
            read = reader.read_buf(&mut received), if reads => match read {
                Ok(1..) => {}
                _ => return None,
            },
        }
    }
}

/// Sends a part of the bytes; flushes if there are none. Returns the number of bytes sent.
pub(crate) async fn send(writer: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<usize> {
    if bytes.is_empty() {
        writer.flush().await?;
        return Ok(0);
    }
    writer.write(bytes).await
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures::stream;
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    /// Starts a session and returns the client's end.
    fn session(messages: impl Stream<Item = Bytes> + Send + Unpin + 'static) -> DuplexStream {
        let (client, server) = duplex(64);
        tokio::spawn(run(server, messages, CancellationToken::new()));
        client
    }

    async fn read_all(mut client: DuplexStream) -> Vec<u8> {
        let mut all = Vec::new();
        client.read_to_end(&mut all).await.unwrap();
        all
    }

    #[tokio::test]
    async fn last_message_precedes_close_frame() {
        let client = session(stream::iter([Bytes::from_static(b"\x81\x01a")]));
        assert_eq!(read_all(client).await, b"\x81\x01a\x88\x02\x03\xe8");
    }

    #[tokio::test]
    async fn ping_is_answered() {
        let mut client = session(stream::pending());
        client.write_all(b"\x89\x81\0\0\0\0x\x88\x80\0\0\0\0").await.unwrap();
        assert_eq!(read_all(client).await, b"\x8a\x01x\x88\x02\x03\xe8");
    }

    #[tokio::test]
    async fn unmasked_frame_is_a_protocol_error() {
        let mut client = session(stream::pending());
        client.write_all(b"\x81\x01a").await.unwrap();
        assert_eq!(read_all(client).await, b"\x88\x02\x03\xea");
    }

    #[tokio::test]
    async fn messages_end_with_the_client() {
        let (client, server) = duplex(64);
        let session = tokio::spawn(run(server, stream::pending(), CancellationToken::new()));
        drop(client);
        session.await.unwrap();
    }

    #[tokio::test]
    async fn blocked_client_can_close() {
        let message = Bytes::from(vec![0; 1000]);
        let mut client = session(stream::repeat(message));
        // The output does not fit into the pipe, so the server is still sending when the client leaves.
        client.write_all(b"\x88\x80\0\0\0\0").await.unwrap();
        let all = read_all(client).await;
        assert!(all.ends_with(b"\x88\x02\x03\xe8"));
        assert!(all.len() < 5000);
    }
}
