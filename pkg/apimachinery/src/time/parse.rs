//! Parses the two time layouts of the API, element by element like Go. So the accepted variants and the
//! errors are the same: a one-digit hour and a comma before the fraction are valid, and the error names the
//! invalid element.
#![allow(clippy::arithmetic_side_effects)]

use super::civil::{Civil, days_in};
use super::{UnixTime, time_quote};
use thiserror::Error;

const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
const RFC3339_MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";
/// Years after which the calendar repeats.
const ERA_YEARS: i128 = 400;
/// Seconds in [`ERA_YEARS`].
const ERA_SECONDS: i128 = 146_097 * 86_400;

/// Syntax error in a time, in Go's wording.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TimeParseError(String);

/// Parses a `metav1.Time`. The result keeps a fraction of a second; the API truncates it when it encodes the
/// time.
///
/// # Errors
/// Go's errors, e.g. `parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"`.
pub fn parse_time(text: &str) -> Result<UnixTime, TimeParseError> {
    parse_canonical(text.as_bytes()).map_or_else(|| parse(text, RFC3339, false), Ok)
}

/// Parses the text of an [`Rfc3339`](super::Rfc3339) of any year. Go formats every year but parses only the
/// years 0 to 9999. The offset of a text, or a Protobuf body, can lead out of them.
pub fn parse_shown(text: &str) -> Option<UnixTime> {
    parse_time(text).ok().or_else(|| parse_other_year(text))
}

/// Parses a time outside of the years 0 to 9999, by way of a year with the same calendar.
fn parse_other_year(text: &str) -> Option<UnixTime> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (digits, rest) = unsigned.split_once('-')?;
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let magnitude = i128::from(digits.parse::<i64>().ok()?);
    let year = if unsigned.len() < text.len() { -magnitude } else { magnitude };
    let similar = 2000 + year.rem_euclid(ERA_YEARS);
    let time = parse_time(&format!("{similar}-{rest}")).ok()?;
    let seconds = i128::from(time.seconds) + (year - similar) / ERA_YEARS * ERA_SECONDS;
    Some(UnixTime { seconds: i64::try_from(seconds).ok()?, ..time })
}

/// True if a text has the format of [`Rfc3339`](super::Rfc3339), so that it can be reused without parsing.
pub fn is_shown(text: &str) -> bool {
    parts(text.as_bytes()).is_some()
}

/// Fast path for times in the API's own format, which are nearly all. Returns `None` for any other text.
fn parse_canonical(text: &[u8]) -> Option<UnixTime> {
    let (date, seconds) = parts(text)?;
    Some(UnixTime { seconds: date.to_days() * 86_400 + seconds, nanos: 0 })
}

/// Returns the date and the second of the day; every digit has a fixed position.
fn parts(text: &[u8]) -> Option<(Civil, i64)> {
    let [y1, y2, y3, y4, b'-', o1, o2, b'-', d1, d2, b'T', h1, h2, b':', m1, m2, b':', s1, s2, b'Z'] = text
    else {
        return None;
    };
    let two = |digits: [&u8; 2]| {
        let [tens, ones] = digits.map(|digit| i64::from(digit.wrapping_sub(b'0')));
        (tens < 10 && ones < 10).then_some(tens * 10 + ones)
    };
    let year = two([y1, y2])? * 100 + two([y3, y4])?;
    let month = two([o1, o2])?;
    let day = two([d1, d2])?;
    let hour = two([h1, h2])?;
    let minute = two([m1, m2])?;
    let second = two([s1, s2])?;
    let is_date = (1..=12).contains(&month) && (1..=days_in(month, year)).contains(&day);
    let is_valid = is_date && hour < 24 && minute < 60 && second < 60;
    is_valid.then_some((Civil { year, month, day }, hour * 3600 + minute * 60 + second))
}

/// Parses a `metav1.MicroTime`, which must have exactly six digits after the point.
///
/// # Errors
/// As [`parse_time`], with the other layout.
pub fn parse_micro_time(text: &str) -> Result<UnixTime, TimeParseError> {
    parse(text, RFC3339_MICRO, true)
}

/// Reason that the parser stopped.
enum Stop<'a> {
    /// The text does not continue with this element of the layout.
    Mismatch { element: &'static str, found: &'a [u8] },
    /// A number is out of range, or text follows the time.
    Message(String),
}

fn parse(text: &str, layout: &str, micros: bool) -> Result<UnixTime, TimeParseError> {
    let mut scanner = Scanner { rest: text.as_bytes() };
    scanner.time(micros).map_err(|stop| match stop {
        Stop::Mismatch { element, found } => {
            let found = text.get(text.len() - found.len()..).unwrap_or_default();
            TimeParseError(format!(
                "parsing time {} as {}: cannot parse {} as {}",
                time_quote(text),
                time_quote(layout),
                time_quote(found),
                time_quote(element)
            ))
        }
        Stop::Message(message) => TimeParseError(format!("parsing time {}{message}", time_quote(text))),
    })
}

struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    fn time(&mut self, micros: bool) -> Result<UnixTime, Stop<'a>> {
        let year = self.year()?;
        self.literal("-", b'-')?;
        let month = self.number("01", true)?;
        in_range(1..=12, month, "month")?;
        self.literal("-", b'-')?;
        let day = self.number("02", true)?;
        self.literal("T", b'T')?;
        let hour = self.number("15", false)?;
        in_range(0..=23, hour, "hour")?;
        self.literal(":", b':')?;
        let minute = self.number("04", true)?;
        in_range(0..=59, minute, "minute")?;
        self.literal(":", b':')?;
        let second = self.number("05", true)?;
        in_range(0..=59, second, "second")?;
        let nanos = if micros { self.micros()? } else { self.optional_fraction() };
        let offset_seconds = self.zone()?;
        if !self.rest.is_empty() {
            let extra = String::from_utf8_lossy(self.rest);
            return Err(Stop::Message(format!(": extra text: {}", time_quote(&extra))));
        }
        in_range(1..=days_in(month, year), day, "day")?;
        let days = Civil { year, month, day }.to_days();
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset_seconds;
        Ok(UnixTime { seconds, nanos })
    }

    fn year(&mut self) -> Result<i64, Stop<'a>> {
        let mismatch = Stop::Mismatch { element: "2006", found: self.rest };
        match self.rest.split_first_chunk::<4>() {
            Some((digits, rest)) if digits.iter().all(u8::is_ascii_digit) => {
                self.rest = rest;
                Ok(decimal(digits))
            }
            _ => Err(mismatch),
        }
    }

    fn literal(&mut self, element: &'static str, byte: u8) -> Result<(), Stop<'a>> {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(Stop::Mismatch { element, found: self.rest }),
        }
    }

    /// Parses two digits, or one if two are not required.
    fn number(&mut self, element: &'static str, two: bool) -> Result<i64, Stop<'a>> {
        let digits = self.rest.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || (two && digits == 1) {
            return Err(Stop::Mismatch { element, found: self.rest });
        }
        Ok(decimal(self.take(digits)))
    }

    /// Parses `.` or `,` and any number of digits, of which nine are used. Optional.
    fn optional_fraction(&mut self) -> u32 {
        let digits = match self.rest.split_first() {
            Some((b'.' | b',', rest)) => rest.iter().take_while(|b| b.is_ascii_digit()).count(),
            _ => 0,
        };
        if digits == 0 {
            return 0;
        }
        let fraction = self.take(1 + digits).get(1..).unwrap_or_default();
        nanos(fraction.get(..9).unwrap_or(fraction))
    }

    /// Parses a point and six digits. Go reads them as a signed number, so a sign in place of the first digit
    /// is accepted or out of range.
    fn micros(&mut self) -> Result<u32, Stop<'a>> {
        let found = self.rest;
        let mismatch = || Stop::Mismatch { element: ".000000", found };
        let [b'.' | b',', digits @ ..] = self.take(7) else { return Err(mismatch()) };
        if digits.len() < 6 {
            return Err(mismatch());
        }
        let (negative, unsigned) = match digits {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        if !unsigned.iter().all(u8::is_ascii_digit) {
            return Err(mismatch());
        }
        let micros = decimal(unsigned);
        if negative && micros > 0 {
            return Err(Stop::Message(": fractional second out of range".to_owned()));
        }
        Ok(u32::try_from(micros * 1000).unwrap_or_default())
    }

    /// Parses `Z` or `±hh:mm`, in seconds east of Greenwich.
    fn zone(&mut self) -> Result<i64, Stop<'a>> {
        let mismatch = Stop::Mismatch { element: "Z07:00", found: self.rest };
        if let Some((b'Z', rest)) = self.rest.split_first() {
            self.rest = rest;
            return Ok(0);
        }
        let &[sign, h1, h2, b':', m1, m2] = self.take(6) else { return Err(mismatch) };
        let hour_valid = h1.is_ascii_digit() && h2.is_ascii_digit();
        let minute_valid = m1.is_ascii_digit() && m2.is_ascii_digit();
        let hour = if hour_valid { decimal(&[h1, h2]) } else { 0 };
        let minute = if hour_valid && minute_valid { decimal(&[m1, m2]) } else { 0 };
        // Go accepts offsets of 24 hours and of 60 minutes. Of two errors it reports the later one.
        in_range(0..=60, minute, "time zone offset minute")?;
        in_range(0..=24, hour, "time zone offset hour")?;
        let seconds = (hour * 60 + minute) * 60;
        match sign {
            b'+' if minute_valid && hour_valid => Ok(seconds),
            b'-' if minute_valid && hour_valid => Ok(-seconds),
            _ => Err(mismatch),
        }
    }

    /// Up to `len` bytes.
    fn take(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        head
    }
}

fn in_range<'a>(range: std::ops::RangeInclusive<i64>, value: i64, element: &str) -> Result<(), Stop<'a>> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Stop::Message(format!(": {element} out of range")))
}

fn decimal(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0'))
}

/// Converts up to nine digits after the point to nanoseconds.
fn nanos(digits: &[u8]) -> u32 {
    let padded = digits.iter().chain(std::iter::repeat(&b'0')).take(9);
    padded.fold(0, |n, digit| n * 10 + u32::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_path_matches_element_parser() {
        let mut shown_ones = 0;
        let good = "2024-02-29T23:59:59Z";
        for at in 0..good.len() {
            for byte in (b' '..=b'~').map(char::from) {
                let mut text = good.to_owned();
                text.replace_range(at..=at, &byte.to_string());
                let expected = parse(&text, RFC3339, false);
                if let Some(time) = parse_canonical(text.as_bytes()) {
                    assert_eq!(Ok(time), expected, "{text}");
                    shown_ones += 1;
                }
                assert_eq!(parse_time(&text), expected, "{text}");
            }
        }
        assert!(shown_ones > 60, "{shown_ones}");
        for text in ["", "Z", "2024-02-29T23:59:59.5Z", "2024-02-29T23:59:59+01:00", "12024-02-29T23:59:59Z"]
        {
            assert_eq!(parse_canonical(text.as_bytes()), None, "{text}");
        }
    }
}
