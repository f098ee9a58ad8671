//! Strict reader in front of the HTTP/1.1 parser.
//!
//! The parser is lenient: it skips empty lines before a request, does not require `Host`, and uses the last
//! of several transfer codings. So it only receives input that has exactly one meaning ([`head`],
//! [`chunks`]), one request at a time.
//!
//! A rejected request ends the connection after the responses to the earlier requests. The parser sees the
//! end of its input there. The owner of the connection sends the rejection.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

pub(crate) mod chunks;
pub(crate) mod head;
pub(crate) mod large_head;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::peer::Peer;
use crate::limits::incomplete_heads::IncompleteHead;
use chunks::Chunks;
use head::{Framing, Head, HeadRejection};
use large_head::{PARSED_HEAD_BYTES_MAX, SplitHead};

/// Maximum size of a request's head in bytes, as in upstream: 1 MiB and the buffer of Go's server.
pub(crate) const HEAD_BYTES_MAX: usize = (1 << 20) + 4096;

/// Stream of checked requests.
pub(crate) struct StrictReader<S> {
    stream: S,
    peer: Arc<Peer>,
    state: ParseState,
    /// Input that was not passed on yet: an incomplete head, or bytes after a request.
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that were searched for the end of a head.
    scanned: usize,
    /// Number of requests that were passed on.
    request_count: u64,
    incomplete_head: IncompleteHead,
}

/// The part of the message that the next byte belongs to.
enum ParseState {
    Head,
    /// Number of bytes that belong to the request: its head and a body of known length.
    PassThrough(u64, Option<Chunks>),
    Chunks(Chunks),
    Rejected,
}

impl<S> StrictReader<S> {
    pub(crate) fn new(stream: S, peer: Arc<Peer>, incomplete_head: IncompleteHead) -> Self {
        StrictReader {
            stream,
            peer,
            state: ParseState::Head,
            buffer: Vec::new(),
            scanned: 0,
            request_count: 0,
            incomplete_head,
        }
    }

    /// Checks the buffered bytes for a complete head. Returns the next state if there is one.
    fn parse_head(&mut self) -> Option<ParseState> {
        let parsed = head::end(&self.buffer, self.scanned).and_then(|end| {
            self.scanned = self.buffer.len();
            match end {
                Some(end) if end <= HEAD_BYTES_MAX => {
                    let head = head::read(self.buffer.get(..end).unwrap_or_default())?;
                    let framing = head.framing;
                    Ok(Some((self.shrink_head(end, head)?, framing)))
                }
                None if self.buffer.len() <= HEAD_BYTES_MAX => Ok(None),
                _ => Err(HeadRejection::TooLarge),
            }
        });
        match parsed {
            Ok(None) => None,
            Ok(Some((end, framing))) => {
                self.request_count = self.request_count.wrapping_add(1);
                self.scanned = 0;
                let end = u64::try_from(end).unwrap_or(u64::MAX);
                Some(match framing {
                    Framing::Sized(length) => ParseState::PassThrough(end.saturating_add(length), None),
                    Framing::Chunked => ParseState::PassThrough(end, Some(Chunks::default())),
                })
            }
            Err(rejection) => {
                self.peer.reject(rejection);
                self.buffer = Vec::new();
                Some(ParseState::Rejected)
            }
        }
    }

    /// Passes on a large head through the peer, and replaces it by the fields that the parser evaluates. Returns the length
    /// of the head in the buffer.
    fn shrink_head(&mut self, end: usize, head: Head) -> Result<usize, HeadRejection> {
        if end <= PARSED_HEAD_BYTES_MAX {
            return Ok(end);
        }
        let (bytes, rest) = self.buffer.split_at(end.min(self.buffer.len()));
        let SplitHead { large, parsed } = large_head::split(bytes, head.long_query)?;
        self.peer.set_large_head(large);
        self.buffer = [&parsed, rest].concat();
        Ok(parsed.len())
    }

    /// Passes on buffered bytes, up to a limit.
    fn copy_buffered(&mut self, buf: &mut ReadBuf<'_>, bytes_max: usize) {
        let length = self.buffer.len().min(bytes_max).min(buf.remaining());
        let rest = self.buffer.split_off(length);
        buf.put_slice(&self.buffer);
        self.buffer = rest;
    }
}

impl<S: AsyncRead + Unpin> StrictReader<S> {
    /// Reads unchecked bytes into the buffer. Returns false at the end of the stream.
    fn poll_fill(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<bool>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let received = buf.filled().get(before..).unwrap_or_default();
        self.buffer.extend_from_slice(received);
        let nonempty = !received.is_empty();
        buf.set_filled(before);
        Poll::Ready(Ok(nonempty))
    }

    /// Reads up to a number of bytes, starting with the buffered ones.
    fn poll_pass(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        bytes_max: usize,
    ) -> Poll<io::Result<()>> {
        if !self.buffer.is_empty() {
            self.copy_buffered(buf, bytes_max);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let end = before.saturating_add(bytes_max).min(buf.filled().len());
        self.buffer.extend_from_slice(buf.filled().get(end..).unwrap_or_default());
        buf.set_filled(end);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StrictReader<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = self.poll_checked(cx, buf);
        let held_bytes = self.buffer.len();
        self.incomplete_head.set(held_bytes);
        polled
    }
}

impl<S: AsyncRead + Unpin> StrictReader<S> {
    /// Reads checked bytes.
    fn poll_checked(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self;
        loop {
            if this.peer.is_not_http1() {
                return this.poll_pass(cx, buf, usize::MAX);
            }
            match &mut this.state {
                ParseState::Rejected => return Poll::Ready(Ok(())),
                ParseState::Head if this.buffer.len() > this.scanned => {
                    // The next request is passed on after the response to the last one, so that a rejection
                    // follows that response.
                    ready!(this.peer.poll_response(cx, this.request_count));
                    if let Some(next) = this.parse_head() {
                        this.state = next;
                    }
                }
                ParseState::Head => {
                    if !ready!(this.poll_fill(cx, buf))? {
                        return Poll::Ready(Ok(()));
                    }
                }
                ParseState::PassThrough(0, chunks) => {
                    this.state = chunks.take().map_or(ParseState::Head, ParseState::Chunks)
                }
                ParseState::PassThrough(remaining, _) => {
                    let before = buf.remaining();
                    let bytes_max = usize::try_from(*remaining).unwrap_or(usize::MAX);
                    ready!(this.poll_pass(cx, buf, bytes_max))?;
                    let passed = before.saturating_sub(buf.remaining());
                    if let ParseState::PassThrough(remaining, _) = &mut this.state {
                        *remaining = remaining.saturating_sub(u64::try_from(passed).unwrap_or(u64::MAX));
                    }
                    return Poll::Ready(Ok(()));
                }
                ParseState::Chunks(chunks) if chunks.is_done() => this.state = ParseState::Head,
                ParseState::Chunks(chunks) => {
                    let readable_bytes = this.buffer.len().min(buf.remaining());
                    let readable = this.buffer.get(..readable_bytes).unwrap_or_default();
                    let passed = chunks.read(readable).map_err(invalid)?;
                    if passed > 0 {
                        this.copy_buffered(buf, passed);
                        return Poll::Ready(Ok(()));
                    }
                    if !ready!(this.poll_fill(cx, buf))? {
                        return Poll::Ready(Ok(()));
                    }
                }
            }
        }
    }
}

fn invalid(error: chunks::ChunkError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StrictReader<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Keeps the stream open if a rejection must still be sent.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.peer.rejection() {
            Some(_) => Poll::Ready(Ok(())),
            None => Pin::new(&mut self.stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
mod tests;
