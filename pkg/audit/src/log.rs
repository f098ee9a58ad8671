//! The log backend: one line per event.

use std::io::{self, Write};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::batch::WAITING_BYTES_MAX;
use crate::{AuditMetrics, Event, Sink};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Json,
    /// Upstream's legacy text.
    Legacy,
}

impl Format {
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Format::Json),
            "legacy" => Some(Format::Legacy),
            _ => None,
        }
    }
}

/// Maximum time a line waits for others, to write them together.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// Maximum number of bytes of lines in a single write. A longer line is written by itself.
const CHUNK_BYTES: usize = 64 * 1024;

/// Writes a line per event, in the order of delivery.
pub struct Log {
    lines: Arc<LineBuffer>,
    format: Format,
    wait: Buffering,
}

/// The buffering mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Buffering {
    /// Unbuffered.
    Unbuffered,
    /// Buffered until a response is sent ([`Sink::sync`]).
    UntilResponse,
    /// Buffered. Lines beyond this number are lost.
    Buffered(usize),
}

/// The line buffer and its output.
struct LineBuffer {
    /// Writers lock this before `state`.
    out: Mutex<Output>,
    state: Mutex<State>,
    /// Wakes the background writer for new lines and for the shutdown.
    wakeup: Condvar,
    /// `queued` counts the buffered lines; `finished` counts those that were written or lost.
    queued: AtomicU64,
    finished: AtomicU64,
    metrics: Arc<AuditMetrics>,
}

struct Output {
    writer: Box<dyn Write + Send>,
    lines: Vec<u8>,
}

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    count: usize,
    /// True if the background writer sleeps until it is woken.
    asleep: bool,
    /// True after the log was dropped.
    closed: bool,
}

impl Log {
    /// An unbuffered log to `out`. Events that are delivered together are written together, in chunks of
    /// whole lines, before the call returns.
    pub fn new(out: Box<dyn Write + Send>, format: Format, metrics: Arc<AuditMetrics>) -> Self {
        let out = Mutex::new(Output { writer: out, lines: Vec::new() });
        let queued = AtomicU64::new(0);
        let finished = AtomicU64::new(0);
        let lines =
            LineBuffer { out, state: Mutex::default(), wakeup: Condvar::new(), queued, finished, metrics };
        Log { lines: Arc::new(lines), format, wait: Buffering::Unbuffered }
    }

    /// Like [`Log::new`], but lines are buffered until [`Sink::sync`], at most 10 ms: one system call for
    /// all requests with simultaneous responses.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn with_buffer(
        out: Box<dyn Write + Send>,
        format: Format,
        metrics: Arc<AuditMetrics>,
    ) -> io::Result<Self> {
        Log::new(out, format, metrics).with_background_writer(Buffering::UntilResponse)
    }

    /// Like [`Log::new`], but a background thread writes the lines within 10 ms and callers do not wait. If
    /// `waiting_max` lines or 256 MiB are buffered, further lines are lost and counted.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn with_background_writer_limit(
        out: Box<dyn Write + Send>,
        format: Format,
        metrics: Arc<AuditMetrics>,
        waiting_max: usize,
    ) -> io::Result<Self> {
        Log::new(out, format, metrics).with_background_writer(Buffering::Buffered(waiting_max))
    }

    fn with_background_writer(mut self, wait: Buffering) -> io::Result<Self> {
        self.wait = wait;
        let lines = Arc::clone(&self.lines);
        std::thread::Builder::new()
            .name("audit-log".to_owned())
            .spawn(move || lines.run_background_writer())?;
        Ok(self)
    }

    fn append(&self, event: &Event, lines: &mut Vec<u8>) {
        match self.format {
            Format::Json => event.write_json(lines),
            Format::Legacy => lines.extend_from_slice((event.legacy() + "\n").as_bytes()),
        }
    }

    /// Buffers the lines of events; lines that do not fit are lost.
    fn enqueue(&self, events: &[Event], waiting_max: usize) {
        let push = |event: &Event| {
            self.lines.push(|lines| self.append(event, lines), waiting_max, WAITING_BYTES_MAX)
        };
        if let Some(first) = events.iter().position(|event| !push(event)) {
            let lost = events.iter().skip(first).map(Event::legacy);
            self.lines.metrics.lost("buffered", &"audit buffer queue blocked", lost);
        }
    }
}

