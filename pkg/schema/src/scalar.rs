//! Times between wire and text.

use std::io::Write;

use apimachinery::time::UnixTime;

/// Appends `2006-01-02T15:04:05Z`, with six fraction digits if `micro`.
pub(crate) fn write_time(time: UnixTime, micro: bool, out: &mut Vec<u8>) {
    // A vector takes everything.
    let _ = match micro {
        false => write!(out, "{}", time.rfc3339()),
        true => write!(out, "{}", time.rfc3339_micro()),
    };
}

/// A MicroTime's wire numbers in normal form, as Go's `time.Unix` makes it; below a microsecond is
/// cut off.
pub(crate) fn micro_time(seconds: i64, nanos: i32) -> UnixTime {
    let micros = i64::from(nanos) / 1000;
    UnixTime {
        seconds: seconds.saturating_add(micros.div_euclid(1_000_000)),
        nanos: (micros.rem_euclid(1_000_000) * 1000) as u32,
    }
}

/// Whether the text of a time reads back as the same: Go prints times of any year and parses the
/// years 0 to 9999.
pub(crate) fn reads_back(time: UnixTime) -> bool {
    (-62_167_219_200..=253_402_300_799).contains(&time.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::time::parse_time;

    #[test]
    fn times_of_four_digit_years_read_back() {
        for seconds in [-62_167_219_200, 0, 1_700_000_000, 253_402_300_799] {
            let time = UnixTime::from_seconds(seconds);
            assert!(reads_back(time));
            let mut text = Vec::new();
            write_time(time, false, &mut text);
            assert_eq!(parse_time(std::str::from_utf8(&text).unwrap()).unwrap(), time);
        }
        assert!(!reads_back(UnixTime::from_seconds(253_402_300_800)));
        assert!(!reads_back(UnixTime::from_seconds(-62_167_219_201)));
    }

    #[test]
    fn nanoseconds_are_brought_into_range() {
        let check = |nanos, seconds, expected| {
            assert_eq!(micro_time(10, nanos), UnixTime { seconds, nanos: expected }, "{nanos}");
        };
        check(1_234_567, 10, 1_234_000);
        check(-1, 10, 0);
        check(-1000, 9, 999_999_000);
        check(i32::MAX, 12, 147_483_000);
    }
}
