//! Stream in front of the HTTP/2 parser that bounds the memory of header blocks.
//!
//! The parser keeps buffers of the size of a connection's largest blocks: the buffer for Huffman codes, and, for each
//! pseudo-header in its dynamic table, the read buffer that contained it. A client could retain 100 MiB per connection that way,
//! and even small heads between bodies would retain several read buffers of 8 KiB. So the parser gets all blocks decoded: without
//! Huffman code and without additions to its table. The filter's own table copies its entries.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

pub(crate) mod filter;
mod hpack;
mod huffman;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::peer::Protocol;
use crate::limits::incomplete_heads::IncompleteHead;
use filter::Filter;

/// Stream of an HTTP/2 connection whose header blocks are decoded. Passes on other connections unchanged.
pub(crate) struct FilteredStream<S> {
    stream: S,
    filter: Option<Box<Filter>>,
    incomplete_head: IncompleteHead,
}

impl<S> FilteredStream<S> {
    pub(crate) fn new(stream: S, protocol: Protocol, incomplete_head: IncompleteHead) -> Self {
        let filter = (protocol == Protocol::Http2).then(Box::default);
        FilteredStream { stream, filter, incomplete_head }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FilteredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let FilteredStream { stream, filter, incomplete_head } = &mut *self;
        let Some(filter) = filter else { return Pin::new(stream).poll_read(cx, buf) };
        let polled = poll_filtered(Pin::new(stream), filter, cx, buf);
        incomplete_head.set(filter.held_bytes());
        polled
    }
}

fn poll_filtered<S: AsyncRead>(
    mut stream: Pin<&mut S>,
    filter: &mut Filter,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    loop {
        let is_rejected = filter.is_rejected();
        let output = filter.next_output(buf.remaining());
        if is_rejected || !output.is_empty() {
            buf.put_slice(output);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(stream.as_mut().poll_read(cx, buf))?;
        let received = buf.filled().get(before..).unwrap_or_default();
        if received.is_empty() {
            return Poll::Ready(Ok(()));
        }
        let passed = filter.accept(received);
        buf.set_filled(before.saturating_add(passed));
        if passed > 0 {
            return Poll::Ready(Ok(()));
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FilteredStream<S> {
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

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
