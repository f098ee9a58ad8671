//! Values of samples.

use std::fmt::{self, Display, Formatter};

use apimachinery::time::UnixTime;

/// Sample value, an integer as long as possible, so that large counts stay exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A count.
    Whole(i128),
    /// A measurement.
    Real(f64),
}

impl Number {
    pub(super) fn plus(self, other: Self) -> Self {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => Number::Whole(a.saturating_add(b)),
            (a, b) => Number::Real(a.real() + b.real()),
        }
    }

    /// Returns the number of events that a count stands for; 1 for a measurement.
    pub(super) fn events(self) -> u64 {
        match self {
            Number::Whole(count) => u64::try_from(count).unwrap_or(0),
            Number::Real(_) => 1,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::as_conversions,
        reason = "a sum with a fraction is rounded anyway"
    )]
    fn real(self) -> f64 {
        match self {
            Number::Whole(whole) => whole as f64,
            Number::Real(real) => real,
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Number::Whole(whole) => Display::fmt(whole, f),
            Number::Real(real) if real.is_infinite() => {
                f.write_str(if *real > 0.0 { "+Inf" } else { "-Inf" })
            }
            Number::Real(real) => Display::fmt(real, f),
        }
    }
}

macro_rules! whole {
    ($($from:ty),*) => { $(
        impl From<$from> for Number {
            fn from(value: $from) -> Self {
                Number::Whole(value.into())
            }
        }
    )* };
}

whole!(bool, u8, u16, u32, u64, i32, i64);

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Number::Whole(i128::try_from(value).unwrap_or(i128::MAX))
    }
}

impl From<u128> for Number {
    fn from(value: u128) -> Self {
        Number::Whole(i128::try_from(value).unwrap_or(i128::MAX))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Number::Real(value)
    }
}

/// Seconds since 1970.
impl From<UnixTime> for Number {
    fn from(time: UnixTime) -> Self {
        let seconds = Number::from(time.seconds);
        if time.nanos == 0 { seconds } else { seconds.plus(Number::Real(f64::from(time.nanos) / 1e9)) }
    }
}
