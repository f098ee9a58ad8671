//! Write coalescing for a connection.
//!
//! HTTP/2 flushes after every data frame. An event for fifty watches of one connection would cost fifty TLS
//! records, fifty system calls and fifty packets. So a flush sends nothing here. A connection that was woken
//! by a stream first moves to the end of the run queue. When it is polled, each ready stream has written its
//! data, and all of it is sent at once. Input from the client is not delayed.
//!
//! Encrypting and sending some megabytes keeps a thread busy for milliseconds. So a connection yields after
//! [`YIELD_AFTER_BYTES`], for the sake of other connections.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::wake_gate::WakeFlag;

/// Buffer size: at this size, output is sent without waiting for more. No more output is accepted while the
/// client does not read. Equals four TLS records.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Output of one connection before it yields: the work of a fraction of a millisecond.
const YIELD_AFTER_BYTES: usize = 4 * BUFFER_BYTES_MAX;

/// Stream with coalesced output. Clones share the stream: the connection writes to one, and
/// [`CoalescingWriter::poll_driving`] sends from the other. Both live in one task, so the lock is never contended.
pub(crate) struct CoalescingWriter<S>(Arc<Mutex<Output<S>>>);

/// Buffered output.
struct Output<S> {
    stream: S,
    /// Freed after sending, because most connections are idle.
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that the stream has accepted.
    sent_len: usize,
    /// Size of the previous output, as the expected size of the next.
    last_len: usize,
    /// True if a flush may be delayed to collect more output.
    coalescing: bool,
    /// True if the stream may have buffered bytes.
    unflushed: bool,
    /// True if the connection has yielded since it was woken.
    yielded: bool,
    /// Number of bytes sent since the connection last yielded.
    sent: usize,
    /// Set when input from the client is available.
    reads: Arc<WakeFlag>,
    /// Wakes `reads`.
    read_waker: Waker,
}

impl<S> Clone for CoalescingWriter<S> {
    fn clone(&self) -> Self {
        CoalescingWriter(Arc::clone(&self.0))
    }
}

impl<S> CoalescingWriter<S> {
    /// Creates a stream without buffered output. Without `coalescing` each flush is passed on: HTTP/1.1 flushes
    /// at the right time, and may give its stream to code that does not call [`CoalescingWriter::poll_driving`].
    pub(crate) fn new(stream: S, coalescing: bool) -> Self {
        let buffer = Vec::new();
        let sent_len = 0;
        let last_len = 0;
        let unflushed = false;
        let yielded = false;
        let sent = 0;
        let reads = WakeFlag::new(true);
        let read_waker = Waker::from(Arc::clone(&reads));
        let output = Output {
            stream,
            buffer,
            sent_len,
            last_len,
            coalescing,
            unflushed,
            yielded,
            sent,
            reads,
            read_waker,
        };
        CoalescingWriter(Arc::new(Mutex::new(output)))
    }

    fn lock(&self) -> MutexGuard<'_, Output<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncWrite + Unpin> Output<S> {
    fn remaining_capacity(&self) -> usize {
        BUFFER_BYTES_MAX.saturating_sub(self.buffer.len())
    }

    /// Writes the buffer to the stream and flushes it. Yields after enough output.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.sent >= YIELD_AFTER_BYTES {
            self.sent = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while let Some(rest @ [_, ..]) = self.buffer.get(self.sent_len..) {
            let count = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent_len += count;
        }
        if !self.buffer.is_empty() {
            self.last_len = self.buffer.len();
            self.sent = self.sent.saturating_add(self.last_len);
        }
        (self.buffer, self.sent_len) = (Vec::new(), 0);
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.unflushed = false;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> CoalescingWriter<S> {
    /// Polls a connection that writes to a clone of this stream, after yielding to other tasks. Then sends
    /// the connection's output.
    ///
    /// # Errors
    /// The stream failed.
    pub(crate) fn poll_driving<C: Future>(
        &self,
        connection: Pin<&mut C>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<C::Output>> {
        let mut output = self.lock();
        output.yielded = output.coalescing && !output.reads.take() && !output.yielded;
        if output.yielded {
            // Moves to the end of the run queue.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        drop(output);
        if let Poll::Ready(result) = connection.poll(cx) {
            return Poll::Ready(Ok(result));
        }
        let mut output = self.lock();
        if output.unflushed {
            ready!(output.poll_send(cx))?;
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CoalescingWriter<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut output = self.lock();
        let Output { stream, reads, read_waker, .. } = &mut *output;
        reads.register(cx);
        Pin::new(stream).poll_read(&mut Context::from_waker(read_waker), buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CoalescingWriter<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut output = self.lock();
        if output.remaining_capacity() == 0 {
            ready!(output.poll_send(cx))?;
        }
        let before = output.buffer.len();
        if before == 0 {
            let length = bufs.iter().map(|buf| buf.len()).sum::<usize>();
            let capacity = length.max(output.last_len).min(BUFFER_BYTES_MAX);
            output.buffer.reserve_exact(capacity);
        }
        for buf in bufs {
            let count = buf.len().min(output.remaining_capacity());
            output.buffer.extend_from_slice(buf.get(..count).unwrap_or_default());
        }
        output.unflushed = true;
        Poll::Ready(Ok(output.buffer.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Does nothing for coalesced output; [`CoalescingWriter::poll_driving`] sends it.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut output = self.lock();
        if output.coalescing { Poll::Ready(Ok(())) } else { output.poll_send(cx) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut output = self.lock();
        ready!(output.poll_send(cx))?;
        Pin::new(&mut output.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
