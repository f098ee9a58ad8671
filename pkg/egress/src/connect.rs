//! HTTP CONNECT: requests a tunnel from a proxy (RFC 9110, 9.3.6).

use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use apimachinery::go_quote::quote;
use client::Io;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::Error;

/// Timeout for the proxy's response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of the response head in bytes. Upstream allows 1 MiB, which is far more than a response
/// needs.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Reason for a failed CONNECT.
enum ConnectError {
    /// No valid response was received.
    NoResponse(String),
    /// An error message for clients.
    Message(String),
}

/// Sends CONNECT for `target` over `stream`; afterwards the stream carries the target's bytes. `proxy` is the
/// name of the proxy in errors.
///
/// # Errors
/// Upstream's error message.
pub(crate) async fn connect(
    mut stream: Box<dyn Io>,
    proxy: &str,
    target: &str,
) -> Result<Box<dyn Io>, Error> {
    let result = timeout(RESPONSE_TIMEOUT, send_connect(&mut stream, proxy, target)).await;
    let result = result.unwrap_or_else(|_| Err(ConnectError::NoResponse("i/o timeout".to_owned())));
    match result {
        Ok(()) => Ok(stream),
        Err(ConnectError::Message(message)) => Err(Error::dial(message)),
        Err(ConnectError::NoResponse(message)) => Err(Error::dial(format!(
            "reading HTTP response from CONNECT to {target} via proxy {proxy} failed: {message}"
        ))),
    }
}

async fn send_connect(stream: &mut Box<dyn Io>, proxy: &str, target: &str) -> Result<(), ConnectError> {
    let unread = |error: std::io::Error| ConnectError::NoResponse(client::go_io_error_text(&error));
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(unread)?;
    stream.flush().await.map_err(unread)?;
    let mut reader = BufReader::new(stream.take(HEAD_BYTES_MAX));
    let mut line = Vec::new();
    let mut first = None;
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line).await.map_err(unread)?;
        if line.last() != Some(&b'\n') {
            return Err(ConnectError::NoResponse("unexpected EOF".to_owned()));
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        if first.is_some() && text.is_empty() {
            break;
        }
        first.get_or_insert(text);
    }
    let (code, status) =
        status(&first.unwrap_or_default()).map_err(|error| ConnectError::NoResponse(error.to_string()))?;
    if code != 200 {
        let message = format!("proxy error from {proxy} while dialing {target}, code {code}: {status}");
        return Err(ConnectError::Message(message));
    }
    // The target waits for the client's first bytes. So bytes that are buffered here come from the proxy and
    // must not be mistaken for the target's.
    match reader.buffer().len() {
        0 => Ok(()),
        more => {
            let message =
                format!("unexpected {more} bytes of buffered data from CONNECT proxy {}", quote(proxy));
            Err(ConnectError::Message(message))
        }
    }
}

/// Parses the status code and reason of the status line.
///
/// # Errors
/// The line is malformed; in the wording of Go's `net/http`.
fn status(line: &str) -> Result<(u16, ForeignText), Error> {
    let (version, status) = line
        .split_once(' ')
        .ok_or_else(|| Error::dial(format!("malformed HTTP response {}", ForeignText::new(line).quoted())))?;
    let status = status.trim_start_matches(' ');
    let code = status.split(' ').next().unwrap_or_default();
    let digits = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    let number = code.parse().ok().filter(|_| digits);
    let number = number.ok_or_else(|| {
        Error::dial(format!("malformed HTTP status code {}", ForeignText::new(code).quoted()))
    })?;
    let numbered = |rest: &str| matches!(rest.as_bytes(), [b'0'..=b'9', b'.', b'0'..=b'9']);
    if version.strip_prefix("HTTP/").is_some_and(numbered) {
        Ok((number, status.into()))
    } else {
        Err(Error::dial(format!("malformed HTTP version {}", ForeignText::new(version).quoted())))
    }
}

#[cfg(test)]
mod tests;
