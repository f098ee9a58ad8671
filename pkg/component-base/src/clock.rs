//! Injected clock: pure code takes a [`Clock`] as an argument, so that tests control the time.

use apimachinery::time::UnixTime;
use std::sync::{Mutex, PoisonError};

/// Source of the current time.
pub trait Clock: Send + Sync {
    /// The current wall-clock time.
    fn now(&self) -> UnixTime;
}

/// Clock that only moves when a test moves it.
#[derive(Debug, Default)]
pub struct TestClock(Mutex<UnixTime>);

impl TestClock {
    /// Creates a clock that shows `now`.
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
    fn test_clock_moves_only_explicitly() {
        let clock = TestClock::at(UnixTime { seconds: 100, nanos: 5 });
        assert_eq!(clock.now(), clock.now());
        clock.advance_seconds(20);
        assert_eq!(clock.now(), UnixTime { seconds: 120, nanos: 5 });
        clock.set(UnixTime::default());
        assert_eq!(clock.now(), UnixTime { seconds: 0, nanos: 0 });
    }
}
