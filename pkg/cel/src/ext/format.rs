//! `string.format`: the language of its first argument, and how numbers are written.

/// How an argument is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// `%s`.
    String,
    /// `%d`.
    Decimal,
    /// `%f`, `%.3f`: digits behind the point.
    Fixed(usize),
    /// `%e`, `%.3e`: digits behind the point.
    Scientific(usize),
    /// `%b`.
    Binary,
    /// `%x`, or `%X` with upper-case digits.
    Hex {
        /// Whether digits are in upper case.
        upper: bool,
    },
    /// `%o`.
    Octal,
}

/// Digits behind the point if the clause says nothing, and of numbers in lists and maps.
pub const DEFAULT_PRECISION: usize = 6;
/// Digits behind the point beyond which nothing more is written. A double has no more digits than this, and
/// without a bound a short clause would fill any memory.
const MAX_PRECISION: usize = 1100;

/// The arguments of a call: values when it is evaluated, expressions when it is checked.
pub trait Arguments {
    /// Why an argument cannot be written.
    type Error;

    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes that a clause asks for an argument, before anything else is looked at.
    fn request(&mut self, index: usize);

    /// Writes an argument.
    fn write(&mut self, index: usize, clause: Clause) -> Result<String, Self::Error>;
}

/// Why a text cannot be formatted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error<E> {
    /// The text itself is wrong, or there are too few arguments.
    Text(String),
    /// An argument cannot be written as its clause says. Messages begin with [`Error::PREFIX`].
    Argument(E),
}

impl<E> Error<E> {
    /// What stands before the message about an argument.
    pub const PREFIX: &'static str = "error during formatting: ";
}

/// Writes a text with its clauses replaced. `evaluating` says whether arguments are values, in which case a missing
/// one is found before an end of the text behind a percent sign.
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

/// The clause behind a percent sign, and what follows it.
fn clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) =
        precision(text).map_err(|message| format!("error while parsing precision: {message}"))?;
    // Upstream looks at one byte and shows it as the code point with its number.
    let byte = rest.bytes().next().unwrap_or_default();
    let clause = match byte {
        b's' => Clause::String,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'x' | b'X' => Clause::Hex { upper: byte == b'X' },
        b'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{}\"", char::from(other))),
    };
    Ok((clause, &rest[1..]))
}

fn precision(text: &str) -> Result<(usize, &str), String> {
    let Some(digits) = text.strip_prefix('.') else { return Ok((DEFAULT_PRECISION, text)) };
    let Some(end) = digits.find(|c: char| !c.is_ascii_digit()) else {
        return Err("could not find end of precision specifier".to_owned());
    };
    let (digits, rest) = digits.split_at(end);
    match apimachinery::strconv::atoi(digits) {
        Ok(precision) => Ok((usize::try_from(precision).unwrap_or_default().min(MAX_PRECISION), rest)),
        Err(error) => Err(format!("error while converting precision to integer: {error}")),
    }
}

/// A number with a fixed count of digits behind the point, its thousands grouped.
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

/// A number with one digit before the point and a power of ten: `3.140000×10⁰⁰`.
pub fn scientific(value: f64, precision: usize) -> String {
    if let Some(special) = special(value) {
        return special.to_owned();
    }
    // Zero has no sign.
    let text = format!("{:.precision$e}", if value == 0.0 { 0.0 } else { value });
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (minus, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
    let superscript =
        |digit: char| digit.to_digit(10).and_then(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize));
    let exponent: String = format!("{exponent:0>2}").chars().filter_map(superscript).collect();
    format!("{digits}×10{minus}{exponent}")
}

/// Numbers without digits.
fn special(value: f64) -> Option<&'static str> {
    match value {
        _ if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// A number as `%s` writes it, or a conversion to a string: Go's `%v`.
pub fn shortest(value: f64) -> String {
    crate::print::double(value)
}

/// A double in a list or a map.
pub fn in_aggregate(value: f64) -> String {
    if value.is_finite() { format!("{value:.DEFAULT_PRECISION$}") } else { shortest(value) }
}

/// An integer in another base, with its sign.
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

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
}

/// Why a clause cannot write a value of a type.
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

        fn write(&mut self, index: usize, clause: Clause) -> Result<String, String> {
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
    fn numbers_are_written_as_in_english() {
        assert_eq!(formatted("%%%.3f%%", &[1234567.8915]).unwrap(), "%1,234,567.891%");
        assert_eq!(formatted("%f %e", &[-0.5, 31.5]).unwrap(), "-0.500000 3.150000×10⁰¹");
        assert_eq!(formatted("%f %.1e %.0f", &[-0.0, -0.0, 2.5]).unwrap(), "0.000000 0.0×10⁰⁰ 2");
        assert_eq!(
            (shortest(1e6), shortest(999_999.5), shortest(1e-5)),
            ("1e+06".into(), "999999.5".into(), "1e-05".into())
        );
        assert_eq!(formatted("%.1e", &[0.00012]).unwrap(), "1.2×10⁻⁰⁴");
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
