//! Ranges of sizes and costs.

/// A minimum and a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The minimum; 0 if unknown.
    pub min: u64,
    /// The maximum; `u64::MAX` if unbounded.
    pub max: u64,
}

impl Range {
    /// An unbounded size.
    pub const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    /// Exactly `n`.
    pub const fn fixed(n: u64) -> Self {
        Self { min: n, max: n }
    }

    /// The neutral start of a union. For an empty set it is zero; otherwise it is not a valid range until its
    /// first union.
    pub(super) const fn none(empty: bool) -> Self {
        Self { min: if empty { 0 } else { u64::MAX }, max: 0 }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    /// The product.
    pub fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    /// Multiplies a size by the cost of one unit, rounding up.
    pub fn scale(self, factor: f64) -> Self {
        Self { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    /// The smallest range around both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

fn scale(n: u64, factor: f64) -> u64 {
    // The float-to-integer conversion saturates.
    (n as f64 * factor).ceil() as u64
}
