//! Validation of cron job schedules, with the errors of upstream's parser (`github.com/robfig/cron/v3`,
//! `ParseStandard`). It does not compute times.

use super::time_zone::unknown_zone;
use apimachinery::strconv;
use apimachinery::time::parse_duration;
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
#[error("{0}")]
pub(crate) struct ScheduleError(String);

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
            // Upstream's parser panics here, and its caller reports the panic with this text.
            return Err(ScheduleError(
                "invalid schedule format: runtime error: slice bounds out of range [:-1]".to_owned(),
            ));
        };
        if let Some(detail) = unknown_zone(zone) {
            return Err(ScheduleError(format!("provided bad location {zone}: {detail}")));
        }
        rest = columns.trim();
    }
    if rest.starts_with('@') {
        return descriptor(rest);
    }
    let columns: Vec<&str> = rest.split_whitespace().collect();
    if columns.len() != COLUMNS.len() {
        let count = columns.len();
        return Err(ScheduleError(format!(
            "expected exactly 5 fields, found {count}: [{}]",
            columns.join(" ")
        )));
    }
    let ranges =
        columns.iter().zip(&COLUMNS).flat_map(|(text, column)| text.split(',').map(move |r| (r, column)));
    ranges.filter(|(range, _)| !range.is_empty()).try_for_each(|(range, column)| column.check(range))
}

fn descriptor(text: &str) -> Result<(), ScheduleError> {
    match text {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        _ => match text.strip_prefix("@every ") {
            Some(every) => match parse_duration(every) {
                Ok(_) => Ok(()),
                Err(error) => Err(ScheduleError(format!("failed to parse duration {text}: {error}"))),
            },
            None => Err(ScheduleError(format!("unrecognized descriptor: {text}"))),
        },
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
                    (false, true) => return Err(ScheduleError(format!("too many hyphens: {range}"))),
                    (false, false) => (start, self.number(high)?),
                }
            }
        };
        let mut stride = 1;
        if range.contains('/') {
            if step.contains('/') {
                return Err(ScheduleError(format!("too many slashes: {range}")));
            }
            stride = number(step)?;
            if alone {
                end = self.max;
            }
        }
        let min = self.min;
        let max = self.max;
        if start < min {
            return Err(ScheduleError(format!(
                "beginning of range ({start}) below minimum ({min}): {range}"
            )));
        }
        if end > max {
            return Err(ScheduleError(format!("end of range ({end}) above maximum ({max}): {range}")));
        }
        if start > end {
            return Err(ScheduleError(format!(
                "beginning of range ({start}) beyond end of range ({end}): {range}"
            )));
        }
        match stride {
            0 => Err(ScheduleError(format!("step of range should be a positive number: {range}"))),
            _ => Ok(()),
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
        Ok(value) if value < 0 => {
            Err(ScheduleError(format!("negative number ({value}) not allowed: {text}")))
        }
        Ok(value) => Ok(value),
        Err(error) => Err(ScheduleError(format!("failed to parse int from {text}: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schedule: &str, expected: Result<(), &str>) {
        let expected = expected.map_err(|text| ScheduleError(text.to_owned()));
        assert_eq!(parse_schedule(schedule), expected, "{schedule}");
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
