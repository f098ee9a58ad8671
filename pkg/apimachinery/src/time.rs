//! Times in API format: RFC 3339 in whole seconds (`metav1.Time`) or with six digits (`metav1.MicroTime`),
//! always UTC; and Go durations.
//!
//! Accepted texts and error texts are those of Go's `time.Parse` and `time.ParseDuration`. Clients see the
//! error texts.
#![allow(clippy::arithmetic_side_effects)]

mod civil;
mod duration;
mod parse;

pub use duration::{DurationError, format_duration, parse_duration};
pub use parse::{TimeParseError, is_shown, parse_micro_time, parse_shown, parse_time};

use civil::Civil;
use jsontree::{Text, Value};
use std::fmt::{self, Display, Write as _};
use std::io::Write;

/// A point in time: seconds since 1970 and nanoseconds within the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixTime {
    /// Seconds since 1970-01-01T00:00:00Z, negative before.
    pub seconds: i64,
    /// Nanoseconds below 10⁹, counted forwards even before 1970.
    pub nanos: u32,
}

/// Zero value of Go's `time.Time`, 0001-01-01T00:00:00Z, which means "not set" and is encoded as `null`.
pub const GO_ZERO_TIME: UnixTime = UnixTime { seconds: -62_135_596_800, nanos: 0 };
/// [`GO_ZERO_TIME`] as text.
pub const GO_ZERO_TIME_TEXT: &str = "0001-01-01T00:00:00Z";

impl UnixTime {
    /// Creates a time from whole seconds since 1970-01-01T00:00:00Z, negative before.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// True for the zero value, which means "not set".
    pub fn is_go_zero(self) -> bool {
        self == GO_ZERO_TIME
    }

    /// Nanoseconds from `earlier` to this time. Negative if `earlier` is later, and limited to about ±292
    /// years, like Go's `Parsed`.
    pub fn nanos_since(self, earlier: UnixTime) -> i64 {
        let nanos = |t: UnixTime| i128::from(t.seconds) * 1_000_000_000 + i128::from(t.nanos);
        let difference = nanos(self) - nanos(earlier);
        let capped = difference.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        i64::try_from(capped).unwrap_or_default()
    }

    /// `2006-01-02T15:04:05Z`; the fraction is truncated.
    pub const fn rfc3339(self) -> Rfc3339 {
        Rfc3339 { time: self, micros: false }
    }

    /// `2006-01-02T15:04:05.000000Z`; digits below a microsecond are truncated.
    pub const fn rfc3339_micro(self) -> Rfc3339 {
        Rfc3339 { time: self, micros: true }
    }

    /// Appends [`rfc3339_micro`](Self::rfc3339_micro).
    pub fn write_rfc3339_micro(self, out: &mut Vec<u8>) {
        match self.ascii() {
            Some(ascii) => out.extend_from_slice(&ascii),
            // Writing to memory cannot fail.
            None => _ = write!(out, "{}", self.rfc3339_micro()),
        }
    }

    /// As [`rfc3339_micro`](Self::rfc3339_micro); `None` for years without exactly four digits.
    fn ascii(self) -> Option<[u8; 27]> {
        let Civil { year, month, day } = Civil::from_days(self.seconds.div_euclid(86_400));
        if !(0..=9999).contains(&year) {
            return None;
        }
        let second = self.seconds.rem_euclid(86_400);
        let micros = i64::from(self.nanos / 1000);
        let [[y1, y2], [y3, y4], [m1, m2], [d1, d2]] = [year / 100, year % 100, month, day].map(two_digits);
        let [[h1, h2], [n1, n2], [s1, s2]] = [second / 3600, second / 60 % 60, second % 60].map(two_digits);
        let [[a, b], [c, d], [e, f]] = [micros / 10_000, micros / 100 % 100, micros % 100].map(two_digits);
        Some([
            y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2, b'.', a, b,
            c, d, e, f, b'Z',
        ])
    }
}

/// Length of the part before the fraction.
const WHOLE_BYTES: usize = "2006-01-02T15:04:05".len();

/// Time in API format, from [`UnixTime::rfc3339`] and [`UnixTime::rfc3339_micro`].
pub struct Rfc3339 {
    time: UnixTime,
    micros: bool,
}

impl Display for Rfc3339 {
    /// Avoids the slow number formatting of `fmt`, because every response and record contains such texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ascii) = self.time.ascii() {
            let (seconds, fraction) = text(&ascii).split_at(WHOLE_BYTES);
            f.write_str(seconds)?;
            return f.write_str(if self.micros { fraction } else { "Z" });
        }
        let UnixTime { seconds, nanos } = self.time;
        let (Civil { year, month, day }, second) =
            (Civil::from_days(seconds.div_euclid(86_400)), seconds.rem_euclid(86_400));
        let hour = second / 3600;
        let minute = second / 60 % 60;
        let second = second % 60;
        write!(f, "{}{:04}", if year < 0 { "-" } else { "" }, year.unsigned_abs())?;
        write!(f, "-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if self.micros { write!(f, ".{:06}Z", nanos / 1000) } else { f.write_str("Z") }
    }
}

impl From<Rfc3339> for Value {
    fn from(time: Rfc3339) -> Self {
        let mut out = Text::default();
        // Writing to a string does not fail.
        let _ = write!(out, "{time}");
        Value::String(out)
    }
}

fn two_digits(number: i64) -> [u8; 2] {
    let digit = |number: i64| u8::try_from(number % 10).map_or(b'0', |digit| b'0' + digit);
    [digit(number / 10), digit(number)]
}

fn text(ascii: &[u8]) -> &str {
    std::str::from_utf8(ascii).unwrap_or_default()
}

/// Go's quoting in time errors: bytes outside printable ASCII become `\xNN`, except DEL.
fn time_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
