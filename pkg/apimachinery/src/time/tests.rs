//! Compares times and durations with Go's results for the same texts.
#![allow(clippy::unwrap_used)]

use super::*;

fn check_time(text: &str, expected: Result<&str, &str>) {
    let actual = parse_time(text).map(|t| t.rfc3339().to_string()).map_err(|e| e.to_string());
    assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
    assert_eq!(is_shown(text), actual.as_deref() == Ok(text) && text.len() == 20, "{text:?}");
}

fn check_micro(text: &str, expected: Result<&str, &str>) {
    let actual = parse_micro_time(text).map(|t| t.rfc3339_micro().to_string());
    let actual = actual.map_err(|e| e.to_string());
    assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned), "{text:?}");
}

#[test]
fn times_are_written_in_utc_and_whole_seconds() {
    check_time("2024-02-29T23:59:59Z", Ok("2024-02-29T23:59:59Z"));
    check_time("2024-01-02T03:04:05.999999999999Z", Ok("2024-01-02T03:04:05Z"));
    check_time("2024-01-02T03:04:05,5Z", Ok("2024-01-02T03:04:05Z"));
    check_time("2024-01-02T03:04:05+02:00", Ok("2024-01-02T01:04:05Z"));
    check_time("2024-01-01T00:00:00-24:60", Ok("2024-01-02T01:00:00Z"));
    check_time("2024-01-02T3:04:05Z", Ok("2024-01-02T03:04:05Z"));
    check_time("0000-01-01T00:00:00+01:00", Ok("-0001-12-31T23:00:00Z"));
    check_time("9999-12-31T23:59:59-01:00", Ok("10000-01-01T00:59:59Z"));
}

#[test]
fn invalid_times_have_go_errors() {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    for (text, found, element) in [
        ("", "", "2006"),
        ("x", "x", "2006"),
        ("202-", "202-", "2006"),
        ("2024", "", "-"),
        ("2024-1-01T00:00:00Z", "1-01T00:00:00Z", "01"),
        ("2024-01-01 00:00:00Z", " 00:00:00Z", "T"),
        ("2024-01-01t00:00:00Z", "t00:00:00Z", "T"),
        ("2024-01-01T00:00:00", "", "Z07:00"),
        ("2024-01-01T00:00:00.Z", ".Z", "Z07:00"),
        ("2024-01-01T00:00:00z", "z", "Z07:00"),
        ("2024-01-01T00:00:00 01:00", " 01:00", "Z07:00"),
        ("2024-01-01T00:00:00+0100", "+0100", "Z07:00"),
    ] {
        let error = format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {found:?} as {element:?}");
        check_time(text, Err(&error));
    }
    for (text, message) in [
        ("2024-13-01T00:00:00Z", ": month out of range"),
        ("2023-02-29T00:00:00Z", ": day out of range"),
        ("2024-01-00T00:00:00Z", ": day out of range"),
        ("2024-01-01T24:00:00Z", ": hour out of range"),
        ("2024-01-01T00:60:00Z", ": minute out of range"),
        ("2024-01-01T00:00:60Z", ": second out of range"),
        ("2024-01-01T00:00:00+25:00", ": time zone offset hour out of range"),
        ("2024-01-01T00:00:00Zx", ": extra text: \"x\""),
    ] {
        check_time(text, Err(&format!("parsing time {text:?}{message}")));
    }
    check_time(
        "ä\t",
        Err(
            r#"parsing time "\xc3\xa4\x09" as "2006-01-02T15:04:05Z07:00": cannot parse "\xc3\xa4\x09" as "2006""#,
        ),
    );
}

#[test]
fn micro_times_have_exactly_six_digits() {
    check_micro("2024-01-02T03:04:05.000006Z", Ok("2024-01-02T03:04:05.000006Z"));
    check_micro("2024-01-02T03:04:05.120000-01:00", Ok("2024-01-02T04:04:05.120000Z"));
    const LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";
    for (text, found, element) in [
        ("2024-01-02T03:04:05Z", "Z", ".000000"),
        ("2024-01-02T03:04:05.12345Z", ".12345Z", ".000000"),
        ("2024-01-02T03:04:05.1234567Z", "7Z", "Z07:00"),
        ("2024-01-02T03:04:05.12345", ".12345", ".000000"),
    ] {
        let error = format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {found:?} as {element:?}");
        check_micro(text, Err(&error));
    }
}

#[test]
fn fraction_is_kept_until_encoding() {
    let time = parse_time("1969-12-31T23:59:59.25Z").unwrap();
    assert_eq!(time, UnixTime { seconds: -1, nanos: 250_000_000 });
    assert_eq!(time.nanos_since(UnixTime::default()), -750_000_000);
    assert_eq!(GO_ZERO_TIME.nanos_since(UnixTime::from_seconds(1 << 40)), i64::MIN);
}

#[test]
fn times_of_every_year_read_back() {
    let first = -62_167_219_200;
    let last = 253_402_300_799;
    for seconds in
        [i64::MIN, first - 1, first, -1, 0, 951_782_400, last, last + 1, 951_782_400 << 20, i64::MAX]
    {
        let time = UnixTime { seconds, nanos: 1000 };
        assert_eq!(parse_shown(&time.rfc3339_micro().to_string()), Some(time));
    }
    for text in ["", "-", "now", "10000", "10000-13-01T00:00:00Z", "+10000-01-01T00:00:00Z"] {
        assert_eq!(parse_shown(text), None, "{text}");
    }
}

#[test]
fn go_zero_time_is_recognised() {
    assert!(parse_time(GO_ZERO_TIME_TEXT).unwrap().is_go_zero());
    assert!(!UnixTime::default().is_go_zero());
}

#[test]
fn durations_print_like_go() {
    let check = |text: &str, printed: &str| {
        assert_eq!(format_duration(parse_duration(text).unwrap()), printed, "{text}");
    };
    check("0", "0s");
    check("-0", "0s");
    check("1h2m3s", "1h2m3s");
    check("90m", "1h30m0s");
    check("1.5s", "1.5s");
    check("+.5m", "30s");
    check("100ms", "100ms");
    check("1500us", "1.5ms");
    check("1\u{3bc}s", "1\u{b5}s");
    check("-1ns", "-1ns");
    check("1h1ns", "1h0m0.000000001s");
    check("0.3333333333333333333h", "20m0s");
    check("-9223372036854775808ns", "-2562047h47m16.854775808s");
}

#[test]
fn invalid_durations_have_go_errors() {
    let check = |text: &str, expected: &str| {
        assert_eq!(parse_duration(text).unwrap_err().to_string(), expected);
    };
    check("", r#"time: invalid duration """#);
    check("-", r#"time: invalid duration "-""#);
    check("abc", r#"time: invalid duration "abc""#);
    check(".s", r#"time: invalid duration ".s""#);
    check("1", r#"time: missing unit in duration "1""#);
    check("1x", r#"time: unknown unit "x" in duration "1x""#);
    check("1d2h", r#"time: unknown unit "d" in duration "1d2h""#);
    check("1ä", r#"time: unknown unit "\xc3\xa4" in duration "1\xc3\xa4""#);
    check("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#);
    check("3000000h", r#"time: invalid duration "3000000h""#);
}