impl Sink for Log {
    fn process(&self, events: &[Event]) -> bool {
        match (self.wait, events) {
            (Buffering::Buffered(waiting_max), _) => {
                self.enqueue(events, waiting_max);
                true
            }
            (Buffering::UntilResponse, [event])
                if self.lines.push(|lines| self.append(event, lines), usize::MAX, CHUNK_BYTES) =>
            {
                true
            }
            _ => {
                let mut lines = Vec::with_capacity(1024);
                let mut good = true;
                for event in events {
                    self.append(event, &mut lines);
                    if lines.len() >= CHUNK_BYTES {
                        good = self.lines.write(&lines) && good;
                        lines.clear();
                    }
                }
                self.lines.write(&lines) && good
            }
        }
    }

    fn sync(&self) {
        if self.wait == Buffering::UntilResponse && self.lines.has_pending() {
            self.lines.write(&[]);
        }
    }

    fn finish(&self) {
        self.lines.write(&[]);
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.lines.write(&[]);
        self.lines.lock().closed = true;
        self.lines.wakeup.notify_one();
    }
}

impl LineBuffer {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Buffers the line that `append` writes. Returns false if the buffer is full.
    fn push(&self, append: impl FnOnce(&mut Vec<u8>), waiting_max: usize, bytes_max: usize) -> bool {
        let mut state = self.lock();
        if state.count >= waiting_max {
            return false;
        }
        let before = state.waiting.len();
        append(&mut state.waiting);
        if state.waiting.len() > bytes_max {
            state.waiting.truncate(before);
            return false;
        }
        state.count = state.count.saturating_add(1);
        self.queued.fetch_add(1, Release);
        if std::mem::take(&mut state.asleep) {
            self.wakeup.notify_one();
        }
        true
    }

    /// True if lines are buffered or another thread is writing lines.
    fn has_pending(&self) -> bool {
        self.queued.load(Acquire) != self.finished.load(Acquire)
    }

