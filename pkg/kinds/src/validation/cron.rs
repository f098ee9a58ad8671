//! Validation of cron job schedules, with the errors of upstream's parser (`github.com/robfig/cron/v3`,
//! `ParseStandard`). It does not compute times.

use super::time_zone::unknown_zone;
use apimachinery::strconv::{self, NumError};
use apimachinery::time::{DurationError, parse_duration};
use thiserror::Error;

/// One of the five columns of a schedule.
struct Column {
    min: i64,
    max: i64,
    /// Names, in lower case, of the values from `min` on.
    names: &'static [&'static str],
}

const COLUMNS: [Column; 5] = [
    Column { min: 0, max: 59, names: &[] },
    Column { min: 0, max: 23, names: &[] },
    Column { min: 1, max: 31, names: &[] },
    Column {
        min: 1,
        max: 12,
        names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Column { min: 0, max: 6, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/// Parse error of a schedule, in upstream's wording.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum ScheduleError {
    /// A time zone without columns. Upstream's parser panics, and its caller reports the panic with this text.
    #[error("invalid schedule format: runtime error: slice bounds out of range [:-1]")]
    OnlyZone,
    #[error("provided bad location {zone}: {detail}")]
    Zone { zone: String, detail: String },
    #[error("expected exactly 5 fields, found {count}: [{columns}]")]
    Columns { count: usize, columns: String },
    #[error("unrecognized descriptor: {0}")]
    Descriptor(String),
    #[error("failed to parse duration {descriptor}: {source}")]
    Duration { descriptor: String, source: DurationError },
    #[error("too many hyphens: {0}")]
    Hyphens(String),
    #[error("too many slashes: {0}")]
    Slashes(String),
    #[error("beginning of range ({start}) below minimum ({min}): {range}")]
    BelowMin { start: i64, min: i64, range: String },
    #[error("end of range ({end}) above maximum ({max}): {range}")]
    AboveMax { end: i64, max: i64, range: String },
    #[error("beginning of range ({start}) beyond end of range ({end}): {range}")]
    Reversed { start: i64, end: i64, range: String },
    #[error("step of range should be a positive number: {0}")]
    Step(String),
    #[error("negative number ({value}) not allowed: {text}")]
    Negative { value: i64, text: String },
    #[error("failed to parse int from {text}: {source}")]
    Number { text: String, source: NumError },
}

/// Checks a schedule: five columns, or a descriptor such as `@hourly`. Both may have a time zone prefix
/// (`TZ=…`, `CRON_TZ=…`).
///
/// # Errors
/// The first problem.
pub(crate) fn parse_schedule(schedule: &str) -> Result<(), ScheduleError> {
    let mut rest = schedule;
    let zoned = ["TZ=", "CRON_TZ="].iter().find_map(|prefix| schedule.strip_prefix(prefix));
    if let Some(after) = zoned {
        let Some((zone, columns)) = after.split_once(' ') else {
            return Err(ScheduleError::OnlyZone);
        };
        if let Some(detail) = unknown_zone(zone) {
            return Err(ScheduleError::Zone { zone: zone.to_owned(), detail });
        }
        rest = columns.trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }
    // A hostile schedule has more than a million columns.
    let columns = || rest.split_whitespace();
    let count = columns().count();
    if count != COLUMNS.len() {
        let mut text = String::with_capacity(rest.len());
        for (number, column) in columns().enumerate() {
            text.push_str(if number == 0 { "" } else { " " });
            text.push_str(column);
        }
        return Err(ScheduleError::Columns { count, columns: text });
    }
    let ranges = columns().zip(&COLUMNS).flat_map(|(text, column)| text.split(',').map(move |r| (r, column)));
    ranges.filter(|(range, _)| !range.is_empty()).try_for_each(|(range, column)| column.check(range))
}

fn descriptor(text: &str) -> Result<(), ScheduleError> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => {
            let every = text.strip_prefix("@every ");
            let every = every.ok_or_else(|| ScheduleError::Descriptor(text.to_owned()))?;
            parse_duration(every)
                .map(drop)
                .map_err(|source| ScheduleError::Duration { descriptor: text.to_owned(), source })
        }
    }
}

