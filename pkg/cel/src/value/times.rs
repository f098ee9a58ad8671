//! Timestamps as values; timestamps and durations in data under a schema.

use apimachinery::time::{UnixTime, parse_duration};

use super::Timestamp;
use crate::ext::ParseError;
use crate::ext::time::{self, parse_timestamp};

impl From<time::Timestamp> for Timestamp {
    fn from(at: time::Timestamp) -> Self {
        Self { seconds: at.time.seconds, nanos: at.time.nanos, offset: at.offset }
    }
}

impl Timestamp {
    /// Drops the UTC offset.
    pub(crate) fn unix(self) -> UnixTime {
        UnixTime { seconds: self.seconds, nanos: self.nanos }
    }

    /// Formats the timestamp.
    pub(crate) fn text(self) -> String {
        time::format_timestamp(time::Timestamp { time: self.unix(), offset: self.offset })
    }
}

/// Unit spellings with their nanoseconds. A word may be longer than the last spelling of its unit.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1_000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], 1_000_000_000),
    (&["m", "min"], 60_000_000_000),
    (&["h", "hr", "hour"], 3_600_000_000_000),
    (&["d", "day"], 86_400_000_000_000),
    (&["w", "wk", "week"], 604_800_000_000_000),
];

/// Parses a value of format `duration`: Go's notation, or words such as `2 weeks`.
pub(super) fn duration(text: &str) -> Result<i64, ParseError> {
    if let Ok(nanos) = parse_duration(text) {
        return Ok(nanos);
    }
    let mut total = None;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = &rest[start..];
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let after = digits[end..].trim_start_matches(|c: char| c.is_ascii_whitespace());
        let word = after.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(after.len());
        rest = &after[word..];
        let Some(unit) = unit(&after[..word].to_lowercase()) else { continue };
        let factor = apimachinery::strconv::atoi(&digits[..end])
            .map_err(|error| ParseError::new(error.to_string()))?;
        total = Some(factor.wrapping_mul(unit).wrapping_add(total.unwrap_or(0)));
    }
    total.ok_or_else(|| ParseError::new(format!("unable to parse {text} as duration")))
}

fn unit(word: &str) -> Option<i64> {
    let is = |spellings: &[&str]| {
        spellings.contains(&word) || spellings.last().is_some_and(|last| word.starts_with(last))
    };
    UNITS.iter().find(|(spellings, _)| is(spellings)).map(|(_, nanos)| *nanos)
}

/// Parses a value of format `date`.
pub(super) fn date(text: &str) -> Result<Timestamp, ParseError> {
    let start = format!("{text}T00:00:00Z");
    let at = apimachinery::time::parse_time(&start).ok().filter(|_| text.len() == 10);
    let invalid = || {
        ParseError::new(format!("parsing time {text:?} as \"2006-01-02\": cannot parse {text:?} as \"2006\""))
    };
    at.map(|at| Timestamp { seconds: at.seconds, nanos: 0, offset: 0 }).ok_or_else(invalid)
}

/// Parses a value of format `date-time`: a missing zone means UTC, and an empty text means 1970.
pub(super) fn date_time(text: &str) -> Result<Timestamp, ParseError> {
    if text.is_empty() {
        return Ok(Timestamp { seconds: 0, nanos: 0, offset: 0 });
    }
    if let Ok(at) = parse_timestamp(text) {
        return Ok(at.into());
    }
    let invalid = || {
        let layout = "2006-01-02T15:04:05";
        ParseError::new(format!("parsing time {text:?} as \"{layout}\": cannot parse {text:?} as \"2006\""))
    };
    parse_timestamp(&format!("{text}Z")).map(Into::into).map_err(|_| invalid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_may_be_words() {
        for (text, seconds) in
            [("1h", 3600), ("2 weeks", 1_209_600), ("1day 3 hours", 97_200), ("5 min", 300)]
        {
            assert_eq!(duration(text), Ok(seconds * 1_000_000_000), "{text}");
        }
        assert_eq!(duration("soon"), Err(ParseError::new("unable to parse soon as duration")));
    }
}
