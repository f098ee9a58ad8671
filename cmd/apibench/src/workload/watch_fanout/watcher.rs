//! One watcher: records the arrival of each update, and detects missing and repeated ones.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use hyper::body::Incoming;

use super::super::Context;
use super::super::events::{self, Lines};
use super::Findings;
use super::mark::{Finder, Mark};
use super::updates::OBJECTS;

/// Reads one stream until the measurement ends, which aborts the task.
pub(super) async fn watch(mut body: Incoming, context: Context, findings: Arc<Findings>, epoch: Instant) {
    let mut lines = Lines::default();
    let finder = Finder::default();
    let mut order = LastSeen::default();
    loop {
        let data = match events::next_data(&mut body).await {
            Ok(data) => data,
            Err(error) => return context.tally.failure(1, error),
        };
        let arrived = epoch.elapsed();
        let fed = lines.feed(&data, |event| match finder.find(event).map(|mark| (mark, order.note(mark))) {
            None => {}
            Some((mark, Arrival::New { skipped })) => {
                findings.delivered.fetch_add(1, Relaxed);
                findings.gaps.fetch_add(skipped, Relaxed);
                context.tally.success(arrived.saturating_sub(mark.sent), event.len() as u64);
            }
            Some((_, Arrival::Again)) => {
                findings.duplicates.fetch_add(1, Relaxed);
            }
        });
        if let Err(error) = fed {
            return context.tally.failure(1, error);
        }
    }
}

/// Number of the last seen update of each object.
#[derive(Debug, Default)]
struct LastSeen([u64; OBJECTS]);

#[derive(Debug, PartialEq, Eq)]
enum Arrival {
    /// Later than all previous ones; `skipped` updates in between are missing.
    New { skipped: u64 },
    /// Already seen, or overtaken.
    Again,
}

impl LastSeen {
    fn note(&mut self, mark: Mark) -> Arrival {
        match self.0.get_mut(mark.object) {
            Some(last) if mark.number > *last => {
                let skipped = mark.number - *last - 1;
                *last = mark.number;
                Arrival::New { skipped }
            }
            _ => Arrival::Again,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn gaps_and_repetitions_are_detected() {
        let mut order = LastSeen::default();
        let mut note = |object, number| order.note(Mark { object, number, sent: Duration::ZERO });
        assert_eq!(note(0, 1), Arrival::New { skipped: 0 });
        assert_eq!(note(1, 1), Arrival::New { skipped: 0 });
        assert_eq!(note(0, 4), Arrival::New { skipped: 2 });
        assert_eq!(note(0, 4), Arrival::Again);
        assert_eq!(note(0, 3), Arrival::Again);
        assert_eq!(note(OBJECTS, 1), Arrival::Again);
    }
}
