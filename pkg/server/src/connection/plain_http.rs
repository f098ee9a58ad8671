//! Plain HTTP on the TLS port: a load balancer or a user with the wrong scheme.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::SHUTDOWN_TIMEOUT;

/// First bytes of requests, as long as the header of a TLS record (Go's `tlsRecordHeaderLooksLikeHTTP`).
const STARTS: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];

const RESPONSE: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/// True if the client sends plain HTTP. Waits up to `wait` for the first bytes and does not consume them.
pub(crate) async fn is_plain_http(stream: &TcpStream, wait: Duration) -> bool {
    let mut start = [0; 5];
    match timeout(wait, stream.peek(&mut start)).await {
        Ok(Ok(5)) => STARTS.contains(&&start),
        _ => false,
    }
}

/// Sends the error of Go's server and closes the connection. Reads the client's remaining input for a moment,
/// because closing at once could discard the response.
pub(crate) async fn reject(mut stream: TcpStream) {
    let goodbye = async {
        stream.write_all(RESPONSE).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<_, std::io::Error>(())
    };
    // A failed or slow write is ignored.
    let _ = timeout(SHUTDOWN_TIMEOUT, goodbye).await;
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    async fn check(sent: &[u8], expected: &[u8]) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        client.write_all(sent).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        if is_plain_http(&stream, Duration::from_secs(5)).await {
            tokio::spawn(reject(stream));
        } else {
            drop(stream);
        }
        client.shutdown().await.unwrap();
        let mut received = Vec::new();
        // A dropped stream with unread input is a reset.
        let _ = client.read_to_end(&mut received).await;
        assert_eq!(received, expected);
    }

    #[tokio::test]
    async fn plain_http_gets_a_readable_error() {
        check(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n", RESPONSE).await;
        check(b"OPTIONS * HTTP/1.1\r\n\r\n", RESPONSE).await;
        check(b"\x16\x03\x01\x02\x00\x01", b"").await;
    }
}
