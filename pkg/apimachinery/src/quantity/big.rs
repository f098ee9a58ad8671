//! Minimal big-integer arithmetic for quantities beyond `i64`: unsigned, in base 10⁹, so that parsing,
//! printing and decimal shifts are linear.
#![allow(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;
use std::fmt::Write;

const BASE: u32 = 1_000_000_000;
const BASE_DIGITS: usize = 9;

/// An unsigned integer; limbs from least to most significant, the last one not
/// zero.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct BigUint {
    limbs: Vec<u32>,
}

impl BigUint {
    pub(super) fn from_u64(mut value: u64) -> Self {
        let mut limbs = Vec::with_capacity(3);
        while value > 0 {
            limbs.push(low_limb(value));
            value /= u64::from(BASE);
        }
        Self { limbs }
    }

    /// Parses the decimal digits `head` followed by `tail`. The caller must pass digits only; other bytes
    /// give a wrong number.
    pub(super) fn from_digits(head: &str, tail: &str) -> Self {
        let digits: Vec<u8> = head.bytes().chain(tail.bytes()).collect();
        let limb =
            |chunk: &[u8]| chunk.iter().fold(0_u32, |n, digit| n.wrapping_mul(10) + u32::from(digit & 0xf));
        let mut number = Self { limbs: digits.rchunks(BASE_DIGITS).map(limb).collect() };
        number.normalize();
        number
    }

    pub(super) fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The number of decimal digits, 0 for zero.
    pub(super) fn digits(&self) -> usize {
        match self.limbs.split_last() {
            Some((top, rest)) => rest.len() * BASE_DIGITS + top.to_string().len(),
            None => 0,
        }
    }

    /// The value modulo 2^64.
    pub(super) fn wrapping_u64(&self) -> u64 {
        self.limbs
            .iter()
            .rev()
            .fold(0_u64, |n, limb| n.wrapping_mul(u64::from(BASE)).wrapping_add(u64::from(*limb)))
    }

    /// The value, if it is at most 2^64 - 1.
    pub(super) fn to_u64(&self) -> Option<u64> {
        self.limbs
            .iter()
            .rev()
            .try_fold(0_u64, |n, limb| n.checked_mul(u64::from(BASE))?.checked_add(u64::from(*limb)))
    }

    pub(super) fn mul_small(&mut self, factor: u32) {
        let mut carry = 0_u64;
        for limb in &mut self.limbs {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = low_limb(carry);
            carry /= u64::from(BASE);
        }
        while carry > 0 {
            self.limbs.push(low_limb(carry));
            carry /= u64::from(BASE);
        }
        self.normalize();
    }

    /// Divides in place and returns the remainder. The divisor is not zero.
    pub(super) fn div_small(&mut self, divisor: u32) -> u32 {
        let mut rest = 0_u64;
        for limb in self.limbs.iter_mut().rev() {
            rest = rest * u64::from(BASE) + u64::from(*limb);
            *limb = low_limb(rest / u64::from(divisor));
            rest %= u64::from(divisor);
        }
        self.normalize();
        low_limb(rest)
    }

    /// Multiplies by 10^`places`.
    pub(super) fn mul_pow10(&mut self, places: usize) {
        if self.is_zero() {
            return;
        }
        self.mul_small(pow10(places % BASE_DIGITS));
        self.limbs.splice(0..0, std::iter::repeat_n(0, places / BASE_DIGITS));
    }

    /// Divides by 10^`places`, dropping the remainder; true if there was none.
    pub(super) fn div_pow10(&mut self, places: usize) -> bool {
        let whole_limbs = (places / BASE_DIGITS).min(self.limbs.len());
        let dropped_zeros = self.limbs.drain(..whole_limbs).all(|limb| limb == 0);
        let rest = self.div_small(pow10(places % BASE_DIGITS));
        dropped_zeros && rest == 0
    }

    /// The number of zeros at the end of the decimal text, 0 for zero.
    pub(super) fn trailing_zeros(&self) -> usize {
        let zero_limbs = self.limbs.iter().take_while(|limb| **limb == 0).count();
        let mut first = self.limbs.get(zero_limbs).copied().unwrap_or(1);
        let mut zeros = zero_limbs * BASE_DIGITS;
        while first.is_multiple_of(10) {
            first /= 10;
            zeros += 1;
        }
        if self.is_zero() { 0 } else { zeros }
    }

