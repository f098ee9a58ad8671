//! Go's `strconv` integer parsing in base ten with its error texts, which clients see in messages such as
//! `invalid resource version: …`.

use crate::go_quote::Quoted;
use thiserror::Error;

/// Integer parse error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("strconv.{function}: parsing {}: {problem}", Quoted(.input))]
pub struct NumError {
    /// Go function in the error text, for example `ParseInt`.
    pub function: &'static str,
    /// The invalid text.
    pub input: String,
    /// `invalid syntax` or `value out of range`.
    pub problem: Problem,
}

/// Reason of a [`NumError`]: Go's `ErrSyntax` or `ErrRange`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Problem {
    /// Not a decimal integer.
    #[error("invalid syntax")]
    Syntax,
    /// A decimal integer that does not fit.
    #[error("value out of range")]
    Range,
}

/// `strconv.ParseInt(text, 10, 64)`: an optional sign and decimal digits.
pub fn parse_int(text: &str) -> Result<i64, NumError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    text.parse().map_err(|_| num_error("ParseInt", text, digits))
}

/// `strconv.ParseUint(text, 10, 64)`: decimal digits without a sign.
pub fn parse_uint(text: &str) -> Result<u64, NumError> {
    let error = |_| num_error("ParseUint", text, text);
    match text.as_bytes().first() {
        Some(b'+') => Err(num_error("ParseUint", text, text)),
        _ => text.parse().map_err(error),
    }
}

/// `strconv.Atoi`, whose name is in its errors.
pub fn atoi(text: &str) -> Result<i64, NumError> {
    parse_int(text).map_err(|error| NumError { function: "Atoi", ..error })
}

fn num_error(function: &'static str, input: &str, digits: &str) -> NumError {
    let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let problem = if decimal { Problem::Range } else { Problem::Syntax };
    NumError { function, input: input.to_owned(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_int(input: &str, expected: Result<i64, &str>) {
        assert_eq!(parse_int(input).map_err(|e| e.to_string()), expected.map_err(str::to_owned));
    }

    fn check_uint(input: &str, expected: Result<u64, &str>) {
        assert_eq!(parse_uint(input).map_err(|e| e.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn integers_parse_as_in_go() {
        check_int("0", Ok(0));
        check_int("+7", Ok(7));
        check_int("-007", Ok(-7));
        check_int("9223372036854775807", Ok(i64::MAX));
        check_int("", Err(r#"strconv.ParseInt: parsing "": invalid syntax"#));
        check_int("-", Err(r#"strconv.ParseInt: parsing "-": invalid syntax"#));
        check_int("1_0", Err(r#"strconv.ParseInt: parsing "1_0": invalid syntax"#));
        check_int(" 1", Err(r#"strconv.ParseInt: parsing " 1": invalid syntax"#));
        check_int(
            "9223372036854775808",
            Err(r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#),
        );
    }

    #[test]
    fn unsigned_integers_take_no_sign() {
        check_uint("18446744073709551615", Ok(u64::MAX));
        check_uint("+1", Err(r#"strconv.ParseUint: parsing "+1": invalid syntax"#));
        check_uint("-1", Err(r#"strconv.ParseUint: parsing "-1": invalid syntax"#));
        check_uint("a\nb", Err(r#"strconv.ParseUint: parsing "a\nb": invalid syntax"#));
        check_uint(
            "18446744073709551616",
            Err(r#"strconv.ParseUint: parsing "18446744073709551616": value out of range"#),
        );
    }

    #[test]
    fn atoi_errors_contain_function_name() {
        assert_eq!(
            atoi("x").map_err(|e| e.to_string()),
            Err(r#"strconv.Atoi: parsing "x": invalid syntax"#.to_owned())
        );
    }
}
