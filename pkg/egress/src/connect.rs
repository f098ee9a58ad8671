//! HTTP CONNECT: a proxy is asked for a connection to somebody else, and gets out of the way (RFC 9110, 9.3.6).

use std::time::Duration;

use apimachinery::go_quote::quote;
use client::Io;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::Error;

/// How long a proxy may take to say that it has connected, or has not.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How long the head of its answer may be, in bytes. Upstream reads a megabyte, which nobody needs to say yes or no.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// Why there is no connection.
enum ConnectError {
    /// No answer came that could be read.
    Unread(String),
    /// In words for clients.
    Said(String),
}

/// Asks the proxy at the other end of a stream for a connection to `target`, whose bytes the stream then is. `proxy`
/// is what errors call the proxy.
///
/// # Errors
/// In upstream's words.
pub(crate) async fn through(
    mut stream: Box<dyn Io>,
    proxy: &str,
    target: &str,
) -> Result<Box<dyn Io>, Error> {
    let asked = timeout(ANSWER_MAX, ask(&mut stream, proxy, target)).await;
    let asked = asked.unwrap_or_else(|_| Err(ConnectError::Unread("i/o timeout".to_owned())));
    match asked {
        Ok(()) => Ok(stream),
        Err(ConnectError::Said(why)) => Err(Error::Dial(why)),
        Err(ConnectError::Unread(why)) => Err(Error::Dial(format!(
            "reading HTTP response from CONNECT to {target} via proxy {proxy} failed: {why}"
        ))),
    }
}

async fn ask(stream: &mut Box<dyn Io>, proxy: &str, target: &str) -> Result<(), ConnectError> {
    let unread = |error: std::io::Error| ConnectError::Unread(client::words(&error));
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
            return Err(ConnectError::Unread("unexpected EOF".to_owned()));
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        if first.is_some() && text.is_empty() {
            break;
        }
        first.get_or_insert(text);
    }
    let (code, status) =
        status(&first.unwrap_or_default()).map_err(|error| ConnectError::Unread(error.to_string()))?;
    if code != 200 {
        let why = format!("proxy error from {proxy} while dialing {target}, code {code}: {status}");
        return Err(ConnectError::Said(why));
    }
    // Whoever is behind a proxy waits to be spoken to, so these are the proxy's own words, which must not be taken for
    // somebody else's.
    match reader.buffer().len() {
        0 => Ok(()),
        more => {
            let why = format!("unexpected {more} bytes of buffered data from CONNECT proxy {}", quote(proxy));
            Err(ConnectError::Said(why))
        }
    }
}

/// Code and status of an answer's first line.
///
/// # Errors
/// It is none, in the words of Go's `net/http`.
fn status(line: &str) -> Result<(u16, String), Error> {
    let (version, status) = line
        .split_once(' ')
        .ok_or_else(|| Error::Dial(format!("malformed HTTP response {}", quote(line))))?;
    let status = status.trim_start_matches(' ');
    let code = status.split(' ').next().unwrap_or_default();
    let digits = code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_digit());
    let number = code.parse().ok().filter(|_| digits);
    let number = number.ok_or_else(|| Error::Dial(format!("malformed HTTP status code {}", quote(code))))?;
    let numbered = |rest: &str| matches!(rest.as_bytes(), [b'0'..=b'9', b'.', b'0'..=b'9']);
    if version.strip_prefix("HTTP/").is_some_and(numbered) {
        Ok((number, status.to_owned()))
    } else {
        Err(Error::Dial(format!("malformed HTTP version {}", quote(version))))
    }
}

#[cfg(test)]
mod tests;
