//! Numbers in JSON as formatted by Go.

use super::Error;

/// Appends an integer in decimal.
#[inline]
pub fn write_integer(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends the shortest decimal that parses to the same number. Uses an exponent below 1e-6 and from 1e21 on,
/// without leading zeros in the exponent.
///
/// # Errors
/// The number is not finite.
pub fn write_double(value: f64, out: &mut Vec<u8>) -> Result<(), Error> {
    if !value.is_finite() {
        let name = if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        };
        return Err(Error::UnsupportedValue(name));
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // All digits, and the position of the decimal point.
    let mut digits = [0_u8; 32];
    let mut len = 0;
    for (to, from) in digits.iter_mut().zip(integer.bytes().chain(fraction.bytes())) {
        *to = from;
        len += 1;
    }
    let digits = digits.get(..len).unwrap_or_default();
    let point = integer.len() as i32 + exponent.parse::<i32>().unwrap_or_default();
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let end = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |at| at + 1);
    write_digits(digits.get(zeros..end).unwrap_or_default(), point - zeros as i32, out);
    Ok(())
}

/// Writes digits without zeros at either end; `point` is the position of the decimal point.
fn write_digits(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let Some((first, rest)) = digits.split_first() else { return out.push(b'0') };
    let exponent = point - 1;
    if !(-6..21).contains(&exponent) {
        out.push(*first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        out.extend_from_slice(itoa::Buffer::new().format(exponent.unsigned_abs()).as_bytes());
        return;
    }
    let integer_len = usize::try_from(point).unwrap_or_default();
    match digits.split_at_checked(integer_len) {
        Some(([], fraction)) => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(b'0', point.unsigned_abs() as usize));
            out.extend_from_slice(fraction);
        }
        Some((integer, fraction)) => {
            out.extend_from_slice(integer);
            if !fraction.is_empty() {
                out.push(b'.');
                out.extend_from_slice(fraction);
            }
        }
        None => {
            out.extend_from_slice(digits);
            out.extend(std::iter::repeat_n(b'0', integer_len - digits.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_like_go() {
        let check = |value: f64, expected: &str| {
            let mut out = Vec::new();
            write_double(value, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check(0.0, "0");
        check(-0.0, "-0");
        check(1.0, "1");
        check(-1.5, "-1.5");
        check(100.0, "100");
        check(0.1, "0.1");
        check(0.000001, "0.000001");
        check(0.0000001, "1e-7");
        check(1.25e-9, "1.25e-9");
        check(123456789.0, "123456789");
        check(1e20, "100000000000000000000");
        check(1e21, "1e+21");
        check(1.7976931348623157e308, "1.7976931348623157e+308");
        check(5e-324, "5e-324");
        check(1e-10, "1e-10");
    }

    #[test]
    fn non_finite_numbers_are_rejected() {
        let check = |value: f64, name| {
            assert_eq!(write_double(value, &mut Vec::new()), Err(Error::UnsupportedValue(name)));
        };
        check(f64::NAN, "NaN");
        check(f64::INFINITY, "+Inf");
        check(f64::NEG_INFINITY, "-Inf");
    }
}
