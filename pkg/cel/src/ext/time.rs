//! Times and durations: how they are read and written, and their parts in a time zone.

use apimachinery::time::{UnixTime, parse_time};
use jiff::tz::TimeZone;

/// The first second that a timestamp can have, 0001-01-01T00:00:00Z.
pub const MIN_SECONDS: i64 = -62_135_596_800;
/// The last one, 9999-12-31T23:59:59Z.
pub const MAX_SECONDS: i64 = 253_402_300_799;

/// A point in time, and the distance from UTC with which it was written, which its text shows again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// The point in time.
    pub time: UnixTime,
    /// Seconds east of UTC.
    pub offset: i32,
}

/// Why a text is no timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampError {
    /// It is not in RFC 3339.
    Format,
    /// It is before the year 1 or behind the year 9999.
    Range,
}

/// Reads a timestamp in RFC 3339.
pub fn parse_timestamp(text: &str) -> Result<Timestamp, TimestampError> {
    let time = parse_time(text).map_err(|_| TimestampError::Format)?;
    if !(MIN_SECONDS..=MAX_SECONDS).contains(&time.seconds) {
        return Err(TimestampError::Range);
    }
    Ok(Timestamp { time, offset: written_offset(text).unwrap_or(0) })
}

/// The distance from UTC at the end of a time that is known to be well-formed; none for `Z`.
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

/// Writes a timestamp in RFC 3339, with as many digits of the fraction as it needs.
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

/// Where a timestamp's parts are read.
#[derive(Clone, Debug)]
pub enum Zone {
    /// At a fixed distance from UTC, in seconds.
    Fixed(i64),
    /// In a zone of the IANA database.
    Named(TimeZone),
}

impl Zone {
    /// UTC, which is meant if no zone is given.
    pub const UTC: Zone = Zone::Fixed(0);

    /// Reads a zone: a name of the IANA database, or a distance such as `-05:30`, whose numbers may be any.
    pub fn parse(text: &str) -> Result<Zone, String> {
        let Some((hours, minutes)) = text.split_once(':') else { return named(text) };
        let number = |text: &str| apimachinery::strconv::atoi(text).map_err(|error| error.to_string());
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let west = text.starts_with('-');
        let total = hours.wrapping_mul(60).wrapping_add(if west { minutes.wrapping_neg() } else { minutes });
        Ok(Zone::Fixed(total.wrapping_mul(60)))
    }

    /// Seconds east of UTC at a point in time.
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

fn named(name: &str) -> Result<Zone, String> {
    if matches!(name, "" | "UTC" | "Local") {
        return Ok(Zone::UTC);
    }
    if name.contains("..") || name.starts_with(['/', '\\']) || name.contains('\\') {
        return Err("time: invalid location name".to_owned());
    }
    let zone = jiff::tz::db().get(name).ok().filter(|zone| zone.iana_name() == Some(name));
    zone.map(Zone::Named).ok_or_else(|| format!("unknown time zone {name}"))
}

/// A part of a timestamp that a function asks for.
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

/// A part of a point in time, as clocks and calendars show it in a zone.
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

/// Seconds since 1970 by the clock of a zone.
#[derive(Clone, Copy)]
struct Local {
    seconds: i64,
}

const DAY: i64 = 86_400;

impl Local {
    fn new(time: UnixTime, offset: i32) -> Local {
        Local { seconds: time.seconds.saturating_add(i64::from(offset)) }
    }

    /// Whole days since 1970.
    fn days(self) -> i64 {
        self.seconds.div_euclid(DAY)
    }

    fn clock(self) -> (i64, i64, i64) {
        let seconds = self.seconds.rem_euclid(DAY);
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// Year, month and day of the Gregorian calendar. Years are counted from March, so that leap days come last.
    fn date(self) -> (i64, i64, i64) {
        let days = self.days() + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
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

/// The text of a duration: its seconds.
pub fn format_duration(nanos: i64) -> String {
    format!("{}s", units(nanos, 1_000_000_000))
}

/// Hours of a duration, rounded towards zero; as in Go by way of a floating-point number.
pub fn duration_hours(nanos: i64) -> i64 {
    units(nanos, 3_600_000_000_000) as i64
}

/// Minutes of a duration, rounded likewise.
pub fn duration_minutes(nanos: i64) -> i64 {
    units(nanos, 60_000_000_000) as i64
}

/// Seconds of a duration, rounded likewise.
pub fn duration_seconds(nanos: i64) -> i64 {
    units(nanos, 1_000_000_000) as i64
}

/// Milliseconds of a duration, rounded towards zero.
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
    fn timestamps_are_written_with_the_zone_that_they_were_read_with() {
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
    fn unknown_zones_are_refused_in_gos_words() {
        let error = |zone: &str| Zone::parse(zone).unwrap_err();
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
