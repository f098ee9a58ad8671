//! Marks in objects that encode the due time of the write. Watches find them in the bytes without decoding
//! the object.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Prefix of a mark; 16 hexadecimal digits follow, nanoseconds since the start of the run.
const PREFIX: &[u8] = b"apibench-at-";
/// Length of a mark.
const LENGTH: usize = PREFIX.len() + 16;
/// Number of marks that a watch remembers, so that an object that is sent again for another reason is not
/// counted.
const REMEMBERED: usize = 48;

/// Returns the mark of a write that was due at `due`.
pub(crate) fn mark(start: Instant, due: Instant) -> String {
    let nanos = due.saturating_duration_since(start).as_nanos();
    format!("apibench-at-{nanos:016x}")
}

/// Finds marks in the bytes of one watch, even across chunk boundaries.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    tail: Vec<u8>,
    seen: VecDeque<u64>,
}

impl Finder {
    /// Calls `on_mark` with the time of each new mark since the start of the run.
    pub(crate) fn push(&mut self, piece: &[u8], mut on_mark: impl FnMut(Duration)) {
        let tail_length = self.tail.len();
        if tail_length > 0 {
            // A mark that started in the last chunk ends within the first bytes of this one.
            self.tail.extend_from_slice(piece.get(..LENGTH.min(piece.len())).unwrap_or_default());
            let joined = std::mem::take(&mut self.tail);
            self.scan(&joined, tail_length, &mut on_mark);
        }
        self.scan(piece, piece.len(), &mut on_mark);
        self.tail = piece.get(piece.len().saturating_sub(LENGTH - 1)..).unwrap_or_default().to_vec();
    }

    /// Reports the marks that start before `end`.
    fn scan(&mut self, bytes: &[u8], end: usize, on_mark: &mut impl FnMut(Duration)) {
        for at in memchr::memmem::find_iter(bytes, PREFIX).take_while(|at| *at < end) {
            let Some(digits) = bytes.get(at + PREFIX.len()..at + LENGTH) else { continue };
            let Ok(digits) = std::str::from_utf8(digits) else { continue };
            let Ok(nanos) = u64::from_str_radix(digits, 16) else { continue };
            if self.seen.contains(&nanos) {
                continue;
            }
            if self.seen.len() == REMEMBERED {
                self.seen.pop_front();
            }
            self.seen.push_back(nanos);
            on_mark(Duration::from_nanos(nanos));
        }
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "instants to compare")]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_across_chunk_boundaries() {
        let start = Instant::now();
        let marks: Vec<String> = [5, 70_000].map(|ms| mark(start, start + Duration::from_millis(ms))).into();
        let bytes = format!("xx{}yy{}{}zz", marks[0], marks[1], marks[0]);
        for cut in 0..bytes.len() {
            let mut finder = Finder::default();
            let mut marks_found = Vec::new();
            let (head, tail) = bytes.as_bytes().split_at(cut);
            finder.push(head, |at| marks_found.push(at.as_millis()));
            finder.push(tail, |at| marks_found.push(at.as_millis()));
            assert_eq!(marks_found, [5, 70_000], "cut at {cut}");
        }
    }
}