    pub(super) fn add(&mut self, other: &Self) {
        let mut carry = 0_u32;
        for index in 0..self.limbs.len().max(other.limbs.len()) {
            let sum = carry + limb(&self.limbs, index) + limb(&other.limbs, index);
            set_limb(&mut self.limbs, index, sum % BASE);
            carry = sum / BASE;
        }
        if carry > 0 {
            self.limbs.push(carry);
        }
    }

    /// Subtracts a number that is not larger.
    pub(super) fn sub(&mut self, other: &Self) {
        let mut borrow = 0_u32;
        for index in 0..self.limbs.len() {
            let have = limb(&self.limbs, index) + BASE;
            let rest = have - limb(&other.limbs, index) - borrow;
            set_limb(&mut self.limbs, index, rest % BASE);
            borrow = u32::from(rest < BASE);
        }
        self.normalize();
    }

    pub(super) fn to_decimal(&self) -> String {
        let Some((top, rest)) = self.limbs.split_last() else {
            return "0".to_owned();
        };
        let mut text = top.to_string();
        text.reserve(rest.len() * BASE_DIGITS);
        for limb in rest.iter().rev() {
            let _ = write!(text, "{limb:09}");
        }
        text
    }

    fn normalize(&mut self) {
        while self.limbs.last() == Some(&0) {
            self.limbs.pop();
        }
    }
}

impl Ord for BigUint {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_length = self.limbs.len().cmp(&other.limbs.len());
        by_length.then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
    }
}

impl PartialOrd for BigUint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// 10^`places` for at most 9 places.
fn pow10(places: usize) -> u32 {
    (0..places).fold(1, |n, _| n * 10)
}

/// The value modulo the base; quotients and remainders passed in are smaller.
fn low_limb(value: u64) -> u32 {
    u32::try_from(value % u64::from(BASE)).unwrap_or_default()
}

fn limb(limbs: &[u32], index: usize) -> u32 {
    limbs.get(index).copied().unwrap_or_default()
}

fn set_limb(limbs: &mut Vec<u32>, index: usize, value: u32) {
    match limbs.get_mut(index) {
        Some(limb) => *limb = value,
        None => limbs.push(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(digits: &str) -> BigUint {
        BigUint::from_digits(digits, "")
    }

    #[test]
    fn numbers_print_as_they_were_read() {
        for text in ["0", "7", "999999999", "1000000000", "123456789012345678901234567890"] {
            assert_eq!(number(text).to_decimal(), text);
        }
        assert_eq!(BigUint::from_u64(u64::MAX).to_decimal(), u64::MAX.to_string());
        assert_eq!(number("000123").to_decimal(), "123");
    }

    #[test]
    fn sums_and_differences_carry() {
        let mut sum = number("999999999999999999");
        sum.add(&number("1"));
        assert_eq!(sum.to_decimal(), "1000000000000000000");
        sum.sub(&number("1"));
        assert_eq!(sum.to_decimal(), "999999999999999999");
        sum.sub(&number("999999999999999999"));
        assert!(sum.is_zero());
    }

    #[test]
    fn powers_of_ten_shift_digits() {
        let mut shifted = number("12345");
        shifted.mul_pow10(20);
        assert_eq!(shifted.to_decimal(), "1234500000000000000000000");
        assert_eq!(shifted.trailing_zeros(), 20);
        assert_eq!(shifted.digits(), 25);
        assert!(shifted.div_pow10(20));
        assert!(!shifted.div_pow10(2));
        assert_eq!(shifted.to_decimal(), "123");
        assert!(!shifted.div_pow10(40));
        assert_eq!(shifted.to_decimal(), "0");
    }

    #[test]
    fn small_factors_multiply_and_divide() {
        let mut n = number("999999999999999999");
        n.mul_small(1024);
        assert_eq!(n.to_decimal(), "1023999999999999998976");
        assert_eq!(n.div_small(1024), 0);
        assert_eq!(n.div_small(10), 9);
        assert_eq!(n.to_u64(), Some(99_999_999_999_999_999));
        assert_eq!(number("18446744073709551617").to_u64(), None);
        assert_eq!(number("18446744073709551617").wrapping_u64(), 1);
    }
}
