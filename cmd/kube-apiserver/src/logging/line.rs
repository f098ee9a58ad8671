//! Log line formats: klog's header with quoted keys and values, or one JSON object with upstream's keys
//! (component-base `logs/json`). Log collectors parse both.
//!
//! Times are UTC. klog's are in the machine's time zone, which is UTC in upstream's images.

use std::fmt::{self, Debug, Write as _};
use std::sync::Arc;

use apimachinery::go_quote::Quoted;
use apimachinery::time::UnixTime;
use component_base::clock::Clock;
use jsontree::{Number, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `I1123 19:21:32.373741    4711 run.rs:143] "serving securely" address="127.0.0.1:6443"`
    Text,
    /// `{"ts":1795461692373.741,"caller":"controlplane/run.rs:143","msg":"serving securely","v":0,"address":"127.0.0.1:6443"}`
    Json,
}

impl Format {
    /// Returns the format with the name that `--logging-format` sets.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Format::Text),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// Formats events as lines.
pub(super) struct Lines {
    pub(super) format: Format,
    pub(super) clock: Arc<dyn Clock>,
    /// Process id, for klog's header.
    pub(super) process: u32,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let now = self.clock.now();
        writeln!(
            writer,
            "{}",
            match self.format {
                Format::Text => fields.text(metadata, now, self.process),
                Format::Json => fields.json(metadata, now),
            }
        )
    }
}

/// Fields of an event.
#[derive(Default)]
pub(super) struct EventFields {
    message: String,
    values: Vec<(&'static str, Value)>,
}

impl EventFields {
    pub(super) fn text(&self, of: &Metadata<'_>, now: UnixTime, process: u32) -> String {
        let severity = match *of.level() {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            Level::INFO | Level::DEBUG | Level::TRACE => 'I',
        };
        // 2006-01-02T15:04:05.000000Z
        let time = now.rfc3339_micro().to_string();
        let part = |range: std::ops::Range<usize>| time.get(range).unwrap_or_default();
        let month = part(5..7);
        let day = part(8..10);
        let clock = part(11..26);
        let file = of.file().and_then(|file| file.rsplit('/').next()).unwrap_or("???");
        let mut line = format!(
            "{severity}{month}{day} {clock} {process:>7} {file}:{}] {}",
            of.line().unwrap_or(1),
            Quoted(&self.message)
        );
        for (key, value) in &self.values {
            // Writing to a String does not fail.
            _ = match value {
                Value::String(text) => write!(line, " {key}={}", Quoted(text)),
                value => write!(line, " {key}={value}"),
            };
        }
        line
    }

    fn json(&self, of: &Metadata<'_>, now: UnixTime) -> String {
        let milliseconds = now.seconds as f64 * 1e3 + f64::from(now.nanos) / 1e6;
        // The last two path components, like upstream's package and file; a crate's `src` is omitted.
        let path = of.file().unwrap_or("???").replace("/src/", "/");
        let file = path.rmatch_indices('/').nth(1).and_then(|(at, _)| path.get(at + 1..)).unwrap_or(&path);
        let mut line = format!(
            "{{\"ts\":{milliseconds},\"caller\":{},\"msg\":{}",
            Value::from(format!("{file}:{}", of.line().unwrap_or(1))),
            Value::from(self.message.as_str()),
        );
        // Writing to a String does not fail. Errors have no verbosity.
        _ = match *of.level() {
            Level::ERROR => Ok(()),
            Level::WARN | Level::INFO => line.write_str(",\"v\":0"),
            Level::DEBUG => line.write_str(",\"v\":3"),
            Level::TRACE => line.write_str(",\"v\":6"),
        };
        for (key, value) in &self.values {
            _ = write!(line, ",{}:{value}", Value::from(*key));
        }
        line.push('}');
        line
    }

    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text.into_string(),
            ("message", value) => self.message = value.to_string(),
            // Upstream's key for errors.
            ("error", value) => self.values.push(("err", value)),
            (key, value) => self.values.push((key, value)),
        }
    }
}

impl Visit for EventFields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field, Value::from(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        let number = Number::from_f64(value).map(Value::Number);
        self.add(field, number.unwrap_or_else(|| Value::from(value.to_string())));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io;
    use std::sync::Mutex;

    use component_base::clock::TestClock;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the lines that `log` logs, with this file's line numbers replaced by `N`.
    fn lines(format: Format, log: impl Fn()) -> Vec<String> {
        let written = Written::default();
        let clock = TestClock::default();
        clock.set(UnixTime { seconds: 1_795_461_692, nanos: 373_741_000 });
        let lines = Lines { format, clock: Arc::new(clock), process: 4711 };
        let to = written.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || to.clone()).event_format(lines);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), log);
        let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
        let unnumbered = |line: &str| {
            let (before, rest) = line.split_once("line.rs:").unwrap();
            format!("{before}line.rs:N{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
        };
        text.lines().map(unnumbered).collect()
    }

    #[test]
    fn text_has_klog_header_and_quoted_values() {
        let logged = lines(Format::Text, || {
            tracing::info!(address = %"[::1]:6443", count = 3, on = true, "serving");
            tracing::warn!(took = ?std::time::Duration::from_millis(1500), "slow");
            tracing::error!(error = "no\nway \"out\"", "failed");
            tracing::debug!("detail");
        });
        assert_eq!(
            logged,
            [
                r#"I1123 19:21:32.373741    4711 line.rs:N] "serving" address="[::1]:6443" count=3 on=true"#,
                r#"W1123 19:21:32.373741    4711 line.rs:N] "slow" took="1.5s""#,
                r#"E1123 19:21:32.373741    4711 line.rs:N] "failed" err="no\nway \"out\"""#,
                r#"I1123 19:21:32.373741    4711 line.rs:N] "detail""#,
            ]
        );
    }

    #[test]
    fn json_has_upstreams_keys_in_order() {
        let logged = lines(Format::Json, || {
            tracing::info!(address = %"[::1]:6443", count = 3, "serving");
            tracing::error!(error = "no\nway", "failed");
            tracing::debug!("detail");
        });
        assert_eq!(
            logged,
            [
                r#"{"ts":1795461692373.741,"caller":"logging/line.rs:N","msg":"serving","v":0,"address":"[::1]:6443","count":3}"#,
                r#"{"ts":1795461692373.741,"caller":"logging/line.rs:N","msg":"failed","err":"no\nway"}"#,
                r#"{"ts":1795461692373.741,"caller":"logging/line.rs:N","msg":"detail","v":3}"#,
            ]
        );
    }
}
