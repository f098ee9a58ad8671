//! A signed big decimal: magnitude times a power of ten.
#![allow(clippy::arithmetic_side_effects, clippy::as_conversions)]

use super::big::BigUint;
use std::cmp::Ordering;

/// Maximum distance of two operands of a sum in decimal digits. Beyond it the smaller operand is dropped;
/// upstream would write gigabytes of zeros for `1e2000000000` plus one.
const ALIGN_DIGITS_MAX: u32 = 10_000;

/// `±magnitude · 10^scale`. Zero is not negative.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    magnitude: BigUint,
    scale: i32,
}

impl Decimal {
    pub(super) fn new(negative: bool, magnitude: BigUint, scale: i32) -> Self {
        Self { negative: negative && !magnitude.is_zero(), magnitude, scale }
    }

    pub(super) fn from_int(value: i64, scale: i32) -> Self {
        Self::new(value < 0, BigUint::from_u64(value.unsigned_abs()), scale)
    }

    pub(super) fn is_zero(&self) -> bool {
        self.magnitude.is_zero()
    }

    pub(super) fn sign(&self) -> Ordering {
        match (self.is_zero(), self.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    pub(super) fn negate(&mut self) {
        self.negative = !self.negative && !self.is_zero();
    }

    /// A multiple of 10^`scale`, rounded away from zero; true if unchanged.
    pub(super) fn rounded_up(mut self, scale: i32) -> (Self, bool) {
        if self.scale >= scale {
            return (self, true);
        }
        let places = distance(self.scale, scale);
        let exact = self.is_zero() || self.magnitude.div_pow10(places as usize);
        if !exact {
            self.magnitude.add(&BigUint::from_u64(1));
        }
        self.scale = scale;
        (self, exact)
    }

    /// Adds, or subtracts, another decimal.
    pub(super) fn add(&mut self, other: &Self, subtract: bool) {
        let mut other = other.clone();
        if subtract {
            other.negate();
        }
        if self.is_zero() || other.is_zero() {
            // As in upstream, zero still contributes its scale to the sum.
            let scale = self.scale.min(other.scale);
            let addend = if self.is_zero() { other } else { self.clone() };
            *self = addend.written_at(scale);
            return;
        }
        if distance(self.scale, other.scale) > ALIGN_DIGITS_MAX {
            if self.cmp_magnitude(&other) == Ordering::Less {
                *self = other;
            }
            return;
        }
        align(self, &mut other);
        if self.negative == other.negative {
            self.magnitude.add(&other.magnitude);
        } else if self.magnitude >= other.magnitude {
            self.magnitude.sub(&other.magnitude);
        } else {
            other.magnitude.sub(&self.magnitude);
            *self = other;
        }
        self.negative &= !self.is_zero();
    }

    /// The shortest mantissa whose exponent is a multiple of three.
    pub(super) fn canonical(&self) -> (String, i32) {
        let zeros = self.magnitude.trailing_zeros();
        let mut magnitude = self.magnitude.clone();
        magnitude.div_pow10(zeros);
        let exponent = i32::try_from(zeros).map_or(i32::MAX, |n| self.scale.saturating_add(n));
        let extra = exponent.rem_euclid(3);
        magnitude.mul_pow10(extra.unsigned_abs() as usize);
        (self.signed(&magnitude), exponent.saturating_sub(extra))
    }

    /// The whole number as a mantissa and a power of 1024. A magnitude far beyond any binary quantity has no
    /// power.
    pub(super) fn canonical_1024(&self) -> (String, i32) {
        let (rounded, _) = self.clone().rounded_up(0);
        let mut magnitude = rounded.magnitude;
        magnitude.mul_pow10(distance(rounded.scale, 0).min(ALIGN_DIGITS_MAX) as usize);
        let mut power = 0;
        while !magnitude.is_zero() {
            let mut quotient = magnitude.clone();
            if quotient.div_small(1024) != 0 {
                break;
            }
            magnitude = quotient;
            power += 1;
        }
        (self.signed(&magnitude), power)
    }

    /// Upstream's `scaledValue`: in units of 10^`scale`, wrapped to 64 bits. The rounding is upstream's:
    /// upwards, except that a negative number short enough for the fast path is rounded towards zero and then
    /// increased.
    pub(super) fn scaled_value(&self, scale: i32) -> i64 {
        let wrapped = self.wrapping_int();
        if self.scale >= scale {
            let places = distance(self.scale, scale);
            return wrapped.wrapping_mul(10_i64.wrapping_pow(places));
        }
        let places = distance(self.scale, scale);
        let short = self.magnitude.to_u64().is_some_and(|m| m < i64::MAX.unsigned_abs());
        if places < 19 && (short || self.negative) {
            let divisor = 10_i64.pow(places);
            return wrapped / divisor + i64::from(wrapped % divisor != 0);
        }
        let mut quotient = self.magnitude.clone();
        let exact = quotient.div_pow10(places as usize);
        let magnitude = quotient.wrapping_u64().cast_signed();
        match (self.negative, exact) {
            (true, _) => magnitude.wrapping_neg(),
            (false, true) => magnitude,
            (false, false) => magnitude.wrapping_add(1),
        }
    }

    /// Formats the number with as many decimal places as the scale has.
    pub(super) fn plain_text(&self) -> String {
        let whole = self.clone().written_at(self.scale.min(0));
        let places = whole.scale.min(0).unsigned_abs() as usize;
        let digits = format!("{:0>width$}", whole.magnitude.to_decimal(), width = places + 1);
        let (integer, fraction) = digits.split_at(digits.len() - places);
        let sign = if self.negative { "-" } else { "" };
        let point = if places > 0 { "." } else { "" };
        format!("{sign}{integer}{point}{fraction}")
    }

    /// Mantissa times power of ten, with floating-point rounding.
    pub(super) fn approximate_f64(&self) -> f64 {
        let mantissa: f64 = self.signed(&self.magnitude).parse().unwrap_or(f64::NAN);
        let power: f64 = format!("1e{}", self.scale).parse().unwrap_or(f64::NAN);
        if self.scale == 0 { mantissa } else { mantissa * power }
    }

    /// The same value in units of 10^`scale`, if that is not coarser and not extremely fine.
    pub(super) fn written_at(mut self, scale: i32) -> Self {
        if self.scale > scale && distance(self.scale, scale) <= ALIGN_DIGITS_MAX {
            self.magnitude.mul_pow10(distance(self.scale, scale) as usize);
            self.scale = scale;
        }
        self
    }

    fn wrapping_int(&self) -> i64 {
        let magnitude = self.magnitude.wrapping_u64().cast_signed();
        if self.negative { magnitude.wrapping_neg() } else { magnitude }
    }

    fn signed(&self, magnitude: &BigUint) -> String {
        let digits = magnitude.to_decimal();
        if self.negative { format!("-{digits}") } else { digits }
    }

    /// Compares absolute values without writing out zeros. Numbers of different decimal length differ by
    /// length; others have similar scales.
    fn cmp_magnitude(&self, other: &Self) -> Ordering {
        if self.is_zero() || other.is_zero() {
            return other.is_zero().cmp(&self.is_zero());
        }
        let length = |d: &Self| d.magnitude.digits() as i64 + i64::from(d.scale);
        length(self).cmp(&length(other)).then_with(|| {
            let mut a = self.clone();
            let mut b = other.clone();
            align(&mut a, &mut b);
            a.magnitude.cmp(&b.magnitude)
        })
    }
}

/// Brings both to the smaller scale.
fn align(a: &mut Decimal, b: &mut Decimal) {
    let (coarse, fine) = if a.scale > b.scale { (a, b) } else { (b, a) };
    coarse.magnitude.mul_pow10(distance(coarse.scale, fine.scale) as usize);
    coarse.scale = fine.scale;
}

fn distance(a: i32, b: i32) -> u32 {
    a.abs_diff(b)
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign()
            .cmp(&other.sign())
            .then_with(|| if !self.negative { self.cmp_magnitude(other) } else { other.cmp_magnitude(self) })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}
