//! Rate limit for log lines of one kind.

use std::sync::{Mutex, PoisonError};

/// Maximum number of lines in a burst.
const BURST: i64 = 32;

/// Limit for log lines that a client or stored data can cause: 32 lines in a burst, and one per second after it.
#[derive(Debug, Default)]
pub struct LineLimit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Lines that may not be written now.
    used: i64,
    /// Time of the latest call, in seconds.
    last: i64,
    /// Number of refused lines since the latest admitted one.
    refused: u64,
}

impl LineLimit {
    /// Requests a line. Returns the number of lines that were refused since the preceding admitted one; `None` if
    /// this line is refused, too. `now` is a time in seconds since any fixed one.
    pub fn admit(&self, now: i64) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was set back neither adds nor removes lines.
        let passed = now.saturating_sub(state.last).max(0);
        state.used = state.used.saturating_sub(passed).max(0);
        state.last = now;
        if state.used >= BURST {
            state.refused = state.refused.saturating_add(1);
            return None;
        }
        state.used = state.used.saturating_add(1);
        Some(std::mem::take(&mut state.refused))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_burst_are_counted() {
        let limit = LineLimit::default();
        let admitted = (0..100).filter(|_| limit.admit(1_000).is_some()).count();
        assert_eq!(admitted, 32);
        assert_eq!(limit.admit(1_001), Some(68));
        assert_eq!(limit.admit(1_001), None);
        assert_eq!(limit.admit(1_002), Some(1));
    }

    #[test]
    fn clock_set_back_keeps_the_limit() {
        let limit = LineLimit::default();
        assert_eq!((0..100).filter(|second| limit.admit(1_000 - second).is_some()).count(), 32);
        assert!(limit.admit(902).is_some());
    }
}
