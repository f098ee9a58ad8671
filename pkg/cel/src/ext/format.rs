//! `string.format`: parsing of format strings, and formatting of numbers.

use super::error::ParseError;

/// Formatting of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// Formats an argument of `%s`.
    String,
    /// `%d`.
    Decimal,
    /// `%f`, `%.3f`: digits after the decimal point.
    Fixed(usize),
    /// `%e`, `%.20e`: minimum width in characters. cel-go passes the precision as a width.
    Scientific(usize),
    /// `%b`.
    Binary,
    /// `%x`, or `%X` with upper-case digits.
    Hex {
        /// True for upper-case digits.
        upper: bool,
    },
    /// `%o`.
    Octal,
}

/// Default digits after the decimal point, also for numbers in lists and maps.
pub const DEFAULT_PRECISION: usize = 6;
/// Maximum digits after the decimal point. A double has no more digits, and without a bound a short clause
/// could exhaust memory.
const MAX_PRECISION: usize = 1100;

/// Arguments of a call: values during evaluation, expressions during checking.
pub trait Arguments {
    /// Error for an argument that cannot be formatted.
    type Error;

    /// Returns the number of arguments.
    fn len(&self) -> usize;

    /// Returns true if there are no arguments.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Records that a clause uses an argument, before any check.
    fn request(&mut self, index: usize);

    /// Formats an argument.
    fn write(&mut self, index: usize, clause: Clause) -> Result<String, Self::Error>;
}

/// Formatting error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The format string is invalid, or there are too few arguments.
    Text(String),
    /// An argument does not fit its clause. Messages begin with [`Error::PREFIX`].
    Argument(E),
}

impl<E> Error<E> {
    /// Prefix of messages about arguments.
    pub const PREFIX: &'static str = "error during formatting: ";
}

/// Formats a text. `evaluating` is true if the arguments are values; then a missing argument is reported
/// before a text that ends after a percent sign.
pub fn format<A: Arguments>(
    text: &str,
    arguments: &mut A,
    evaluating: bool,
) -> Result<String, Error<A::Error>> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        arguments.request(index);
        let missing = index >= arguments.len();
        if rest.is_empty() && !(missing && evaluating) {
            return Err(Error::Text("unexpected end of string".to_owned()));
        }
        if missing {
            return Err(Error::Text(format!("index {index} out of range")));
        }
        let (clause, after) = clause(rest)
            .map_err(|message| Error::Text(format!("could not parse formatting clause: {message}")))?;
        out.push_str(&arguments.write(index, clause).map_err(Error::Argument)?);
        rest = after;
        index += 1;
    }
    out.push_str(rest);
    Ok(out)
}

/// Parses the clause after a percent sign. Returns it and the rest of the text.
fn clause(text: &str) -> Result<(Clause, &str), ParseError> {
    let (precision, rest) = precision(text)
        .map_err(|message| ParseError::new(format!("error while parsing precision: {message}")))?;
    // Upstream takes one byte and displays it as the code point with that number.
    let byte = rest.bytes().next().unwrap_or_default();
    let clause = match byte {
        b's' => Clause::String,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'x' | b'X' => Clause::Hex { upper: byte == b'X' },
        b'o' => Clause::Octal,
        other => {
            return Err(ParseError::new(format!("unrecognized formatting clause \"{}\"", char::from(other))));
        }
    };
    Ok((clause, &rest[1..]))
}

fn precision(text: &str) -> Result<(usize, &str), ParseError> {
    let Some(digits) = text.strip_prefix('.') else { return Ok((DEFAULT_PRECISION, text)) };
    let Some(end) = digits.find(|c: char| !c.is_ascii_digit()) else {
        return Err(ParseError::new("could not find end of precision specifier"));
    };
    let (digits, rest) = digits.split_at(end);
    match apimachinery::strconv::atoi(digits) {
        Ok(precision) => Ok((usize::try_from(precision).unwrap_or_default().min(MAX_PRECISION), rest)),
        Err(error) => Err(ParseError::new(format!("error while converting precision to integer: {error}"))),
    }
}

