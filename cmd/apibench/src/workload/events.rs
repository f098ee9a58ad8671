//! Watch streams: connecting, opening, and splitting into events.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::Context;
use crate::client::{Call, Client, Windows};
use crate::error::{Error, Result};

/// Maximum event size in bytes; longer ones are errors.
const MAX_EVENT: usize = 16 << 20;

/// Opens connections for `watches`, with the configured number of streams each.
pub(super) async fn connect(context: &Context, watches: u64, windows: Windows) -> Result<Client> {
    let connections = watches.div_ceil(context.settings.streams);
    Client::connect(&context.target, connections, windows, context.time_limit()).await
}

/// Opens a watch and checks the response status. Returns the event stream.
pub(super) async fn open(client: &Client, lane: usize, path: String) -> Result<Incoming> {
    let requested_path = path.clone();
    let response = client.start(lane, Call::get(path)).await?;
    match response.status().as_u16() {
        200 => Ok(response.into_body()),
        status => Err(Error::Wrong(format!("GET {requested_path}: wanted 200, got {status}"))),
    }
}

/// Returns the next chunk of a stream. An unexpected end is an error.
pub(super) async fn next_data(body: &mut Incoming) -> Result<Bytes> {
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            return Ok(data);
        }
    }
    Err(Error::Wrong("the server ended the stream".to_owned()))
}

/// Splits a stream into lines; each line is one event. Copies only lines that span chunks.
#[derive(Debug, Default)]
pub(super) struct Lines {
    partial: Vec<u8>,
}

impl Lines {
    /// Calls `each` with every line that `data` completes.
    pub(super) fn feed(&mut self, data: &[u8], mut each: impl FnMut(&[u8])) -> Result<()> {
        let mut rest = data;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(end);
            if self.partial.is_empty() {
                each(line);
            } else {
                self.partial.extend_from_slice(line);
                each(&self.partial);
                self.partial.clear();
            }
            rest = behind.get(1..).unwrap_or_default();
        }
        self.partial.extend_from_slice(rest);
        if self.partial.len() > MAX_EVENT {
            return Err(Error::Wrong(format!("an event is longer than {MAX_EVENT} bytes")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expected: &[&str]) {
        let mut lines = Lines::default();
        let mut actual = Vec::new();
        for piece in pieces {
            lines
                .feed(piece.as_bytes(), |line| actual.push(String::from_utf8_lossy(line).into_owned()))
                .unwrap();
        }
        assert_eq!(actual, expected);
    }

    #[test]
    fn events_are_reassembled_from_chunks() {
        check(&["a\nbc\n"], &["a", "bc"]);
        check(&["a", "b", "\nc", "\n", "d"], &["ab", "c"]);
        check(&["a\nb", "c\nd\n"], &["a", "bc", "d"]);
        check(&[], &[]);
    }

    #[test]
    fn endless_event_is_rejected() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; MAX_EVENT];
        lines.feed(&piece, |_| {}).unwrap();
        assert!(lines.feed(b"x", |_| {}).is_err());
    }
}
