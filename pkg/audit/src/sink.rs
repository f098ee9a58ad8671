//! Destinations of events, and adapters for them.

use std::sync::Arc;

use crate::{AuditMetrics, Event, Level};

/// The annotation of an event whose objects were removed (upstream's `plugin/pkg/audit/truncate`).
const TRUNCATED: &str = "audit.k8s.io/truncated";

/// A destination of events (upstream's `audit.Backend`).
pub trait Sink: Send + Sync + 'static {
    /// Delivers events; may block. Returns false if the events could not be delivered.
    fn process(&self, events: &[Event]) -> bool;

    /// Waits until the accepted events of completed requests are delivered, for sinks that promise this. It
    /// is called before any part of a response is sent, and is nearly free when there is nothing to do.
    fn sync(&self) {}

    /// Waits until all accepted events are delivered. No events may follow.
    fn finish(&self) {}
}

/// Delivers events to several sinks.
pub struct Union(
    /// The sinks, in the order of delivery.
    pub Vec<Arc<dyn Sink>>,
);

impl Sink for Union {
    fn process(&self, events: &[Event]) -> bool {
        // Every sink gets the events, even after a failure.
        self.0.iter().filter(|sink| !sink.process(events)).count() == 0
    }

    fn sync(&self) {
        self.0.iter().for_each(|sink| sink.sync());
    }

    fn finish(&self) {
        self.0.iter().for_each(|sink| sink.finish());
    }
}

/// Ignores delivery failures (upstream's mode `blocking`, without `strict`).
pub struct IgnoreFailures(pub Arc<dyn Sink>);

impl Sink for IgnoreFailures {
    fn process(&self, events: &[Event]) -> bool {
        self.0.process(events);
        true
    }

    fn sync(&self) {
        self.0.sync();
    }

    fn finish(&self) {
        self.0.finish();
    }
}

/// Size limits for events and batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncateOptions {
    /// Maximum size of an event in bytes of JSON.
    pub event_bytes_max: usize,
    /// Maximum size of a batch in bytes of JSON.
    pub batch_bytes_max: usize,
}

/// Removes the objects of events that are too large, and drops events that are still too large.
pub struct Truncate {
    sink: Arc<dyn Sink>,
    options: TruncateOptions,
    metrics: Arc<AuditMetrics>,
}

impl Truncate {
    pub fn new(sink: Arc<dyn Sink>, options: TruncateOptions, metrics: Arc<AuditMetrics>) -> Self {
        Truncate { sink, options, metrics }
    }
}

fn size_of(event: &Event) -> usize {
    let mut out = Vec::new();
    event.write_json(&mut out);
    out.len()
}

impl Sink for Truncate {
    fn process(&self, events: &[Event]) -> bool {
        let max = self.options.event_bytes_max;
        let mut good = true;
        let mut batch = Vec::new();
        let mut bytes = 0_usize;
        for event in events {
            let mut event = event.clone();
            let mut size = size_of(&event);
            if size > max && event.level >= Level::Request {
                (event.request_object, event.response_object) = (None, None);
                event.annotate(TRUNCATED, "true");
                size = size_of(&event);
            }
            if size > max {
                self.metrics.lost("truncate", &"event is too large even after truncating", [event.legacy()]);
                continue;
            }
            if !batch.is_empty() && bytes.saturating_add(size) > self.options.batch_bytes_max {
                good = self.sink.process(&batch) && good;
                batch.clear();
                bytes = 0;
            }
            bytes = bytes.saturating_add(size);
            batch.push(event);
        }
        (batch.is_empty() || self.sink.process(&batch)) && good
    }

    fn sync(&self) {
        self.sink.sync();
    }

    fn finish(&self) {
        self.sink.finish();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::Content;
    use crate::event::tests::event;

    /// Records the delivered batches.
    #[derive(Default)]
    pub(crate) struct RecordingSink {
        pub(crate) batches: Mutex<Vec<Vec<Event>>>,
        pub(crate) fails: bool,
    }

    impl Sink for RecordingSink {
        fn process(&self, events: &[Event]) -> bool {
            self.batches.lock().unwrap().push(events.to_vec());
            !self.fails
        }
    }

    #[test]
    fn lenient_sink_hides_failures() {
        let failing = Arc::new(RecordingSink { fails: true, ..RecordingSink::default() });
        assert!(!failing.process(&[event()]));
        assert!(IgnoreFailures(failing).process(&[event()]));
    }

    #[test]
    fn union_delivers_to_all_and_reports_failures() {
        let good = Arc::new(RecordingSink::default());
        let bad = Arc::new(RecordingSink { fails: true, ..RecordingSink::default() });
        assert!(!Union(vec![Arc::clone(&bad) as _, Arc::clone(&good) as _]).process(&[event()]));
        assert_eq!((good.batches.lock().unwrap().len(), bad.batches.lock().unwrap().len()), (1, 1));
        assert!(Union(vec![good]).process(&[event()]));
    }

    #[test]
    fn large_events_are_truncated_or_dropped() {
        let large = Content::json(format!("\"{}\"", "x".repeat(500)).as_bytes());
        let with = |level: Level| Event { level, request_object: large.clone(), ..event() };
        let check = |event_bytes_max: usize, level: Level, expected: Option<bool>| {
            let recording = Arc::new(RecordingSink::default());
            let options = TruncateOptions { event_bytes_max, batch_bytes_max: 10_000 };
            let truncate = Truncate::new(Arc::clone(&recording) as _, options, Arc::default());
            assert!(truncate.process(&[with(level)]));
            let delivered = recording.batches.lock().unwrap().concat();
            assert_eq!(
                delivered.first().map(|event| event.request_object.is_some()),
                expected,
                "{event_bytes_max}"
            );
            let marked = delivered.first().is_some_and(|event| !event.annotations.is_empty());
            assert_eq!(marked, expected == Some(false));
        };
        check(2_000, Level::Request, Some(true));
        check(700, Level::Request, Some(false));
        check(100, Level::Request, None);
        check(700, Level::Metadata, None);
    }

    #[test]
    fn large_batches_are_split() {
        let recording = Arc::new(RecordingSink::default());
        let size = size_of(&event());
        let options = TruncateOptions { event_bytes_max: size, batch_bytes_max: size * 2 };
        Truncate::new(Arc::clone(&recording) as _, options, Arc::default()).process(&vec![event(); 5]);
        let sizes: Vec<usize> = recording.batches.lock().unwrap().iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 2, 1]);
    }
}
