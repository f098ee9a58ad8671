//! The number in a quantity: an `i64` times a power of ten, or a big decimal.
#![allow(clippy::arithmetic_side_effects)]

use super::decimal::Decimal;
use super::{Format, suffix};
use std::cmp::Ordering;

/// Largest power of ten by which any `i64` can be multiplied within `i128`.
const SAFE_SHIFT_MAX: u32 = 19;

#[derive(Clone, Debug)]
pub(super) enum Amount {
    /// `value · 10^scale`
    Int { value: i64, scale: i32 },
    /// A value that does not fit.
    Big(Decimal),
}

impl Amount {
    pub(super) fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }

    pub(super) fn sign(&self) -> Ordering {
        match self {
            Self::Int { value, .. } => value.cmp(&0),
            Self::Big(decimal) => decimal.sign(),
        }
    }

    pub(super) fn negate(&mut self) {
        match self {
            Self::Int { value, .. } => *value = value.wrapping_neg(),
            Self::Big(decimal) => decimal.negate(),
        }
    }

    pub(super) fn as_int64(&self) -> Option<i64> {
        match *self {
            Self::Int { value, scale } if scale >= 0 => shifted(value, scale.unsigned_abs()),
            _ => None,
        }
    }

    pub(super) fn scaled_value(&self, unit: i32) -> i64 {
        match self {
            Self::Int { value, scale } if *scale < unit => divided_up(*value, scale.abs_diff(unit)).0,
            Self::Int { value, scale } => shifted_or_garbage(*value, scale.abs_diff(unit)),
            Self::Big(decimal) => decimal.scaled_value(unit),
        }
    }

    pub(super) fn approximate_f64(&self) -> f64 {
        self.to_decimal().approximate_f64()
    }

    pub(super) fn decimal_text(&self) -> String {
        self.to_decimal().plain_text()
    }

    /// Adds or subtracts. The result stays an integer as long as it fits.
    pub(super) fn add(&mut self, other: &Self, subtract: bool) {
        if let (&mut Self::Int { .. }, &Self::Int { value, scale }) = (&mut *self, other) {
            let addend = if subtract { value.wrapping_neg() } else { value };
            if let Some(sum) = self.int_sum(addend, scale) {
                *self = sum;
                return;
            }
        }
        let mut sum = self.to_decimal();
        sum.add(&other.to_decimal(), subtract);
        *self = Self::Big(sum);
    }

    fn int_sum(&self, addend: i64, addend_scale: i32) -> Option<Self> {
        let Self::Int { value, scale } = *self else { return None };
        if addend == 0 {
            return Some(self.clone());
        }
        if value == 0 {
            return Some(Self::Int { value: addend, scale: addend_scale });
        }
        let fine = scale.min(addend_scale);
        let augend = shifted(value, scale.abs_diff(fine))?;
        let addend = shifted(addend, addend_scale.abs_diff(fine))?;
        Some(Self::Int { value: augend.checked_add(addend)?, scale: fine })
    }

    /// A multiple of 10^`unit`, rounded away from zero; true if unchanged.
    pub(super) fn rounded_up(&self, unit: i32) -> (Self, bool) {
        match self {
            Self::Int { scale, .. } if *scale >= unit => (self.clone(), true),
            Self::Int { value, scale } => {
                let (value, exact) = divided_up(*value, scale.abs_diff(unit));
                (Self::Int { value, scale: unit }, exact)
            }
            Self::Big(decimal) => {
                let (rounded, exact) = decimal.clone().rounded_up(unit);
                (Self::Big(rounded), exact)
            }
        }
    }

    /// Formats the amount. A binary format falls back to the decimal one for small numbers and for fractions,
    /// which it would have to round.
    pub(super) fn canonical(&self, format: Format) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        let binary = format == Format::BinarySi && !self.is_small() && self.rounded_up(0).1;
        if binary {
            let (mantissa, power) = self.canonical_1024();
            return mantissa + suffix::binary(power);
        }
        let (mantissa, exponent) = self.canonical_1000();
        match (format, exponent) {
            (Format::DecimalExponent, 0) => mantissa,
            (Format::DecimalExponent, exponent) => format!("{mantissa}e{exponent}"),
            _ => mantissa + suffix::decimal(exponent),
        }
    }

    /// Between -1024 and 1024.
    fn is_small(&self) -> bool {
        let bound = |value| Self::Int { value, scale: 0 };
        self.cmp(&bound(-1024)) == Ordering::Greater && self.cmp(&bound(1024)) == Ordering::Less
    }

    fn canonical_1000(&self) -> (String, i32) {
        let &Self::Int { value, scale } = self else { return self.to_decimal().canonical() };
        let mut mantissa = value;
        let mut exponent = scale;
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent = exponent.wrapping_add(1);
        }
        let extra = exponent.rem_euclid(3);
        match shifted(mantissa, extra.unsigned_abs()) {
            Some(mantissa) => (mantissa.to_string(), exponent.wrapping_sub(extra)),
            None => self.to_decimal().canonical(),
        }
    }

    fn canonical_1024(&self) -> (String, i32) {
        let integer = match self {
            Self::Int { value, scale } if *scale < 0 => Some(divided_up(*value, scale.unsigned_abs()).0),
            _ => self.as_int64(),
        };
        let Some(mut mantissa) = integer else { return self.to_decimal().canonical_1024() };
        let mut power = 0;
        while mantissa != 0 && mantissa % 1024 == 0 {
            mantissa /= 1024;
            power += 1;
        }
        (mantissa.to_string(), power)
    }

    fn to_decimal(&self) -> Decimal {
        match self {
            Self::Int { value, scale } => Decimal::from_int(*value, *scale),
            Self::Big(decimal) => decimal.clone(),
        }
    }

    pub(super) fn cmp(&self, other: &Self) -> Ordering {
        if let (&Self::Int { value: a, scale: s }, &Self::Int { value: b, scale: t }) = (self, other)
            && s.abs_diff(t) < SAFE_SHIFT_MAX
        {
            let fine = s.min(t);
            let wide = |value: i64, scale: i32| i128::from(value) * 10_i128.pow(scale.abs_diff(fine));
            return wide(a, s).cmp(&wide(b, t));
        }
        self.to_decimal().cmp(&other.to_decimal())
    }
}

/// `value · 10^places`, if that fits.
fn shifted(value: i64, places: u32) -> Option<i64> {
    if value == 0 {
        return Some(0);
    }
    value.checked_mul(10_i64.checked_pow(places)?)
}

/// `value · 10^places`, with upstream's overflow: wrapped around for the shifts that have shortcuts upstream,
/// otherwise zero.
fn shifted_or_garbage(value: i64, places: u32) -> i64 {
    match places {
        1 | 2 | 3 | 6 | 9 => value.wrapping_mul(10_i64.wrapping_pow(places)),
        _ => shifted(value, places).unwrap_or_default(),
    }
}

/// `value / 10^places` rounded away from zero. Returns true if there was no remainder.
fn divided_up(value: i64, places: u32) -> (i64, bool) {
    let Some(divisor) = 10_i64.checked_pow(places) else {
        return (value.signum(), value == 0);
    };
    let rest = value % divisor;
    (value / divisor + rest.signum(), rest == 0)
}
