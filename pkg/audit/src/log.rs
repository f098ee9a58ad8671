//! The log: a line for each event.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Event, Figures, Sink, Stage};

/// What lines look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// An object in JSON.
    Json,
    /// Words and values.
    Legacy,
}

impl Format {
    /// The format of this name, as flags have it.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Format::Json),
            "legacy" => Some(Format::Legacy),
            _ => None,
        }
    }
}

/// How long the line of a request that came in may wait for the next line, so that both are written at once.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// How many bytes of lines are written at once. A longer line is written by itself.
const CHUNK_BYTES: usize = 64 * 1024;

/// Writes a line for each event.
pub struct Log {
    lines: Arc<Lines>,
    format: Format,
    /// Whether the line of a request that came in may wait.
    waits: bool,
}

/// Lines, and where they are written.
struct Lines {
    state: Mutex<State>,
    /// Tells the thread that writes what has waited long enough that something waits, or that all is over.
    wake: Condvar,
    figures: Arc<Figures>,
}

struct State {
    out: Box<dyn Write + Send>,
    /// Lines that are not written yet.
    waiting: Vec<u8>,
    /// How often lines were left waiting.
    left: u64,
    /// Whether the thread sleeps until it is woken.
    sleeps: bool,
    /// Whether all is over.
    ended: bool,
}

impl Log {
    /// A log that is written to `out`. What is handed over at once is written at once, in pieces of whole lines, before
    /// the call returns.
    pub fn new(out: Box<dyn Write + Send>, format: Format, figures: Arc<Figures>) -> Self {
        let state = State { out, waiting: Vec::new(), left: 0, sleeps: false, ended: false };
        let lines = Lines { state: Mutex::new(state), wake: Condvar::new(), figures };
        Log { lines: Arc::new(lines), format, waits: false }
    }

    /// The same, but that a request came in is written together with what came of it, or after 10 ms: a system
    /// call for two lines. Lines are in the order in which they were handed over.
    ///
    /// # Errors
    /// The system's, when there is no thread.
    pub fn waiting(out: Box<dyn Write + Send>, format: Format, figures: Arc<Figures>) -> io::Result<Self> {
        let mut log = Log::new(out, format, figures);
        log.waits = true;
        let lines = Arc::clone(&log.lines);
        std::thread::Builder::new().name("audit-log".to_owned()).spawn(move || lines.write_late())?;
        Ok(log)
    }

    fn line(&self, event: &Event) -> Vec<u8> {
        let mut line = Vec::with_capacity(1024);
        match self.format {
            Format::Json => event.write_json(&mut line),
            Format::Legacy => line = (event.legacy() + "\n").into_bytes(),
        }
        line
    }
}

impl Sink for Log {
    fn process(&self, events: &[Event]) -> bool {
        let (mut locked, mut good) = (None, true);
        for event in events {
            let line = self.line(event);
            // Held until the end, so that this call hears of every failure to write its own lines.
            let state = locked.get_or_insert_with(|| self.lines.lock());
            good = self.lines.add(state, &line) && good;
        }
        let Some(mut state) = locked else { return true };
        if self.waits && events.iter().all(|event| event.stage == Stage::RequestReceived) {
            state.left = state.left.wrapping_add(1);
            if std::mem::take(&mut state.sleeps) {
                self.lines.wake.notify_one();
            }
            return good;
        }
        self.lines.write(&mut state) && good
    }

    fn finish(&self) {
        self.lines.write(&mut self.lines.lock());
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let mut state = self.lines.lock();
        self.lines.write(&mut state);
        state.ended = true;
        self.lines.wake.notify_one();
    }
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line. Writes what waits when there is no room for it.
    fn add(&self, state: &mut State, line: &[u8]) -> bool {
        let fits = state.waiting.len().saturating_add(line.len()) <= CHUNK_BYTES;
        let good = fits || self.write(state);
        state.waiting.extend_from_slice(line);
        good
    }

    /// Writes what waits. Nothing waits afterwards, whether that went well or not.
    fn write(&self, state: &mut State) -> bool {
        if state.waiting.is_empty() {
            return true;
        }
        let outcome = state.out.write_all(&state.waiting).and_then(|()| state.out.flush());
        if let Err(error) = &outcome {
            let lost = String::from_utf8_lossy(&state.waiting);
            self.figures.lost("log", error, lost.lines().map(str::to_owned));
        }
        state.waiting.clear();
        state.waiting.shrink_to(CHUNK_BYTES);
        outcome.is_ok()
    }

    /// Writes what others have left waiting, until all is over. Sleeps while they leave nothing.
    fn write_late(&self) {
        let mut state = self.lock();
        while !state.ended {
            let left = state.left;
            (state, _) = self.wake.wait_timeout(state, WAIT_MAX).unwrap_or_else(PoisonError::into_inner);
            self.write(&mut state);
            state.sleeps = state.left == left;
            while state.sleeps && !state.ended {
                state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io;

    use super::*;
    use crate::event::tests::event;

    /// Keeps what is written, call by call.
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
    fn an_event_is_a_line() {
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
    fn that_a_request_came_in_is_written_with_what_came_of_it() {
        let out = Out::default();
        let log = Log::waiting(Box::new(out.clone()), Format::Json, Arc::default()).unwrap();
        assert!(log.process(&[at(Stage::RequestReceived)]));
        assert!(log.process(&[at(Stage::ResponseComplete)]));
        let stages = out.0.lock().unwrap().concat();
        let (first, second) =
            (stages.find("RequestReceived").unwrap(), stages.find("ResponseComplete").unwrap());
        assert!(first < second);
    }

    #[test]
    fn that_a_request_came_in_is_written_soon_even_if_nothing_comes_of_it() {
        let out = Out::default();
        let log = Log::waiting(Box::new(out.clone()), Format::Json, Arc::default()).unwrap();
        for n in 1..=3 {
            assert!(log.process(&[at(Stage::RequestReceived)]));
            while out.0.lock().unwrap().concat().lines().count() < n {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn what_waits_is_written_at_the_end() {
        for finish in [Log::finish as fn(&Log), |_| ()] {
            let out = Out::default();
            let mut log = Log::new(Box::new(out.clone()), Format::Json, Arc::default());
            log.waits = true;
            assert!(log.process(&[at(Stage::RequestReceived)]));
            assert!(out.0.lock().unwrap().is_empty());
            finish(&log);
            drop(log);
            assert_eq!(out.0.lock().unwrap().len(), 1);
        }
    }

    #[test]
    fn many_lines_are_written_in_pieces_of_whole_lines() {
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
    fn what_cannot_be_written_is_counted() {
        let figures = Arc::<Figures>::default();
        let log = Log::new(Box::new(Full), Format::Json, Arc::clone(&figures));
        assert!(!log.process(&[event(), event()]));
        let mut page = String::new();
        figures.write(&mut page);
        assert!(page.contains("apiserver_audit_error_total{plugin=\"log\"} 2\n"), "{page}");
    }
}
