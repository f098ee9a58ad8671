//! The log: a line for each event.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{Event, Figures, Sink};

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

/// Writes a line for each event, one at a time.
pub struct Log {
    out: Mutex<Box<dyn Write + Send>>,
    format: Format,
    figures: Arc<Figures>,
}

impl Log {
    /// A log that is written to `out`, a line in one call.
    pub fn new(out: Box<dyn Write + Send>, format: Format, figures: Arc<Figures>) -> Self {
        Log { out: Mutex::new(out), format, figures }
    }

    fn write(&self, event: &Event) -> bool {
        let mut line = Vec::with_capacity(1024);
        match self.format {
            Format::Json => event.write_json(&mut line),
            Format::Legacy => line = (event.legacy() + "\n").into_bytes(),
        }
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        match out.write_all(&line).and_then(|()| out.flush()) {
            Ok(()) => true,
            Err(error) => {
                drop(out);
                self.figures.lost("log", &error, [event]);
                false
            }
        }
    }
}

impl Sink for Log {
    fn process(&self, events: &[Event]) -> bool {
        // Each of them is tried.
        events.iter().filter(|event| !self.write(event)).count() == 0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io;

    use super::*;
    use crate::event::tests::event;

    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<u8>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
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
            let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with(begins)), "{text}");
        }
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
