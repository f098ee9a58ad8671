//! The latest warnings and errors, shown in the console.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use component_base::clock::Clock;
use jsontree::{Value, json};
use server::ROWS_MAX;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::line::EventFields;

/// Maximum length of a line in bytes.
const LINE_BYTES_MAX: usize = 1024;

/// A line with its time, in seconds since 1970.
type Line = (i64, String);

/// The latest lines. Clones share them.
#[derive(Clone)]
pub(crate) struct RecentLog {
    lines: Arc<Mutex<VecDeque<Line>>>,
    clock: Arc<dyn Clock>,
    process: u32,
}

impl RecentLog {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        RecentLog { lines: Arc::default(), clock, process: std::process::id() }
    }

    /// Returns the lines for the console, the latest first.
    pub(crate) fn lines_json(&self) -> Value {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = lines.iter().map(|(at, line)| json!({ "at": at, "line": line }));
        json!({ "rows": rows.collect::<Vec<_>>() })
    }
}

impl<S: Subscriber> Layer<S> for RecentLog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let now = self.clock.now();
        let mut line = fields.text(event.metadata(), now, self.process);
        line.truncate(line.floor_char_boundary(LINE_BYTES_MAX));
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_front((now.seconds, line));
        lines.truncate(ROWS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use component_base::clock::TestClock;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn latest_warnings_are_stored_truncated() {
        let recent = RecentLog::new(Arc::new(TestClock::default()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(recent.clone()), || {
            tracing::info!("not this");
            for number in 0..ROWS_MAX + 1 {
                tracing::warn!(number, "this");
            }
            tracing::error!(text = "ä".repeat(2048), "long");
        });
        let rows = recent.lines_json()["rows"].as_array().cloned().unwrap_or_default();
        assert_eq!(rows.len(), ROWS_MAX);
        let line = |at: usize| rows[at]["line"].as_str().unwrap_or_default().to_owned();
        assert!(line(0).contains("\"long\"") && line(0).len() <= LINE_BYTES_MAX, "{}", line(0));
        assert!(line(1).ends_with("\"this\" number=50"), "{}", line(1));
    }
}
