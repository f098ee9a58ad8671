//! Heads of data items, and the numbers in them.

use super::errors::Error;

/// The low bits of a first byte for an indefinite length, or a break.
pub(super) const INDEFINITE: u8 = 31;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Major {
    Unsigned,
    Negative,
    Bytes,
    Text,
    Array,
    Map,
    Tag,
    Primitive,
}

impl Major {
    pub(super) fn of(byte: u8) -> Self {
        match byte >> 5 {
            0 => Major::Unsigned,
            1 => Major::Negative,
            2 => Major::Bytes,
            3 => Major::Text,
            4 => Major::Array,
            5 => Major::Map,
            6 => Major::Tag,
            _ => Major::Primitive,
        }
    }

    /// The name in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            Major::Unsigned => "positive integer",
            Major::Negative => "negative integer",
            Major::Bytes => "byte string",
            Major::Text => "UTF-8 text string",
            Major::Array => "array",
            Major::Map => "map",
            Major::Tag => "tag",
            Major::Primitive => "primitives",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) major: Major,
    /// The low five bits of the first byte.
    pub(super) info: u8,
    /// The argument; meaningless for indefinite lengths.
    pub(super) value: u64,
}

impl Head {
    /// Number of items; `None` for an indefinite length.
    pub(super) fn length(self) -> Option<u64> {
        (self.info != INDEFINITE).then_some(self.value)
    }
}

/// The value of a float.
///
/// # Errors
/// The value is not finite.
pub(super) fn float(head: Head) -> Result<f64, Error> {
    let value = match head.info {
        25 => half(head.value as u16),
        26 => f64::from(f32::from_bits(head.value as u32)),
        _ => f64::from_bits(head.value),
    };
    match value {
        value if value.is_nan() => Err(Error::unacceptable("primitives", "floating-point NaN")),
        value if value.is_infinite() => Err(Error::unacceptable("primitives", "floating-point infinity")),
        value => Ok(value),
    }
}

/// A half-precision float (IEEE 754 binary16).
fn half(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let mantissa = f64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => mantissa * 2_f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (mantissa + 1024.0) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}
