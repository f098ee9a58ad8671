//! Seat-seconds: the unit of work and of virtual time.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::time::Duration;

/// An exact amount of work in units of 10⁻¹⁵ seat-seconds. It does not overflow within a million years at
/// full load. Upstream's 64 bits must be reset from time to time (its "epochs").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeatSeconds(u128);

/// Units per seat-nanosecond.
const PER_NANOSECOND: u128 = 1_000_000;
/// Units per seat-second.
const SCALE: u128 = 1_000_000_000 * PER_NANOSECOND;

impl SeatSeconds {
    /// Returns the work of `seats` during `time`.
    pub(crate) fn of(seats: u64, time: Duration) -> Self {
        Self::equal_part(seats, time, 1)
    }

    /// Returns one of `sharers` equal parts of the work of `seats` during `time`. Zero if `sharers` is zero.
    pub(crate) fn equal_part(seats: u64, time: Duration, sharers: usize) -> Self {
        let nanos = u128::from(seats).saturating_mul(time.as_nanos());
        SeatSeconds(nanos.saturating_mul(PER_NANOSECOND).checked_div(sharers as u128).unwrap_or_default())
    }

    /// Returns the time that `seats` need for this work.
    pub(crate) fn time_for(self, seats: u64) -> Duration {
        let nanos = (self.0 / PER_NANOSECOND).checked_div(u128::from(seats)).unwrap_or_default();
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Subtracts `other`, saturating at zero.
    pub(crate) fn saturating_sub(self, other: Self) -> Self {
        SeatSeconds(self.0.saturating_sub(other.0))
    }

    /// Converts to seat-seconds, with the precision of a float.
    pub(crate) fn as_f64(self) -> f64 {
        self.0 as f64 / SCALE as f64
    }
}

impl Add for SeatSeconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        SeatSeconds(self.0.saturating_add(other.0))
    }
}

impl AddAssign for SeatSeconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Formats as in dumps: eight decimal places and the unit `ss`.
impl fmt::Display for SeatSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0 % SCALE / (SCALE / 100_000_000);
        write!(f, "{}.{digits:08}ss", self.0 / SCALE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_written_with_eight_digits() {
        let check = |seats, nanos, expected: &str| {
            assert_eq!(SeatSeconds::of(seats, Duration::from_nanos(nanos)).to_string(), expected);
        };
        check(0, 5, "0.00000000ss");
        check(1, 1_250_000_000, "1.25000000ss");
        check(3, 3_000_000, "0.00900000ss");
        check(7, 10, "0.00000007ss");
    }

    #[test]
    fn fewer_seats_need_longer_for_the_same_work() {
        let work = SeatSeconds::of(10, Duration::from_millis(5));
        assert_eq!(work.time_for(4), Duration::from_micros(12_500));
        assert_eq!(work.time_for(0), Duration::ZERO);
    }

    #[test]
    fn shared_work_is_not_rounded_away() {
        let mut sum = SeatSeconds::default();
        for _ in 0..1_000_000 {
            sum += SeatSeconds::equal_part(1, Duration::from_nanos(1), 100);
        }
        assert_eq!(sum, SeatSeconds::of(1, Duration::from_nanos(10_000)));
        assert_eq!(SeatSeconds::equal_part(1, Duration::MAX, 0), SeatSeconds::default());
    }
}
