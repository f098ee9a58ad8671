//! Output of a connection, gathered before it is sent.
//!
//! HTTP/2 flushes after every frame of data. When an event reaches fifty watches of one connection,
//! that would be fifty TLS records, fifty system calls and fifty packets. So a flush sends nothing
//! here, and a connection that one of its streams has woken first goes to the end of the queue of tasks that can run: by
//! the time that it looks, each of its streams that was ready has said what it has to say, and one look is enough to take
//! all of it and send it at once. What comes from the client does not wait.
//!
//! A client that asks for much can take more at a time than others should have to wait for: encrypting and sending
//! some megabytes keeps a thread busy for milliseconds. So a connection gives way after [`TURN_BYTES`].

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::wake_gate::WakeFlag;

/// So much is sent without waiting for more, and nothing is taken on top of it while the client does
/// not read. Four TLS records.
const GATHERED_BYTES_MAX: usize = 64 * 1024;

/// So much of one connection is sent before others have their turn: a fraction of a millisecond's work.
const YIELD_AFTER_BYTES: usize = 4 * GATHERED_BYTES_MAX;

/// A stream whose output is gathered. Clones are the same stream: the connection writes to one and
/// [`Gathered::poll_driving`] sends from the other. Both live in one task, so nobody waits for the lock.
pub(crate) struct CoalescingWriter<S>(Arc<Mutex<Output<S>>>);

/// What was written, on its way to the client.
struct Output<S> {
    stream: S,
    /// Freed when it is sent: most connections are idle most of the time.
    waiting: Vec<u8>,
    /// How much of `waiting` the stream has taken.
    taken: usize,
    /// How much was sent the last time: about as much is to be expected again.
    last: usize,
    /// Whether a flush may wait for more to come.
    gathers: bool,
    /// Whether the stream may still hold something back.
    unflushed: bool,
    /// Whether other tasks have had their turn since the connection was woken.
    waited: bool,
    /// How much was sent since others had their turn.
    sent: usize,
    /// Whether something has come from the client.
    reads: Arc<WakeFlag>,
    /// Calls `reads`.
    read_waker: Waker,
}

impl<S> Clone for CoalescingWriter<S> {
    fn clone(&self) -> Self {
        CoalescingWriter(Arc::clone(&self.0))
    }
}

impl<S> CoalescingWriter<S> {
    /// Nothing written yet. Without `gathers` a flush is a flush: HTTP/1.1 knows best when to, and may
    /// hand its stream on to someone who has never heard of [`Gathered::poll_driving`].
    pub(crate) fn new(stream: S, gathers: bool) -> Self {
        let (waiting, taken) = (Vec::new(), 0);
        let (last, unflushed, waited, sent) = (0, false, false, 0);
        let reads = WakeFlag::new(true);
        let read_waker = Waker::from(Arc::clone(&reads));
        let output =
            Output { stream, waiting, taken, last, gathers, unflushed, waited, sent, reads, read_waker };
        CoalescingWriter(Arc::new(Mutex::new(output)))
    }

    fn lock(&self) -> MutexGuard<'_, Output<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: AsyncWrite + Unpin> Output<S> {
    fn room(&self) -> usize {
        GATHERED_BYTES_MAX.saturating_sub(self.waiting.len())
    }

    /// Hands what is waiting to the stream, and has the stream send it. Gives way where enough was sent.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.sent >= YIELD_AFTER_BYTES {
            self.sent = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        while let Some(rest @ [_, ..]) = self.waiting.get(self.taken..) {
            let taken = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if taken == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.taken += taken;
        }
        if !self.waiting.is_empty() {
            self.last = self.waiting.len();
            self.sent = self.sent.saturating_add(self.last);
        }
        (self.waiting, self.taken) = (Vec::new(), 0);
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.unflushed = false;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> CoalescingWriter<S> {
    /// Polls a connection that writes to a clone of this, after other tasks have had their turn, and sends what it has
    /// written.
    ///
    /// # Errors
    /// Why nothing can be sent any more.
    pub(crate) fn poll_driving<C: Future>(
        &self,
        connection: Pin<&mut C>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<C::Output>> {
        let mut output = self.lock();
        output.waited = output.gathers && !output.reads.take() && !output.waited;
        if output.waited {
            // To the end of the queue of tasks that can run now.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        drop(output);
        if let Poll::Ready(ended) = connection.poll(cx) {
            return Poll::Ready(Ok(ended));
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
        if output.room() == 0 {
            ready!(output.poll_send(cx))?;
        }
        let before = output.waiting.len();
        if before == 0 {
            let written = bufs.iter().map(|buf| buf.len()).sum::<usize>();
            let expected = written.max(output.last).min(GATHERED_BYTES_MAX);
            output.waiting.reserve_exact(expected);
        }
        for buf in bufs {
            let fits = buf.len().min(output.room());
            output.waiting.extend_from_slice(buf.get(..fits).unwrap_or_default());
        }
        output.unflushed = true;
        Poll::Ready(Ok(output.waiting.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// What is gathered [`Gathered::poll_driving`] will send.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut output = self.lock();
        if output.gathers { Poll::Ready(Ok(())) } else { output.poll_send(cx) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut output = self.lock();
        ready!(output.poll_send(cx))?;
        Pin::new(&mut output.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
