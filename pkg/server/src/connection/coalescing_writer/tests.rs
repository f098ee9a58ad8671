//! Tests of write coalescing, with a stream that records its input.
#![allow(clippy::unwrap_used)]

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};

use super::*;

/// Accepts writes up to its capacity; beyond that it acts like a client that does not read.
struct Client {
    writes: Vec<Vec<u8>>,
    flushes: usize,
    capacity: usize,
    disconnected: bool,
    /// Task that waits for input.
    reader: Option<Waker>,
}

impl AsyncRead for Client {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl AsyncWrite for Client {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.disconnected {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if self.capacity == 0 {
            return Poll::Pending;
        }
        let count = buf.len().min(self.capacity);
        self.capacity -= count;
        self.writes.push(buf[..count].to_vec());
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn gathered(gathers: bool, capacity: usize) -> CoalescingWriter<Client> {
    CoalescingWriter::new(
        Client { writes: Vec::new(), flushes: 0, capacity, disconnected: false, reader: None },
        gathers,
    )
}

/// Writes and flushes a frame like HTTP/2. Returns true if it was accepted.
fn frame(output: &mut CoalescingWriter<Client>, cx: &mut Context<'_>, bytes: &[u8]) -> bool {
    let wrote = Pin::new(&mut *output).poll_write(cx, bytes);
    let flushed = Pin::new(output).poll_flush(cx);
    matches!(wrote, Poll::Ready(Ok(n)) if n == bytes.len()) && matches!(flushed, Poll::Ready(Ok(())))
}

fn sizes(output: &CoalescingWriter<Client>) -> Vec<usize> {
    output.lock().stream.writes.iter().map(Vec::len).collect()
}

/// Connection that writes a frame at every poll, with its poll count.
fn talkative(
    output: &CoalescingWriter<Client>,
) -> (impl Future<Output = ()> + Unpin + use<>, Arc<AtomicUsize>) {
    let mut writer = output.clone();
    let polls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&polls);
    let connection = poll_fn(move |cx| {
        counted.fetch_add(1, SeqCst);
        assert!(frame(&mut writer, cx, b"event"));
        Poll::Pending
    });
    (connection, polls)
}

#[test]
fn frames_of_one_poll_are_sent_together() {
    let mut output = gathered(true, usize::MAX);
    output.lock().reads.take();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    let (mut connection, polls) = talkative(&output);
    assert!(output.poll_driving(Pin::new(&mut connection), &mut cx).is_pending());
    assert_eq!((polls.load(SeqCst), wakes.0.load(SeqCst)), (0, 1), "others have their turn first");
    assert!(frame(&mut output, &mut cx, b"another"));
    assert!(output.poll_driving(Pin::new(&mut connection), &mut cx).is_pending());
    assert_eq!((sizes(&output), wakes.0.load(SeqCst)), (vec![7 + 5], 1));
    let output = output.lock();
    assert_eq!((output.stream.flushes, output.buffer.capacity()), (1, 0));
}

#[test]
fn input_is_not_delayed() {
    let mut output = gathered(true, usize::MAX);
    output.lock().reads.take();
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    let (mut connection, polls) = talkative(&output);
    let read = Pin::new(&mut output).poll_read(&mut cx, &mut ReadBuf::new(&mut [0; 8]));
    assert!(read.is_pending());
    output.lock().stream.reader.take().unwrap().wake();
    assert_eq!(wakes.0.load(SeqCst), 1);
    assert!(output.poll_driving(Pin::new(&mut connection), &mut cx).is_pending());
    assert_eq!((sizes(&output), polls.load(SeqCst), wakes.0.load(SeqCst)), (vec![5], 1, 1));
}

#[test]
fn idle_connection_is_not_polled() {
    let output = gathered(true, usize::MAX);
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let polled = output.poll_driving(pin!(std::future::pending::<()>()), &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    let flushes = output.lock().stream.flushes;
    assert_eq!((wakes.0.load(SeqCst), flushes), (0, 0));
}

#[test]
fn unread_output_blocks_writer() {
    let mut output = gathered(true, 1000);
    let mut cx = Context::from_waker(Waker::noop());
    let bytes: Vec<u8> = (0..BUFFER_BYTES_MAX).map(|at| at as u8).collect();
    assert!(frame(&mut output, &mut cx, &bytes));
    assert!(!frame(&mut output, &mut cx, b"more"));
    assert!(output.poll_driving(pin!(std::future::pending::<()>()), &mut cx).is_pending());
    assert_eq!(sizes(&output), [1000]);
    output.lock().stream.capacity = usize::MAX;
    assert!(frame(&mut output, &mut cx, b"more"), "there is room again");
    assert!(Pin::new(&mut output).poll_shutdown(&mut cx).is_ready());
    assert_eq!(output.lock().stream.writes.concat(), [&bytes[..], b"more"].concat());
}

#[test]
fn full_buffer_is_sent_immediately() {
    let mut output = gathered(true, usize::MAX);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(frame(&mut output, &mut cx, &vec![0; BUFFER_BYTES_MAX]));
    assert!(output.poll_driving(pin!(std::future::pending::<()>()), &mut cx).is_pending());
    assert_eq!(sizes(&output), [BUFFER_BYTES_MAX]);
}

#[test]
fn large_output_yields() {
    for gathers in [true, false] {
        let mut output = gathered(gathers, usize::MAX);
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let mut cx = Context::from_waker(&waker);
        let piece = vec![0; BUFFER_BYTES_MAX];
        let mut frames = 0;
        while frame(&mut output, &mut cx, &piece) {
            frames += 1;
        }
        assert!((4..=5).contains(&frames), "{frames}");
        assert_eq!(wakes.0.load(SeqCst), 1, "it goes on after the others");
        assert!(frame(&mut output, &mut cx, &piece));
    }
}

#[test]
fn flush_is_immediate_without_coalescing() {
    let mut output = gathered(false, usize::MAX);
    assert!(frame(&mut output, &mut Context::from_waker(Waker::noop()), b"answer"));
    let flushes = output.lock().stream.flushes;
    assert_eq!((sizes(&output), flushes), (vec![6], 1));
}

#[test]
fn shutdown_and_client_eof_are_passed_on() {
    let mut output = gathered(true, usize::MAX);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(matches!(output.poll_driving(pin!(std::future::ready(7)), &mut cx), Poll::Ready(Ok(7))));
    output.lock().stream.disconnected = true;
    assert!(frame(&mut output, &mut cx, b"event"));
    let mut idle = pin!(std::future::pending::<()>());
    assert!(output.poll_driving(idle.as_mut(), &mut cx).is_pending(), "others have their turn");
    assert!(matches!(output.poll_driving(idle, &mut cx), Poll::Ready(Err(_))));
}