    /// Writes the buffered lines and then `more`. Returns false if a write failed; the lines are dropped in
    /// either case.
    fn write(&self, more: &[u8]) -> bool {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let Output { writer, lines } = &mut *out;
        let queued = {
            let mut state = self.lock();
            std::mem::swap(&mut state.waiting, lines);
            state.count = 0;
            self.queued.load(Acquire)
        };
        lines.extend_from_slice(more);
        let mut rest = lines.as_slice();
        let mut good = true;
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at(chunk_len(rest));
            if let Err(error) = writer.write_all(piece).and_then(|()| writer.flush()) {
                let lost = String::from_utf8_lossy(piece);
                self.metrics.lost("log", &error, lost.lines().map(str::to_owned));
                good = false;
            }
            rest = behind;
        }
        lines.clear();
        lines.shrink_to(CHUNK_BYTES);
        self.finished.store(queued, Release);
        good
    }

    /// The background thread: writes buffered lines until the shutdown. Sleeps while there are none.
    fn run_background_writer(&self) {
        let mut state = self.lock();
        while !state.closed {
            let queued_before = self.queued.load(Acquire);
            drop(self.wakeup.wait_timeout(state, WAIT_MAX).unwrap_or_else(PoisonError::into_inner));
            self.write(&[]);
            state = self.lock();
            state.asleep = self.queued.load(Acquire) == queued_before;
            while state.asleep && !state.closed {
                state = self.wakeup.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// The length in bytes of the next chunk of whole lines.
fn chunk_len(lines: &[u8]) -> usize {
    let is_end = |byte: &u8| *byte == b'\n';
    let last_newline = match lines.get(..CHUNK_BYTES) {
        Some(chunk) => chunk.iter().rposition(is_end).or_else(|| lines.iter().position(is_end)),
        None => None,
    };
    last_newline.map_or(lines.len(), |end| end + 1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use component_base::metrics::MetricsRegistry;
    use std::io;

    use super::*;
    use crate::Stage;
    use crate::event::tests::event;

    /// Records each write call.
    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<String>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().push(String::from_utf8(bytes.to_vec()).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("no space left"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn events_are_single_lines() {
        for (format, begins) in [(Format::Json, "{\"kind\":\"Event\""), (Format::Legacy, "2023-11-14T")] {
            let out = Out::default();
            let log = Log::new(Box::new(out.clone()), format, Arc::default());
            assert!(log.process(&[event(), event()]));
            let text = out.0.lock().unwrap().concat();
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with(begins)), "{text}");
        }
    }

    fn at(stage: Stage) -> Event {
        Event { stage, ..event() }
    }

    #[test]
    fn settle_writes_buffered_lines_in_order() {
        let out = Out::default();
        let log = Log::with_buffer(Box::new(out.clone()), Format::Json, Arc::default()).unwrap();
        assert!(log.process(&[at(Stage::RequestReceived)]));
        assert!(log.process(&[at(Stage::ResponseComplete)]));
        log.sync();
        let stages = out.0.lock().unwrap().concat();
        let first = stages.find("RequestReceived").unwrap();
        let second = stages.find("ResponseComplete").unwrap();
        assert!(first < second);
    }

    #[test]
    fn settle_waits_for_another_writer() {
        let output = Arc::<Mutex<Vec<u8>>>::default();
        let out = Box::new(Slow(Arc::clone(&output)));
        let log = Arc::new(Log::with_buffer(out, Format::Json, Arc::default()).unwrap());
        let guard = output.lock().unwrap();
        assert!(log.process(&[event()]));
        let settle = |log: &Arc<Log>| {
            let log = Arc::clone(log);
            std::thread::spawn(move || log.sync())
        };
        let first = settle(&log);
        // Waits until `first` or the background thread has taken the line.
        while !log.lines.lock().waiting.is_empty() {
            std::thread::yield_now();
        }
        assert!(log.lines.has_pending());
        drop(guard);
        log.sync();
        assert!(!log.lines.has_pending() && !output.lock().unwrap().is_empty());
        first.join().unwrap();
    }

    #[test]
    fn buffered_lines_are_written_without_settle() {
        let out = Out::default();
        let log = Log::with_buffer(Box::new(out.clone()), Format::Json, Arc::default()).unwrap();
        for n in 1..=3 {
            assert!(log.process(&[at(Stage::RequestReceived)]));
            while out.0.lock().unwrap().concat().lines().count() < n {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn finish_and_drop_write_buffered_lines() {
        for finish in [Log::finish as fn(&Log), |_| ()] {
            let out = Out::default();
            let mut log = Log::new(Box::new(out.clone()), Format::Json, Arc::default());
            log.wait = Buffering::UntilResponse;
            assert!(log.process(&[at(Stage::RequestReceived)]));
            assert!(out.0.lock().unwrap().is_empty());
            finish(&log);
            drop(log);
            assert_eq!(out.0.lock().unwrap().len(), 1);
        }
    }

    #[test]
    fn chunks_contain_whole_lines() {
        let out = Out::default();
        let log = Log::new(Box::new(out.clone()), Format::Json, Arc::default());
        assert!(log.process(&vec![event(); 1000]));
        let pieces = out.0.lock().unwrap();
        assert!(
            pieces.len() > 1
                && pieces.iter().all(|piece| piece.len() <= CHUNK_BYTES && piece.ends_with('\n'))
        );
        assert_eq!(pieces.concat().lines().count(), 1000);
    }

    #[test]
    fn write_errors_are_counted() {
        let registry = MetricsRegistry::default();
        let metrics = Arc::new(AuditMetrics::new(&registry, &Default::default()));
        let log = Log::new(Box::new(Full), Format::Json, Arc::clone(&metrics));
        assert!(!log.process(&[event(), event()]));
        let page = registry.to_string();
        assert!(page.contains("apiserver_audit_error_total{plugin=\"log\"} 2\n"), "{page}");
    }

    /// A writer that blocks while the test holds the lock.
    struct Slow(Arc<Mutex<Vec<u8>>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn batched_log_does_not_block_and_counts_losses() {
        let registry = MetricsRegistry::default();
        let metrics = Arc::new(AuditMetrics::new(&registry, &Default::default()));
        let output = Arc::<Mutex<Vec<u8>>>::default();
        let out = Box::new(Slow(Arc::clone(&output)));
        let log = Log::with_background_writer_limit(out, Format::Json, Arc::clone(&metrics), 2).unwrap();
        let guard = output.lock().unwrap();
        assert!(log.process(&vec![event(); 10]), "nobody is refused for that");
        drop(guard);
        drop(log);
        let written = String::from_utf8(output.lock().unwrap().clone()).unwrap().lines().count();
        let page = registry.to_string();
        let lost = page
            .lines()
            .find_map(|line| line.strip_prefix("apiserver_audit_error_total{plugin=\"buffered\"} "))
            .map_or(0, |count| count.parse().unwrap());
        assert!((2..=4).contains(&written), "two wait, and as many may be under way: {written}");
        assert_eq!(written + lost, 10);
    }

    #[test]
    fn batched_lines_are_written_promptly() {
        let out = Out::default();
        let log = Log::with_background_writer_limit(Box::new(out.clone()), Format::Json, Arc::default(), 100)
            .unwrap();
        for n in 1..=3 {
            assert!(log.process(&[event()]));
            while out.0.lock().unwrap().concat().lines().count() < n {
                std::thread::yield_now();
            }
        }
    }
}
