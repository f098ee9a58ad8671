//! Work in seat-seconds, and virtual time, which is measured in them.

use std::fmt;
use std::ops::{Add, AddAssign};
use std::time::Duration;

/// An amount of work. Counted exactly, in 10⁻¹⁵ of a seat-second, and so far that a server at full load for a million
/// years does not get there: upstream's 64 bits have to be wound back at times (its "epochs").
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeatSeconds(u128);

/// Units in a seat-nanosecond.
const PER_NANOSECOND: u128 = 1_000_000;
/// Units in a seat-second.
const SCALE: u128 = 1_000_000_000 * PER_NANOSECOND;

impl SeatSeconds {
    /// What `seats` do in `time`.
    pub(crate) fn of(seats: u64, time: Duration) -> Self {
        Self::shared(seats, time, 1)
    }

    /// What each of `sharers` gets of what `seats` do in `time`. Nothing if there is nobody.
    pub(crate) fn shared(seats: u64, time: Duration, sharers: usize) -> Self {
        let nanos = u128::from(seats).saturating_mul(time.as_nanos());
        SeatSeconds(nanos.saturating_mul(PER_NANOSECOND).checked_div(sharers as u128).unwrap_or_default())
    }

    /// How long `seats` need for it.
    pub(crate) fn time_for(self, seats: u64) -> Duration {
        let nanos = (self.0 / PER_NANOSECOND).checked_div(u128::from(seats)).unwrap_or_default();
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The rest when `other` is taken away; nothing if that is more.
    pub(crate) fn less(self, other: Self) -> Self {
        SeatSeconds(self.0.saturating_sub(other.0))
    }

    /// Seat-seconds, to the precision of a float.
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

/// As dumps have it: eight digits behind the point, `ss` behind those.
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
    fn what_many_share_is_not_rounded_away() {
        let mut sum = SeatSeconds::default();
        for _ in 0..1_000_000 {
            sum += SeatSeconds::shared(1, Duration::from_nanos(1), 100);
        }
        assert_eq!(sum, SeatSeconds::of(1, Duration::from_nanos(10_000)));
        assert_eq!(SeatSeconds::shared(1, Duration::MAX, 0), SeatSeconds::default());
    }
}
