//! Human-readable ages for the AGE column of a Table: `5s`, `3m20s`, `2y3d`. The rounding steps are those of
//! upstream's `apimachinery/pkg/util/duration`.

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// Formats an age with two or three significant digits. An age more than two seconds in the future is
/// `<invalid>`; a smaller negative age is clock skew and counts as `0s`.
pub fn human_duration(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    let minutes = seconds / 60;
    let hours = seconds / 3600;
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, 'd', hours % 24, 'h'),
        () if days < 2 * 365 => format!("{days}d"),
        () if days < 8 * 365 => two(days / 365, 'y', days % 365, 'd'),
        () => format!("{}y", days / 365),
    }
}

/// Formats an age in its largest unit only.
pub fn short_human_duration(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    let minutes = seconds / 60;
    let hours = seconds / 3600;
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 60 => format!("{seconds}s"),
        () if minutes < 60 => format!("{minutes}m"),
        () if hours < 24 => format!("{hours}h"),
        () if days < 365 => format!("{days}d"),
        () => format!("{}y", days / 365),
    }
}

/// Formats a large unit, and a small one unless it is zero.
fn two(large: i64, large_unit: char, small: i64, small_unit: char) -> String {
    match small {
        0 => format!("{large}{large_unit}"),
        _ => format!("{large}{large_unit}{small}{small_unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60;
    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;

    fn check(seconds: i64, human: &str, short: &str) {
        let nanos = seconds * SECOND;
        assert_eq!(human_duration(nanos), human, "{seconds} s");
        assert_eq!(short_human_duration(nanos), short, "{seconds} s");
    }

    #[test]
    fn ages_have_two_or_three_digits() {
        check(-2, "<invalid>", "<invalid>");
        check(-1, "0s", "0s");
        check(0, "0s", "0s");
        check(5, "5s", "5s");
        check(119, "119s", "1m");
        check(120, "2m", "2m");
        check(200, "3m20s", "3m");
        check(10 * MINUTE - 1, "9m59s", "9m");
        check(10 * MINUTE + 30, "10m", "10m");
        check(3 * HOUR - 1, "179m", "2h");
        check(3 * HOUR, "3h", "3h");
        check(7 * HOUR + 59 * MINUTE, "7h59m", "7h");
        check(8 * HOUR + 59 * MINUTE, "8h", "8h");
        check(2 * DAY - 1, "47h", "1d");
        check(2 * DAY, "2d", "2d");
        check(7 * DAY + 23 * HOUR, "7d23h", "7d");
        check(8 * DAY + 23 * HOUR, "8d", "8d");
        check(2 * YEAR - 1, "729d", "1y");
        check(2 * YEAR, "2y", "2y");
        check(2 * YEAR + 3 * DAY, "2y3d", "2y");
        check(8 * YEAR - 1, "7y364d", "7y");
        check(8 * YEAR + 3 * DAY, "8y", "8y");
    }

    #[test]
    fn a_fraction_of_a_second_is_cut_off() {
        assert_eq!(human_duration(-SECOND - 1), "0s");
        assert_eq!(human_duration(2 * SECOND - 1), "1s");
    }
}
