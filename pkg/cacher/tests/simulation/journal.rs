//! What a run leaves behind: a trace to read when it fails, and a tally of what happened, which shows
//! that the runs exercised what they claim to.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::time::Instant;

/// How often each thing happened.
pub type Tally = BTreeMap<&'static str, u64>;

/// The record of one run.
pub struct Journal {
    begun: Instant,
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
        Journal { begun: Instant::now(), pages: Mutex::default() }
    }

    /// Writes a line of the trace.
    pub fn note(&self, who: &str, what: &str) {
        let line = format!("{:>9.3} {who:<12} {what}", self.begun.elapsed().as_secs_f64());
        self.pages.lock().unwrap().lines.push(line);
    }

    /// Counts something that happened.
    pub fn count(&self, what: &'static str) {
        *self.pages.lock().unwrap().tally.entry(what).or_default() += 1;
    }

    /// The trace.
    pub fn lines(&self) -> Vec<String> {
        self.pages.lock().unwrap().lines.clone()
    }

    /// What was counted.
    pub fn tally(&self) -> Tally {
        self.pages.lock().unwrap().tally.clone()
    }
}