/// Formats a number with a fixed number of decimals and grouped thousands.
pub fn fixed(value: f64, precision: usize) -> String {
    if let Some(special) = special(value) {
        return special.to_owned();
    }
    let text = format!("{:.precision$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out.push_str(fraction);
    out
}

/// Formats a number in scientific notation with six digits after the decimal point, padded on the left to
/// `width` characters: `3.140000×10⁰⁰`.
pub fn scientific(value: f64, width: usize) -> String {
    if let Some(special) = special(value) {
        return format!("{special:>width$}");
    }
    let precision = DEFAULT_PRECISION;
    // Zero has no sign.
    let text = format!("{:.precision$e}", if value == 0.0 { 0.0 } else { value });
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (minus, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
    let superscript =
        |digit: char| digit.to_digit(10).and_then(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize));
    let exponent: String = format!("{exponent:0>2}").chars().filter_map(superscript).collect();
    format!("{:>width$}", format!("{digits}×10{minus}{exponent}"))
}

/// Returns the text of NaN and infinities.
fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// Formats a number for `%s` and for conversions to string: Go's `%v`.
pub fn shortest(value: f64) -> String {
    crate::print::double(value)
}

/// Formats a double in a list or a map.
pub fn in_aggregate(value: f64) -> String {
    if value.is_finite() { format!("{value:.DEFAULT_PRECISION$}") } else { shortest(value) }
}

/// Formats an integer in another base, with its sign.
pub fn integer(value: i128, clause: Clause) -> String {
    let magnitude = value.unsigned_abs();
    let digits = match clause {
        Clause::Binary => format!("{magnitude:b}"),
        Clause::Octal => format!("{magnitude:o}"),
        Clause::Hex { upper: true } => format!("{magnitude:X}"),
        Clause::Hex { upper: false } => format!("{magnitude:x}"),
        _ => magnitude.to_string(),
    };
    if value < 0 { format!("-{digits}") } else { digits }
}

/// Formats bytes in hexadecimal.
pub fn hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
}

/// Returns the error of a clause that does not support a type.
pub fn mismatch(clause: Clause, type_name: &str) -> String {
    let what = match clause {
        Clause::String => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
             and timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{what}, was given {type_name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbers(Vec<f64>);

    impl Arguments for Numbers {
        type Error = String;

        fn len(&self) -> usize {
            self.0.len()
        }

        fn request(&mut self, _index: usize) {}

        fn write(&mut self, index: usize, clause: Clause) -> Result<String, Self::Error> {
            match clause {
                Clause::Fixed(precision) => Ok(fixed(self.0[index], precision)),
                Clause::Scientific(precision) => Ok(scientific(self.0[index], precision)),
                other => Err(mismatch(other, "double")),
            }
        }
    }

    fn formatted(text: &str, values: &[f64]) -> Result<String, Error<String>> {
        format(text, &mut Numbers(values.to_vec()), true)
    }

    #[test]
    fn numbers_use_english_notation() {
        assert_eq!(formatted("%%%.3f%%", &[1234567.8915]).unwrap(), "%1,234,567.891%");
        assert_eq!(formatted("%f %e", &[-0.5, 31.5]).unwrap(), "-0.500000 3.150000×10⁰¹");
        assert_eq!(formatted("%f %.1e %.0f", &[-0.0, -0.0, 2.5]).unwrap(), "0.000000 0.000000×10⁰⁰ 2");
        assert_eq!(
            (shortest(1e6), shortest(999_999.5), shortest(1e-5)),
            ("1e+06".into(), "999999.5".into(), "1e-05".into())
        );
        assert_eq!(formatted("%.16e", &[0.00012]).unwrap(), "  1.200000×10⁻⁰⁴");
        assert_eq!(formatted("%f%f", &[f64::NEG_INFINITY, f64::NAN]).unwrap(), "-∞NaN");
    }

    #[test]
    fn wrong_clauses_are_refused() {
        let text = |text: &str| Err(Error::Text(text.to_owned()));
        assert_eq!(formatted("%d", &[1.0]), Err(Error::Argument(mismatch(Clause::Decimal, "double"))));
        assert_eq!(formatted("%f %f", &[1.0]), text("index 1 out of range"));
        assert_eq!(formatted("%", &[1.0]), text("unexpected end of string"));
        assert_eq!(
            formatted("%q", &[1.0]),
            text("could not parse formatting clause: unrecognized formatting clause \"q\"")
        );
        let precision = "could not parse formatting clause: error while parsing precision: ";
        assert_eq!(
            formatted("%.3", &[1.0]),
            text(&format!("{precision}could not find end of precision specifier"))
        );
    }
}
