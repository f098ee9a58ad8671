//! The clock as an argument: pure code asks a [`Clock`] that it was given, so
//! that tests decide what time it is.

use apimachinery::time::UnixTime;
use std::sync::{Mutex, PoisonError};

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// The current wall-clock time.
    fn now(&self) -> UnixTime;
}

/// A clock that stands still until it is told to move.
#[derive(Debug, Default)]
pub struct TestClock(Mutex<UnixTime>);

impl TestClock {
    /// A clock that shows `now`.
    pub fn at(now: UnixTime) -> Self {
        Self(Mutex::new(now))
    }

    /// Moves the clock to `now`, forwards or backwards.
    pub fn set(&self, now: UnixTime) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Moves the clock forward by whole seconds.
    pub fn advance_seconds(&self, seconds: u32) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now.seconds = now.seconds.saturating_add(i64::from(seconds));
    }
}

impl Clock for TestClock {
    fn now(&self) -> UnixTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_clock_moves_only_when_told() {
        let clock = TestClock::at(UnixTime { seconds: 100, nanos: 5 });
        assert_eq!(clock.now(), clock.now());
        clock.advance_seconds(20);
        assert_eq!(clock.now(), UnixTime { seconds: 120, nanos: 5 });
        clock.set(UnixTime::default());
        assert_eq!(clock.now(), UnixTime { seconds: 0, nanos: 0 });
    }
}
