//! Asynchronous delivery of events in batches, so that requests do not wait for it (upstream's
//! `plugin/pkg/audit/buffered`).

use std::io;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use apimachinery::time::UnixTime;
use component_base::clock::Clock;

use crate::{AuditMetrics, Event, Sink};

/// Maximum size in bytes of all queued events. Upstream bounds only their number, regardless of their size.
pub(crate) const WAITING_BYTES_MAX: usize = 256 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchOptions {
    /// Maximum number of queued events. Further events are lost.
    pub waiting_max: usize,
    /// Maximum number of events in a batch.
    pub events_max: usize,
    /// Maximum time an event waits for its batch to fill.
    pub wait_max: Duration,
    /// Rate limit for batches; `None` for no limit.
    pub throttle: Option<Throttle>,
}

/// A rate limit (token bucket).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// Batches per second in the long run. Greater than 0.
    pub per_second: f64,
    /// Batches at once after a pause.
    pub burst: u32,
}

/// Queues events and delivers them on its own thread. When the queue is full, further events are lost and
/// counted.
pub struct Batch {
    events: Mutex<Option<SyncSender<Box<Event>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Size in bytes of the queued events.
    queued_bytes: Arc<AtomicUsize>,
    metrics: Arc<AuditMetrics>,
}

impl Batch {
    /// Starts the delivery to `sink`.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn new(
        sink: Arc<dyn Sink>,
        options: BatchOptions,
        clock: Arc<dyn Clock>,
        metrics: Arc<AuditMetrics>,
    ) -> io::Result<Self> {
        let (events, waiting) = sync_channel(options.waiting_max);
        let queued_bytes = Arc::<AtomicUsize>::default();
        let of_thread = Arc::clone(&queued_bytes);
        let thread = std::thread::Builder::new()
            .name("audit-batches".to_owned())
            .spawn(move || deliver(&*sink, options, &*clock, &waiting, &of_thread))?;
        Ok(Batch {
            events: Mutex::new(Some(events)),
            thread: Mutex::new(Some(thread)),
            queued_bytes,
            metrics,
        })
    }

    /// Reserves memory for an event. Returns false if the limit is reached.
    fn admits(&self, event: &Event) -> bool {
        let more =
            |held: usize| held.checked_add(event.memory_bytes()).filter(|sum| *sum <= WAITING_BYTES_MAX);
        self.queued_bytes.fetch_update(Relaxed, Relaxed, more).is_ok()
    }
}

impl Sink for Batch {
    fn process(&self, events: &[Event]) -> bool {
        let to = self.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(to) = to else {
            self.metrics.lost("buffered", &"audit backend shut down", events.iter().map(Event::legacy));
            return true;
        };
        for (at, event) in events.iter().enumerate() {
            let admitted = self.admits(event);
            if !admitted || to.try_send(Box::new(event.clone())).is_err() {
                if admitted {
                    self.queued_bytes.fetch_sub(event.memory_bytes(), Relaxed);
                }
                let lost = events.iter().skip(at).map(Event::legacy);
                self.metrics.lost("buffered", &"audit buffer queue blocked", lost);
                break;
            }
        }
        true
    }

    fn finish(&self) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("audit delivery thread panicked");
        }
    }
}

