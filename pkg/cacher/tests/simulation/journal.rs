//! The record of a run: a trace for failures, and a tally that shows which situations the runs covered.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::time::Instant;

/// Number of occurrences by situation.
pub type Tally = BTreeMap<&'static str, u64>;

/// The record of one run.
pub struct Journal {
    start: Instant,
    pages: Mutex<Pages>,
}

#[derive(Default)]
struct Pages {
    lines: Vec<String>,
    tally: Tally,
}

impl Journal {
    /// An empty record; time counts from now.
    pub fn new() -> Self {
        Journal { start: Instant::now(), pages: Mutex::default() }
    }

    /// Adds a line to the trace.
    pub fn note(&self, client: &str, event: &str) {
        let line = format!("{:>9.3} {client:<12} {event}", self.start.elapsed().as_secs_f64());
        self.pages.lock().unwrap().lines.push(line);
    }

    pub fn count(&self, event: &'static str) {
        *self.pages.lock().unwrap().tally.entry(event).or_default() += 1;
    }

    pub fn lines(&self) -> Vec<String> {
        self.pages.lock().unwrap().lines.clone()
    }

    pub fn tally(&self) -> Tally {
        self.pages.lock().unwrap().tally.clone()
    }
}
