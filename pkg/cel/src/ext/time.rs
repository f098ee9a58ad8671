//! Parsing and formatting of timestamps and durations, and their parts in a time zone.

use super::error::ParseError;
use apimachinery::time::{UnixTime, parse_time};
use jiff::tz::TimeZone;

/// Minimum timestamp in seconds, 0001-01-01T00:00:00Z.
pub const MIN_SECONDS: i64 = -62_135_596_800;
/// Maximum timestamp in seconds, 9999-12-31T23:59:59Z.
pub const MAX_SECONDS: i64 = 253_402_300_799;

/// A point in time with its written UTC offset, which its text form keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Point in time, independent of the offset.
    pub time: UnixTime,
    /// Seconds east of UTC.
    pub offset: i32,
}

/// Timestamp parse error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampError {
    /// The text is not in RFC 3339 format.
    Format,
    /// The time is before the year 1 or after the year 9999.
    Range,
}

/// Parses an RFC 3339 timestamp.
pub fn parse_timestamp(text: &str) -> Result<Timestamp, TimestampError> {
    let time = parse_time(text).map_err(|_| TimestampError::Format)?;
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&time.seconds) {
        return Err(TimestampError::Range);
    }
    Ok(Timestamp { time, offset: written_offset(text).unwrap_or(0) })
}