/// Delivers events until all senders are dropped.
fn deliver(
    sink: &dyn Sink,
    options: BatchOptions,
    clock: &dyn Clock,
    waiting: &Receiver<Box<Event>>,
    weight: &AtomicUsize,
) {
    let mut tokens = options.throttle.map(|throttle| TokenBucket::new(throttle, clock.now()));
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![*first];
        let start = clock.now();
        while batch.len() < options.events_max {
            let waited = Duration::from_nanos(u64::try_from(clock.now().nanos_since(start)).unwrap_or(0));
            match waiting.recv_timeout(options.wait_max.saturating_sub(waited)) {
                Ok(event) => batch.push(*event),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(tokens) = &mut tokens {
            std::thread::sleep(tokens.reserve(clock.now()));
        }
        sink.process(&batch);
        weight.fetch_sub(batch.iter().map(Event::memory_bytes).sum(), Relaxed);
    }
    sink.finish();
}

struct TokenBucket {
    throttle: Throttle,
    tokens: f64,
    updated_at: UnixTime,
}

impl TokenBucket {
    fn new(throttle: Throttle, now: UnixTime) -> Self {
        TokenBucket { throttle, tokens: f64::from(throttle.burst), updated_at: now }
    }

    /// Takes a token and returns the delay until it is available.
    fn reserve(&mut self, now: UnixTime) -> Duration {
        let rate = self.throttle.per_second;
        let passed = Duration::from_nanos(u64::try_from(now.nanos_since(self.updated_at)).unwrap_or(0));
        self.updated_at = now;
        self.tokens = (self.tokens + passed.as_secs_f64() * rate).min(f64::from(self.throttle.burst)) - 1.0;
        let missing = (-self.tokens).max(0.0);
        Duration::try_from_secs_f64(missing / rate).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use apimachinery::request_context::AuditId;
    use component_base::clock::TestClock;
    use component_base::metrics::MetricsRegistry;
    use component_base::weakened::{WeakenedDecisions, WeakenedKind};

    use super::*;
    use crate::event::tests::event;
    use crate::sink::tests::RecordingSink;

    const OPTIONS: BatchOptions =
        BatchOptions { waiting_max: 100, events_max: 4, wait_max: Duration::ZERO, throttle: None };

    #[test]
    fn events_are_delivered_in_order() {
        let recording = Arc::new(RecordingSink::default());
        let batch =
            Batch::new(Arc::clone(&recording) as _, OPTIONS, Arc::<TestClock>::default(), Arc::default())
                .unwrap();
        for n in 0..10 {
            assert!(batch.process(&[Event { audit_id: AuditId::new(n.to_string().as_bytes()), ..event() }]));
        }
        batch.finish();
        let batches = recording.batches.lock().unwrap();
        assert!(batches.iter().all(|batch| batch.len() <= 4));
        let ids: Vec<_> =
            batches.concat().into_iter().map(|event| event.audit_id.as_str().to_owned()).collect();
        assert_eq!(ids, (0..10).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    /// A sink that blocks while the test holds the lock.
    struct Held(Mutex<()>);

    impl Sink for Held {
        fn process(&self, _: &[Event]) -> bool {
            drop(self.0.lock());
            true
        }
    }

    #[test]
    fn overflowing_events_are_lost_and_counted() {
        let registry = MetricsRegistry::default();
        let weakened = WeakenedDecisions::default();
        let metrics = Arc::new(AuditMetrics::new(&registry, &weakened));
        let held = Arc::new(Held(Mutex::new(())));
        let options = BatchOptions { waiting_max: 2, events_max: 1, ..OPTIONS };
        let clock = Arc::<TestClock>::default();
        let batch = Batch::new(Arc::clone(&held) as _, options, clock, Arc::clone(&metrics)).unwrap();
        let guard = held.0.lock().unwrap();
        assert!(batch.process(&vec![event(); 10]), "nobody is refused for that");
        drop(guard);
        batch.finish();
        batch.process(&[event()]);
        let page = registry.to_string();
        let lost = page
            .lines()
            .find_map(|line| line.strip_prefix("apiserver_audit_error_total{plugin=\"buffered\"} "));
        let lost: u64 = lost.unwrap().parse().unwrap();
        // One event may be in delivery already.
        assert!((8..=9).contains(&lost), "{lost}");
        let decision = weakened.recent().remove(0);
        assert_eq!((decision.kind, &*decision.name), (WeakenedKind::LostAuditEvents, "buffered"));
        assert_eq!(decision.cause, "audit backend shut down");
    }

    #[test]
    fn events_over_the_byte_limit_are_lost() {
        let recording = Arc::new(RecordingSink::default());
        let batch =
            Batch::new(Arc::clone(&recording) as _, OPTIONS, Arc::<TestClock>::default(), Arc::default())
                .unwrap();
        // Simulates other queued events.
        batch.queued_bytes.store(WAITING_BYTES_MAX, Relaxed);
        batch.process(&[event()]);
        batch.queued_bytes.store(WAITING_BYTES_MAX - event().memory_bytes(), Relaxed);
        batch.process(&[event()]);
        batch.finish();
        assert_eq!(recording.batches.lock().unwrap().concat().len(), 1);
        assert_eq!(
            batch.queued_bytes.load(Relaxed),
            WAITING_BYTES_MAX - event().memory_bytes(),
            "room is given back"
        );
    }

    #[test]
    fn throttle_allows_burst_then_fixed_rate() {
        let start = UnixTime::from_seconds(100);
        let mut tokens = TokenBucket::new(Throttle { per_second: 2.0, burst: 2 }, start);
        let waits = |tokens: &mut TokenBucket, now| tokens.reserve(now).as_millis();
        assert_eq!([0; 4].map(|_| waits(&mut tokens, start)), [0, 0, 500, 1000]);
        assert_eq!(waits(&mut tokens, UnixTime::from_seconds(200)), 0);
    }
}
