//! Audit buffers: response bodies while they are sent, and request objects.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;

/// Memory budget of the buffers, shared by all requests.
pub(super) struct BufferBudget(AtomicUsize);

impl BufferBudget {
    /// Creates a budget in bytes.
    pub(super) fn of(bytes: usize) -> Self {
        BufferBudget(AtomicUsize::new(bytes))
    }

    fn reserve(&self, bytes: usize) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |available| available.checked_sub(bytes)).is_ok()
    }

    fn release(&self, bytes: usize) {
        self.0.fetch_add(bytes, Relaxed);
    }
}

/// Reservation of memory, released when dropped.
pub(super) struct BufferReservation {
    bytes: usize,
    memory: Arc<BufferBudget>,
}

impl BufferReservation {
    /// Reserves this many bytes, if available.
    pub(super) fn of(memory: &Arc<BufferBudget>, bytes: usize) -> Option<Self> {
        memory.reserve(bytes).then(|| BufferReservation { bytes, memory: Arc::clone(memory) })
    }
}

impl Drop for BufferReservation {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

/// Collected pieces of a body.
pub(super) struct BodyBuffer {
    chunks: Vec<Bytes>,
    /// Remaining size limit in bytes; `None` if the body has exceeded it.
    remaining: Option<usize>,
    /// Number of collected bytes.
    bytes: usize,
    memory: Arc<BufferBudget>,
}

impl BodyBuffer {
    /// Creates a buffer with a size limit and a memory budget. If either is exceeded, the body is dropped.
    pub(super) fn new(bytes_max: usize, memory: &Arc<BufferBudget>) -> Self {
        BodyBuffer { chunks: Vec::new(), remaining: Some(bytes_max), bytes: 0, memory: Arc::clone(memory) }
    }

    pub(super) fn push(&mut self, piece: &Bytes) {
        self.remaining = self.remaining.and_then(|remaining| remaining.checked_sub(piece.len()));
        if self.remaining.is_none() || !self.memory.reserve(piece.len()) {
            self.remaining = None;
            self.chunks.clear();
            self.memory.release(std::mem::take(&mut self.bytes));
            return;
        }
        self.bytes = self.bytes.saturating_add(piece.len());
        self.chunks.push(piece.clone());
    }

    /// Takes the whole body; `None` if it exceeded a limit.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        self.remaining?;
        let mut pieces = std::mem::take(&mut self.chunks);
        match pieces.len() {
            1 => pieces.pop(),
            _ => Some(pieces.concat().into()),
        }
    }
}

impl Drop for BodyBuffer {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bodies_above_limits_are_dropped() {
        let budget = Arc::new(BufferBudget::of(10));
        let check = |max: usize, pieces: &[&'static str], expected: Option<&str>| {
            let mut buffer = BodyBuffer::new(max, &budget);
            pieces.iter().for_each(|piece| buffer.push(&Bytes::from_static(piece.as_bytes())));
            assert_eq!(buffer.take().as_deref(), expected.map(str::as_bytes), "{max} {pieces:?}");
        };
        check(5, &["abc", "de"], Some("abcde"));
        check(5, &["abc", "def", "g"], None);
        let mut second_buffer = BodyBuffer::new(100, &budget);
        second_buffer.push(&Bytes::from_static(b"12345678"));
        check(5, &["abc"], None);
        drop(second_buffer);
        check(100, &["1234567890"], Some("1234567890"));
        assert!(BufferReservation::of(&budget, 11).is_none() && BufferReservation::of(&budget, 10).is_some());
        assert_eq!(budget.0.load(Relaxed), 10, "everything is released");
    }
}