/// Returns the UTC offset at the end of a well-formed time; `None` for `Z`.
fn written_offset(text: &str) -> Option<i32> {
    let zone = text.get(text.len().checked_sub(6)?..)?;
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    match zone.as_bytes()[0] {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// Formats a timestamp in RFC 3339, with as many fraction digits as needed.
pub fn format_timestamp(timestamp: Timestamp) -> String {
    let local = Local::new(timestamp.time, timestamp.offset);
    let (hour, minute, second) = local.clock();
    let (year, month, day) = local.date();
    let mut out = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if timestamp.time.nanos > 0 {
        let fraction = format!("{:09}", timestamp.time.nanos);
        out.push('.');
        out.push_str(fraction.trim_end_matches('0'));
    }
    match timestamp.offset / 60 {
        0 => out.push('Z'),
        minutes => {
            let sign = if minutes < 0 { '-' } else { '+' };
            let minutes = minutes.abs();
            out.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
    }
    out
}

/// Time zone for reading timestamp parts.
#[derive(Clone, Debug)]
pub enum Zone {
    /// A fixed UTC offset in seconds.
    Fixed(i64),
    /// A zone of the IANA database.
    Named(TimeZone),
}

impl Zone {
    /// UTC, the default zone.
    pub const UTC: Zone = Zone::Fixed(0);

    /// Parses a zone: an IANA name, or an offset such as `-05:30` with an arbitrary number of hours.
    pub fn parse(text: &str) -> Result<Zone, ParseError> {
        let Some((hours, minutes)) = text.split_once(':') else { return load_zone(text) };
        let number = |text: &str| {
            apimachinery::strconv::atoi(text).map_err(|error| ParseError::new(error.to_string()))
        };
        let hours = number(hours)?;
        let minutes = number(minutes)?;
        if !(0..60).contains(&minutes) {
            return Err(ParseError::new(format!("timezone offset minutes out of range [0, 59]: {text}")));
        }
        let west = text.starts_with('-');
        let total = hours.wrapping_mul(60).wrapping_add(if west { minutes.wrapping_neg() } else { minutes });
        Ok(Zone::Fixed(total.wrapping_mul(60)))
    }

    /// Returns the offset in seconds east of UTC at a point in time.
    fn offset(&self, time: UnixTime) -> i64 {
        match self {
            Zone::Fixed(offset) => *offset,
            Zone::Named(zone) => {
                let seconds =
                    time.seconds.clamp(jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
                let at = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
                i64::from(zone.to_offset(at).seconds())
            }
        }
    }
}

fn load_zone(name: &str) -> Result<Zone, ParseError> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(Zone::UTC);
    }
    if name.contains("..") || name.starts_with(['/', '\\']) || name.contains('\\') {
        return Err(ParseError::new("time: invalid location name"));
    }
    let zone = jiff::tz::db().get(name).ok().filter(|zone| zone.iana_name() == Some(name));
    zone.map(Zone::Named).ok_or_else(|| ParseError::new(format!("unknown time zone {name}")))
}

/// A timestamp part, by accessor function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// `getFullYear`.
    Year,
    /// `getMonth`, from 0.
    Month,
    /// `getDayOfYear`, from 0.
    DayOfYear,
    /// `getDate`, from 1.
    Date,
    /// `getDayOfMonth`, from 0.
    DayOfMonth,
    /// `getDayOfWeek`, from 0 for Sunday.
    DayOfWeek,
    /// `getHours`.
    Hours,
    /// `getMinutes`.
    Minutes,
    /// `getSeconds`.
    Seconds,
    /// `getMilliseconds`.
    Milliseconds,
}

/// Returns a part of a point in time in a zone.
pub fn part(time: UnixTime, zone: &Zone, part: Part) -> i64 {
    let local = Local { seconds: time.seconds.saturating_add(zone.offset(time)) };
    let (hour, minute, second) = local.clock();
    match part {
        Part::Year => local.date().0,
        Part::Month => local.date().1 - 1,
        Part::DayOfYear => local.day_of_year(),
        Part::Date => local.date().2,
        Part::DayOfMonth => local.date().2 - 1,
        Part::DayOfWeek => (local.days() + 4).rem_euclid(7),
        Part::Hours => hour,
        Part::Minutes => minute,
        Part::Seconds => second,
        Part::Milliseconds => i64::from(time.nanos / 1_000_000),
    }
}

/// Local time in seconds since 1970.
#[derive(Clone, Copy)]
struct Local {
    seconds: i64,
}

const DAY: i64 = 86_400;

impl Local {
    fn new(time: UnixTime, offset: i32) -> Local {
        Local { seconds: time.seconds.saturating_add(i64::from(offset)) }
    }

    /// Returns whole days since 1970.
    fn days(self) -> i64 {
        self.seconds.div_euclid(DAY)
    }

    fn clock(self) -> (i64, i64, i64) {
        let seconds = self.seconds.rem_euclid(DAY);
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// Returns year, month and day of the Gregorian calendar. The computation counts years from March, so
    /// that leap days come last.
    fn date(self) -> (i64, i64, i64) {
        let days = self.days() + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        (era * 400 + year_of_era + i64::from(month <= 2), month, day)
    }

    fn day_of_year(self) -> i64 {
        let (year, month, day) = self.date();
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][(month - 1) as usize];
        before + day - 1 + i64::from(leap && month > 2)
    }
}

/// Formats a duration in seconds.
pub fn format_duration(nanos: i64) -> String {
    format!("{}s", units(nanos, 1_000_000_000))
}

/// Returns the hours of a duration, rounded towards zero via a floating-point number as in Go.
pub fn duration_hours(nanos: i64) -> i64 {
    units(nanos, 3_600_000_000_000) as i64
}

/// Returns the minutes of a duration, rounded the same way.
pub fn duration_minutes(nanos: i64) -> i64 {
    units(nanos, 60_000_000_000) as i64
}

/// Returns the seconds of a duration, rounded the same way.
pub fn duration_seconds(nanos: i64) -> i64 {
    units(nanos, 1_000_000_000) as i64
}

/// Returns the milliseconds of a duration, rounded towards zero.
pub fn duration_milliseconds(nanos: i64) -> i64 {
    nanos / 1_000_000
}

fn units(nanos: i64, unit: i64) -> f64 {
    (nanos / unit) as f64 + (nanos % unit) as f64 / unit as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(text: &str) -> Timestamp {
        parse_timestamp(text).unwrap()
    }

    #[test]
    fn timestamps_keep_their_zone() {
        for text in [
            "2009-02-13T23:31:30Z",
            "2009-02-13T23:31:30.05+05:30",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(format_timestamp(timestamp(text)), text);
        }
        assert_eq!(parse_timestamp("0000-12-31T23:59:59Z"), Err(TimestampError::Range));
        assert_eq!(parse_timestamp("2009-02-13"), Err(TimestampError::Format));
    }

    #[test]
    fn parts_depend_on_the_zone() {
        let time = timestamp("2009-02-13T23:31:30.120Z").time;
        let parts = |zone: &str| {
            let zone = Zone::parse(zone).unwrap();
            let all = [
                Part::Year,
                Part::Month,
                Part::DayOfYear,
                Part::Date,
                Part::DayOfMonth,
                Part::DayOfWeek,
                Part::Hours,
            ];
            all.map(|which| part(time, &zone, which))
        };
        assert_eq!(parts("UTC"), [2009, 1, 43, 13, 12, 5, 23]);
        assert_eq!(parts("Australia/Sydney"), [2009, 1, 44, 14, 13, 6, 10]);
        assert_eq!(parts("+11:00"), parts("Australia/Sydney"));
        assert_eq!(parts("America/New_York"), [2009, 1, 43, 13, 12, 5, 18]);
        assert_eq!(part(time, &Zone::parse("-02:30").unwrap(), Part::Minutes), 1);
        assert_eq!(part(time, &Zone::UTC, Part::Milliseconds), 120);
    }

    #[test]
    fn unknown_zone_errors_equal_gos() {
        let error = |zone: &str| Zone::parse(zone).unwrap_err().to_string();
        assert_eq!(error("Am/Ph"), "unknown time zone Am/Ph");
        assert_eq!(error("america/new_york"), "unknown time zone america/new_york");
        assert_eq!(error("../etc"), "time: invalid location name");
        assert_eq!(error(":xx"), "strconv.Atoi: parsing \"\": invalid syntax");
    }

    #[test]
    fn durations_are_seconds() {
        assert_eq!(format_duration(6_347_000_000_000), "6347s");
        assert_eq!(format_duration(-2), "-0.000000002s");
        assert_eq!((duration_hours(-5_400_000_000_000), duration_minutes(90_500_000_000)), (-1, 1));
    }
}
