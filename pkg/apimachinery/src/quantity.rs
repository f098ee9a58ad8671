//! Resource quantities (`500m`, `1536Mi`, `1e3`): fixed-point numbers. Their canonical text is stored in
//! etcd, so it must equal upstream's byte for byte (`apimachinery/pkg/api/resource`).
//!
//! A value is an `i64` times a power of ten if upstream uses that form, or a big decimal if upstream falls
//! back to one. The form is visible in a few overflowing or negative corner cases, so the choice is the same
//! here.

mod amount;
mod big;
mod decimal;
mod parse;
mod suffix;

use amount::Amount;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::str::FromStr;
use thiserror::Error;

/// Syntax error in a quantity, in upstream's wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// Not a number with a suffix.
    #[error(
        "quantities must match the regular expression \
         '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// No digits in the number.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// An unknown suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// Suffix family in which a quantity was written and is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi` = 12 · 2²⁰
    BinarySi,
    /// `12M` = 12 · 10⁶
    DecimalSi,
}

/// A fixed-point number with nano precision and its format.
///
/// Equality is by value: `0.5` equals `500m`.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    format: Format,
    /// Original text, if upstream would print it unchanged.
    text: Option<Box<str>>,
}

/// Returns the canonical text of a quantity, borrowed if the input is canonical.
///
/// # Errors
/// The input is no quantity. Leading or trailing white space is an error; the JSON decoder trims it before.
pub fn canonicalize(text: &str) -> Result<Cow<'_, str>, Error> {
    let parsed = parse::parse(text)?;
    Ok(if parsed.keep_text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(parsed.amount.canonical(parsed.format))
    })
}

impl Quantity {
    /// Creates a quantity from a whole number.
    pub fn new(value: i64, format: Format) -> Self {
        Self::scaled(value, 0, format)
    }

    /// Creates a quantity from thousandths.
    pub fn from_milli(value: i64, format: Format) -> Self {
        Self::scaled(value, -3, format)
    }

    /// `value` · 10^`scale`.
    pub fn scaled(value: i64, scale: i32, format: Format) -> Self {
        Self { amount: Amount::Int { value, scale }, format, text: None }
    }

    /// Format for printing, unless it would lose precision.
    pub fn format(&self) -> Format {
        self.format
    }

    /// True for zero in any format.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// The sign, as an ordering relative to zero.
    pub fn sign(&self) -> Ordering {
        self.amount.sign()
    }

    /// The value rounded away from zero to a whole number, like upstream's `Value()`. On overflow it is 0 or
    /// wraps around; negative fractions with more than 18 digits are rounded up. [`Ord`] has no such gaps.
    pub fn value(&self) -> i64 {
        self.amount.scaled_value(0)
    }

    /// The value in thousandths, with rounding and overflow like [`Self::value`].
    pub fn milli_value(&self) -> i64 {
        self.amount.scaled_value(-3)
    }

    /// The value in units of 10^`scale`, with rounding and overflow like [`Self::value`].
    pub fn scaled_value(&self, scale: i32) -> i64 {
        self.amount.scaled_value(scale)
    }

    /// The value, if it is a whole number in the integer form.
    pub fn as_int64(&self) -> Option<i64> {
        self.amount.as_int64()
    }

    /// An approximation as a floating-point number; infinite if out of range.
    pub fn approximate_f64(&self) -> f64 {
        self.amount.approximate_f64()
    }

    /// Adds another quantity; zero takes the format of the other.
    pub fn add(&mut self, other: &Quantity) {
        self.combine(other, false);
    }

    /// Subtracts another quantity; zero takes the format of the other.
    pub fn sub(&mut self, other: &Quantity) {
        self.combine(other, true);
    }

    /// Returns the number without an exponent. It has as many decimal places as it was written with: `0.500` for
    /// `500m`.
    pub fn decimal_text(&self) -> String {
        self.amount.decimal_text()
    }

    /// Inverts the sign.
    pub fn negate(&mut self) {
        self.text = None;
        self.amount.negate();
    }

    /// Rounds away from zero to a multiple of 10^`scale`. Returns false if that changed the value.
    pub fn round_up(&mut self, scale: i32) -> bool {
        let (rounded, exact) = self.amount.rounded_up(scale);
        if !exact {
            self.text = None;
        }
        self.amount = rounded;
        exact
    }

    fn combine(&mut self, other: &Quantity, subtract: bool) {
        self.text = None;
        if self.is_zero() {
            self.format = other.format;
        }
        self.amount.add(&other.amount, subtract);
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::new(0, Format::DecimalSi)
    }
}

impl FromStr for Quantity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let parsed = parse::parse(text)?;
        let text = parsed.keep_text.then(|| text.into());
        Ok(Self { amount: parsed.amount, format: parsed.format, text })
    }
}

impl Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&self.amount.canonical(self.format)),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

#[cfg(test)]
mod tests;
