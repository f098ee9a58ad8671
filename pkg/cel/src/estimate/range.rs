//! Ranges of sizes and costs.

/// From the least to the most that something can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least.
    pub min: u64,
    /// The most; `u64::MAX` if nothing bounds it.
    pub max: u64,
}

impl Range {
    /// A size that nothing bounds.
    pub const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    /// Exactly `n`.
    pub const fn fixed(n: u64) -> Self {
        Self { min: n, max: n }
    }

    /// What a union begins with. Of an empty set it is zero, otherwise it is no range: its first union is.
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

    /// A size times the cost of one unit, rounded up.
    pub fn scale(self, factor: f64) -> Self {
        Self { min: scale(self.min, factor), max: scale(self.max, factor) }
    }

    /// The smallest range around both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

fn scale(n: u64, factor: f64) -> u64 {
    // The conversion saturates.
    (n as f64 * factor).ceil() as u64
}
