//! Computes `Retry-After` for rejected requests (upstream's `DroppedRequestsTracker`). It grows with the
//! number of rejections: it doubles like TCP's back-off and shrinks by one second at a time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Maximum `Retry-After` in seconds.
const RETRY_AFTER_MAX: u64 = 32;
/// Number of levels above which levels without recent rejections are removed.
const LEVELS: usize = 64;

/// Recent rejections by priority level.
#[derive(Default)]
pub(super) struct DroppedRequestsTracker(Mutex<HashMap<String, Level>>);

impl DroppedRequestsTracker {
    /// Counts a rejection by a level and returns `Retry-After` in seconds. `now` is in seconds since 1970.
    pub(super) fn retry_after(&self, level: &str, now: i64) -> u64 {
        let mut levels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = levels.get_mut(level) {
            return level.record_dropped(now);
        }
        if levels.len() >= LEVELS {
            levels.retain(|_, level| level.current.0 + 2 * RETRY_AFTER_MAX as i64 >= now);
        }
        levels.entry(level.to_owned()).or_default().record_dropped(now)
    }
}

struct Level {
    /// Rejections per second, oldest first, as far back as they matter. Seconds without rejections are
    /// absent.
    history: Vec<(i64, u64)>,
    /// The most recent second with its rejections.
    current: (i64, u64),
    retry_after: u64,
    /// Time of the last doubling.
    last_doubling: i64,
}

impl Default for Level {
    fn default() -> Self {
        Level { history: Vec::new(), current: (0, 0), retry_after: 1, last_doubling: 0 }
    }
}

impl Level {
    fn record_dropped(&mut self, now: i64) -> u64 {
        if self.current.0 == now {
            self.current.1 += 1;
            return self.retry_after;
        }
        self.history.push(self.current);
        self.current = (now, 1);
        let retention = (2 * self.retry_after).min(RETRY_AFTER_MAX);
        self.history.retain(|(second, _)| now.abs_diff(*second) <= retention);
        self.update(now);
        self.retry_after
    }

    /// Updates the wait from the rejections within the current wait.
    fn update(&mut self, now: i64) {
        let recent = self.history.iter().filter(|(second, _)| now.abs_diff(*second) <= self.retry_after);
        let dropped: u64 = recent.map(|(_, requests)| requests).sum();
        let wait_is_over = now.abs_diff(self.last_doubling) >= self.retry_after;
        if wait_is_over && dropped >= 3 * self.retry_after {
            self.retry_after = (2 * self.retry_after).min(RETRY_AFTER_MAX);
            self.last_doubling = now;
        } else if dropped < self.retry_after && self.retry_after > 1 {
            self.retry_after -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_follows_number_of_rejections() {
        let dropped = DroppedRequestsTracker::default();
        let mut now = 1_800_000_000;
        let mut second = |requests: u64| {
            now += 1;
            (0..requests).map(|_| dropped.retry_after("level", now)).last()
        };
        // Sequence of upstream's own test.
        let steps = [(5, 1), (5, 2), (5, 2), (10, 4), (20, 4), (20, 4), (20, 4), (20, 8)];
        for (at, (requests, expected)) in steps.into_iter().enumerate() {
            assert_eq!(second(requests), Some(expected), "{at}");
        }
        for expected in (1..=8).rev() {
            (0..40).for_each(|_| _ = second(0));
            assert!(second(1) <= Some(expected), "{expected}");
        }
        assert_eq!(dropped.retry_after("other", now), 1);
    }

    #[test]
    fn idle_levels_are_removed() {
        let dropped = DroppedRequestsTracker::default();
        for name in 0..10 * LEVELS {
            dropped.retry_after(&name.to_string(), 100 * name as i64);
        }
        assert!(dropped.0.lock().unwrap().len() <= LEVELS);
    }
}