impl Column {
    /// Checks `*`, `number` or `number-number`, each with an optional `/step`.
    fn check(&self, range: &str) -> Result<(), ScheduleError> {
        let (bounds, step) = range.split_once('/').unwrap_or((range, "1"));
        let (low, high) = bounds.split_once('-').unwrap_or((bounds, ""));
        let alone = !bounds.contains('-');
        let (start, mut end) = match low {
            "*" | "?" => (self.min, self.max),
            _ => {
                let start = self.number(low)?;
                match (alone, high.contains('-')) {
                    (true, _) => (start, start),
                    (false, true) => return Err(ScheduleError::Hyphens(range.to_owned())),
                    (false, false) => (start, self.number(high)?),
                }
            }
        };
        let mut stride = 1;
        if range.contains('/') {
            if step.contains('/') {
                return Err(ScheduleError::Slashes(range.to_owned()));
            }
            stride = number(step)?;
            if alone {
                end = self.max;
            }
        }
        let min = self.min;
        let max = self.max;
        let range = range.to_owned();
        if start < min {
            Err(ScheduleError::BelowMin { start, min, range })
        } else if end > max {
            Err(ScheduleError::AboveMax { end, max, range })
        } else if start > end {
            Err(ScheduleError::Reversed { start, end, range })
        } else if stride == 0 {
            Err(ScheduleError::Step(range))
        } else {
            Ok(())
        }
    }

    fn number(&self, text: &str) -> Result<i64, ScheduleError> {
        let lower = text.to_lowercase();
        match (self.min..).zip(self.names).find(|(_, name)| **name == lower) {
            Some((value, _)) => Ok(value),
            None => number(text),
        }
    }
}

fn number(text: &str) -> Result<i64, ScheduleError> {
    match strconv::atoi(text) {
        Ok(value) if value < 0 => Err(ScheduleError::Negative { value, text: text.to_owned() }),
        Ok(value) => Ok(value),
        Err(source) => Err(ScheduleError::Number { text: text.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schedule: &str, expected: Result<(), &str>) {
        let parsed = parse_schedule(schedule).map_err(|error| error.to_string());
        assert_eq!(parsed, expected.map_err(str::to_owned), "{schedule}");
    }

    #[test]
    fn schedules_have_five_columns_or_a_descriptor() {
        for good in [
            "* * * * ?",
            "*/5 0-23 1,15 JAN-dec mon",
            "0 0 1 1 0,,6",
            "59 23 31 12 6",
            "5/15 * * * *",
            "@hourly",
            "@every 1h30m",
            "TZ=Europe/Berlin 0 0 * * *",
            "CRON_TZ=UTC @daily",
        ] {
            check(good, Ok(()));
        }
        check("bad", Err("expected exactly 5 fields, found 1: [bad]"));
        check("0 0 * *  * *", Err("expected exactly 5 fields, found 6: [0 0 * * * *]"));
        check("@never", Err("unrecognized descriptor: @never"));
        check("@every x", Err("failed to parse duration @every x: time: invalid duration \"x\""));
    }

    #[test]
    fn columns_are_ranges_with_steps() {
        check("60 * * * *", Err("end of range (60) above maximum (59): 60"));
        check("* * 0 * *", Err("beginning of range (0) below minimum (1): 0"));
        check("* 5-2 * * *", Err("beginning of range (5) beyond end of range (2): 5-2"));
        check("1-2-3 * * * *", Err("too many hyphens: 1-2-3"));
        check("*/1/2 * * * *", Err("too many slashes: */1/2"));
        check("*/0 * * * *", Err("step of range should be a positive number: */0"));
        check("*/-5 * * * *", Err("negative number (-5) not allowed: -5"));
        check("x * * * *", Err("failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"));
        check("* * * * 7", Err("end of range (7) above maximum (6): 7"));
    }

    #[test]
    fn time_zones_are_known_ones() {
        check("TZ=Mars/City * * * * *", Err("provided bad location Mars/City: unknown time zone Mars/City"));
        check("TZ=0", Err("invalid schedule format: runtime error: slice bounds out of range [:-1]"));
    }
}
