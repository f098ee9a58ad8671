//! Floating-point numbers in texts, as formatted by Go.

/// Formats a number like `%v`: shortest digits, with an exponent below 1e-4 and from 1e6 on.
#[must_use]
pub fn general(value: f64) -> String {
    match value {
        v if v.is_nan() => "NaN".to_owned(),
        v if v.is_infinite() => if v > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        v => {
            let parts = Scientific::of(v);
            if (-4..6).contains(&parts.exponent) {
                return v.to_string();
            }
            let sign = if parts.exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", parts.mantissa, parts.exponent.abs())
        }
    }
}

/// Formats a finite number as JSON: shortest digits, with an exponent below 1e-6 and from 1e21 on.
#[must_use]
pub fn json(value: f64) -> String {
    let parts = Scientific::of(value);
    if (-6..21).contains(&parts.exponent) {
        return value.to_string();
    }
    let sign = if parts.exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{}", parts.mantissa, parts.exponent.abs())
}

/// Decimal digits and exponent of a number.
struct Scientific {
    mantissa: String,
    exponent: i32,
}

impl Scientific {
    fn of(value: f64) -> Self {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Scientific { mantissa: mantissa.to_owned(), exponent: exponent.parse().unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn general_numbers_match_go() {
        let check = |number: f64, expected: &str| assert_eq!(general(number), expected);
        check(0.0, "0");
        check(-0.0, "-0");
        check(1.0, "1");
        check(123_456.0, "123456");
        check(1e6, "1e+06");
        check(1_234_567.5, "1.2345675e+06");
        check(0.0001, "0.0001");
        check(1e-5, "1e-05");
        check(-9.223_372_036_854_776e18, "-9.223372036854776e+18");
        check(1e100, "1e+100");
        check(f64::NAN, "NaN");
        check(f64::NEG_INFINITY, "-Inf");
    }

    #[test]
    fn json_numbers_match_go() {
        let check = |number: f64, expected: &str| assert_eq!(json(number), expected);
        check(1.0, "1");
        check(-1.5, "-1.5");
        check(1e6, "1000000");
        check(1e20, "100000000000000000000");
        check(1e21, "1e+21");
        check(0.000_001, "0.000001");
        check(1e-7, "1e-7");
        check(1.25e-9, "1.25e-9");
    }
}
