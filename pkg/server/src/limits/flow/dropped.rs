//! When those who were turned away should come back (upstream's `DroppedRequestsTracker`): the more of them there are,
//! the later. It doubles as TCP's waits do, and goes back one second at a time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The longest wait, in seconds.
const RETRY_AFTER_MAX: u64 = 32;
/// So many levels are remembered before those are forgotten that turn nobody away any more.
const LEVELS: usize = 64;

/// Requests that were turned away lately, by priority level.
#[derive(Default)]
pub(super) struct DroppedRequestsTracker(Mutex<HashMap<String, Level>>);

impl DroppedRequestsTracker {
    /// Counts a request that was turned away by a level, and says after how many seconds its client may come again.
    /// `now` is in seconds since 1970.
    pub(super) fn retry_after(&self, level: &str, now: i64) -> u64 {
        let mut levels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(level) = levels.get_mut(level) {
            return level.dropped(now);
        }
        if levels.len() >= LEVELS {
            levels.retain(|_, level| level.current.0 + 2 * RETRY_AFTER_MAX as i64 >= now);
        }
        levels.entry(level.to_owned()).or_default().dropped(now)
    }
}

struct Level {
    /// Of each second with requests that were turned away how many there were, oldest first; as many as matter.
    history: Vec<(i64, u64)>,
    /// The same of the second that has begun last.
    current: (i64, u64),
    retry_after: u64,
    /// When it was made longer.
    doubled: i64,
}

impl Default for Level {
    fn default() -> Self {
        Level { history: Vec::new(), current: (0, 0), retry_after: 1, doubled: 0 }
    }
}

impl Level {
    fn dropped(&mut self, now: i64) -> u64 {
        if self.current.0 == now {
            self.current.1 += 1;
            return self.retry_after;
        }
        self.history.push(self.current);
        self.current = (now, 1);
        let kept = (2 * self.retry_after).min(RETRY_AFTER_MAX);
        self.history.retain(|(second, _)| now.abs_diff(*second) <= kept);
        self.update(now);
        self.retry_after
    }

    /// Looks at what was turned away within the wait that is advised.
    fn update(&mut self, now: i64) {
        let recent = self.history.iter().filter(|(second, _)| now.abs_diff(*second) <= self.retry_after);
        let dropped: u64 = recent.map(|(_, requests)| requests).sum();
        let waited = now.abs_diff(self.doubled) >= self.retry_after;
        if waited && dropped >= 3 * self.retry_after {
            self.retry_after = (2 * self.retry_after).min(RETRY_AFTER_MAX);
            self.doubled = now;
        } else if dropped < self.retry_after && self.retry_after > 1 {
            self.retry_after -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_follows_how_many_are_turned_away() {
        let dropped = DroppedRequestsTracker::default();
        let mut now = 1_800_000_000;
        let mut second = |requests: u64| {
            now += 1;
            (0..requests).map(|_| dropped.retry_after("level", now)).last()
        };
        // Upstream's own course of events.
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
    fn levels_that_turn_nobody_away_are_forgotten() {
        let dropped = DroppedRequestsTracker::default();
        for name in 0..10 * LEVELS {
            dropped.retry_after(&name.to_string(), 100 * name as i64);
        }
        assert!(dropped.0.lock().unwrap().len() <= LEVELS);
    }
}
