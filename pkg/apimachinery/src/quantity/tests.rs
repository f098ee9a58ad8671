//! Tests of canonical texts, errors, values and sums. The expected values come from upstream.
#![allow(clippy::unwrap_used)]

use super::*;

fn check(input: &str, expected: &str) {
    let actual = canonicalize(input).map_err(|e| e.to_string());
    assert_eq!(actual.as_deref(), Ok(expected), "{input:?}");
    assert_eq!(input.parse::<Quantity>().unwrap().to_string(), expected);
}

#[test]
fn quantities_print_in_canonical_form() {
    check("0", "0");
    check("0Ki", "0");
    check("-0", "0");
    check("+", "0");
    check(".", "0");
    check("0.5", "500m");
    check("1024Mi", "1Gi");
    check("1.5Gi", "1536Mi");
    check("1e3", "1e3");
    check("100e-1", "10");
    check("10e2", "1e3");
    check("1000", "1k");
    check("1000m", "1");
    check("100k", "100k");
    check("0.1n", "1n");
    check("-0.1n", "-1n");
    check("1.1u", "1100n");
    check("0.5Ki", "512");
    check("0.1Ki", "102400m");
    check("1.1Ki", "1126400m");
    check("0.1Mi", "104857600m");
    check("1Ki", "1Ki");
    check("1000Ki", "1000Ki");
    check("1025", "1025");
    check("9223372036854775807", "9223372036854775807");
    check("9223372036854775808", "9223372036854775808");
    check("8Ei", "9223372036854775807");
    check("-8Ei", "-9223372036854775807");
    check("123456789012345678901234567890", "123456789012345678901234567890");
    check("1e100", "10e99");
    check("1E3", "1E3");
}

#[test]
fn texts_kept_by_upstream_are_kept() {
    for text in ["+1", "01", "1.500", "1.", "+1Ki", "100m", "12E", "-5"] {
        check(text, text);
        assert!(matches!(canonicalize(text), Ok(Cow::Borrowed(_))));
    }
}

#[test]
fn decimal_beyond_last_suffix_loses_exponent() {
    check("1000E", "1");
}

#[test]
fn errors_match_upstream() {
    let check = |input: &str, expected: &str| {
        assert_eq!(canonicalize(input).unwrap_err().to_string(), expected, "{input:?}");
    };
    let format =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    for input in ["", " 1", "1 ", "1KiB", "x", "1.2.3", "1e3e", "ä", "1_000"] {
        check(input, format);
    }
    for input in ["--1", "1mi", "1KiKi", "1e", "1k5", "1eE3", "1e99999999999999999999"] {
        check(input, "unable to parse quantity's suffix");
    }
    check(".e-10", "unable to parse numeric part of quantity");
}

#[test]
fn values_round_up() {
    let check = |input: &str, value: i64, milli: i64| {
        let quantity: Quantity = input.parse().unwrap();
        assert_eq!((quantity.value(), quantity.milli_value()), (value, milli), "{input}");
    };
    check("0", 0, 0);
    check("1m", 1, 1);
    check("-1m", -1, -1);
    check("1500m", 2, 1500);
    check("1n", 1, 1);
    check("1Gi", 1 << 30, 1000 << 30);
    check("1.5Gi", 3 << 29, 1500 << 30);
    check("1e30", 0, 0);
    check("-1.5Ki", -1536, -1_536_000);
    check("9999999999999999k", -8_446_744_073_709_552_616, 1_864_712_049_422_024_128);
    check("-1234567890.1234567891", -1_234_567_889, -1_234_567_890_122);
}

#[test]
fn only_whole_integers_are_int64() {
    let check = |input: &str, expected: Option<i64>| {
        assert_eq!(input.parse::<Quantity>().unwrap().as_int64(), expected, "{input}");
    };
    check("5k", Some(5000));
    check("1Mi", Some(1 << 20));
    check("500m", None);
    check("1e19", None);
    check("9223372036854775808", None);
}

#[test]
fn comparison_is_by_value() {
    let check = |a: &str, b: &str, expected: Ordering| {
        let a: Quantity = a.parse().unwrap();
        let b: Quantity = b.parse().unwrap();
        assert_eq!(a.cmp(&b), expected, "{a} {b}");
        assert_eq!(b.cmp(&a), expected.reverse());
    };
    check("0.5", "500m", Ordering::Equal);
    check("1Ki", "1024", Ordering::Equal);
    check("1Gi", "1G", Ordering::Greater);
    check("-1", "1", Ordering::Less);
    check("-2", "-1", Ordering::Less);
    check("1e100", "1", Ordering::Greater);
    check("1e2000000000", "123456789012345678901", Ordering::Greater);
    check("100000000000000000000", "1e20", Ordering::Equal);
}

#[test]
fn sums_keep_format_unless_zero() {
    let check = |a: &str, b: &str, sum: &str, difference: &str| {
        let a: Quantity = a.parse().unwrap();
        let b: Quantity = b.parse().unwrap();
        let mut plus = a.clone();
        let mut minus = a.clone();
        plus.add(&b);
        minus.sub(&b);
        assert_eq!((plus.to_string(), minus.to_string()), (sum.to_owned(), difference.to_owned()));
    };
    check("1", "1m", "1001m", "999m");
    check("0", "1Ki", "1Ki", "-1Ki");
    check("1Ki", "1", "1025", "1023");
    check("1Gi", "1G", "2073741824", "73741824");
    check("9223372036854775807", "1", "9223372036854775808", "9223372036854775806");
    check("8Ei", "8Ei", "18446744073709551614", "0");
    check("1e18", "-1n", "999999999999999999999999999e-9", "1000000000000000000000000001e-9");
}

#[test]
fn far_smaller_addend_is_dropped() {
    let mut huge: Quantity = "1e2000000000".parse().unwrap();
    huge.add(&"1".parse().unwrap());
    assert_eq!(huge.to_string(), "100e1999999998");
}

#[test]
fn rounding_reports_changed_value() {
    let mut quantity: Quantity = "1500m".parse().unwrap();
    assert!(quantity.round_up(-3));
    assert_eq!(quantity.to_string(), "1500m");
    assert!(!quantity.round_up(0));
    assert_eq!(quantity.to_string(), "2");
    quantity.negate();
    assert_eq!((quantity.to_string().as_str(), quantity.sign()), ("-2", Ordering::Less));
}

#[test]
fn floating_point_is_approximate_but_close() {
    assert_eq!("1500m".parse::<Quantity>().unwrap().approximate_f64(), 1.5);
    assert_eq!("1e400".parse::<Quantity>().unwrap().approximate_f64(), f64::INFINITY);
}
