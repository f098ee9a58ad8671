//! Stream of a connection to a member that sends the frames of a call together.
//!
//! HTTP/2 flushes after each frame that is ready: the headers of a call, its message, and its end would be three system
//! calls and three packets, also for etcd. So the first flush is delayed until the connection's task has passed the run
//! queue once, when the rest of the call and other calls have added their frames.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::Io;

/// Buffered bytes that are sent without delay. No more output is accepted until they are.
const BUFFER_BYTES_MAX: usize = 64 * 1024;

/// Stream with delayed flushes.
pub(crate) struct CoalescedStream {
    stream: Box<dyn Io>,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that the stream has accepted.
    sent_len: usize,
    /// True if the flush of `buffer` was delayed.
    delayed: bool,
}

impl CoalescedStream {
    pub(crate) fn new(stream: Box<dyn Io>) -> Self {
        CoalescedStream { stream, buffer: Vec::new(), sent_len: 0, delayed: false }
    }

    /// Writes the buffer to the stream.
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest @ [_, ..]) = self.buffer.get(self.sent_len..) {
            let count = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.sent_len += count;
        }
        self.buffer.clear();
        self.sent_len = 0;
        self.delayed = false;
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for CoalescedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for CoalescedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.buffer.len() >= BUFFER_BYTES_MAX {
            ready!(self.poll_send(cx))?;
        }
        let before = self.buffer.len();
        for buf in bufs {
            let count = buf.len().min(BUFFER_BYTES_MAX.saturating_sub(self.buffer.len()));
            self.buffer.extend_from_slice(buf.get(..count).unwrap_or_default());
        }
        Poll::Ready(Ok(self.buffer.len() - before))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.buffer.is_empty() && !self.delayed {
            self.delayed = true;
            // Moves the task to the end of the run queue.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};
    use std::task::Waker;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Stream that records each write.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<Vec<u8>>>>);

    impl AsyncRead for Recorder {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Recorder {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
            self.0.lock().unwrap().push(buf.to_vec());
            Poll::Ready(Ok(buf.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn recorded() -> (Recorder, CoalescedStream) {
        let recorder = Recorder::default();
        (recorder.clone(), CoalescedStream::new(Box::new(recorder)))
    }

    fn lengths(recorder: &Recorder) -> Vec<usize> {
        recorder.0.lock().unwrap().iter().map(Vec::len).collect()
    }

    #[tokio::test]
    async fn frames_of_one_pass_share_a_write() {
        let (recorder, mut stream) = recorded();
        let mut cx = Context::from_waker(Waker::noop());
        stream.write_all(b"headers").await.unwrap();
        assert!(Pin::new(&mut stream).poll_flush(&mut cx).is_pending());
        stream.write_all(b"message").await.unwrap();
        assert!(Pin::new(&mut stream).poll_flush(&mut cx).is_ready());
        assert_eq!(*recorder.0.lock().unwrap(), [b"headersmessage".to_vec()]);
        stream.write_all(b"next").await.unwrap();
        stream.flush().await.unwrap();
        assert_eq!(lengths(&recorder), [14, 4]);
    }

    #[tokio::test]
    async fn full_buffer_is_sent_without_flush() {
        let (recorder, mut stream) = recorded();
        stream.write_all(&[0; BUFFER_BYTES_MAX + 1]).await.unwrap();
        assert_eq!(lengths(&recorder), [BUFFER_BYTES_MAX]);
        stream.shutdown().await.unwrap();
        assert_eq!(lengths(&recorder), [BUFFER_BYTES_MAX, 1]);
    }
}
