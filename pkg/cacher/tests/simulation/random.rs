//! A small seeded generator (SplitMix64), so that a seed means the same run on every machine and with
//! every version of every dependency.

use std::ops::Range;
use std::time::Duration;

/// A sequence of numbers that depends on its seed alone.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Another sequence, for somebody who draws at a time of his own.
    pub fn fork(&mut self) -> Self {
        Random(self.next())
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number of a range that is not empty.
    pub fn within(&mut self, range: Range<i64>) -> i64 {
        range.start + self.below((range.end - range.start) as u64) as i64
    }

    /// True so many times of a thousand.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// A time, in milliseconds.
    pub fn millis(&mut self, range: Range<i64>) -> Duration {
        Duration::from_millis(self.within(range) as u64)
    }
}
