//! Values of samples.

use std::fmt::{self, Display, Formatter};

use apimachinery::time::UnixTime;

/// Sample value, an integer as long as possible, so that large counts stay exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A count.
    Integer(i128),
    /// A measurement.
    Float(f64),
}

impl Number {
    pub(super) fn saturating_add(self, other: Self) -> Self {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => Number::Integer(a.saturating_add(b)),
            (a, b) => Number::Float(a.float_value() + b.float_value()),
        }
    }

    /// Returns the number of events that a count stands for; 1 for a measurement.
    pub(super) fn event_count(self) -> u64 {
        match self {
            Number::Integer(count) => u64::try_from(count).unwrap_or(0),
            Number::Float(_) => 1,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::as_conversions,
        reason = "a sum with a fraction is rounded anyway"
    )]
    fn float_value(self) -> f64 {
        match self {
            Number::Integer(integer) => integer as f64,
            Number::Float(real) => real,
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(integer) => Display::fmt(integer, f),
            Number::Float(real) if real.is_infinite() => {
                f.write_str(if *real > 0.0 { "+Inf" } else { "-Inf" })
            }
            Number::Float(real) => Display::fmt(real, f),
        }
    }
}

macro_rules! whole {
    ($($from:ty),*) => { $(
        impl From<$from> for Number {
            fn from(value: $from) -> Self {
                Number::Integer(value.into())
            }
        }
    )* };
}

whole!(bool, u8, u16, u32, u64, i32, i64);

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Number::Integer(i128::try_from(value).unwrap_or(i128::MAX))
    }
}

impl From<u128> for Number {
    fn from(value: u128) -> Self {
        Number::Integer(i128::try_from(value).unwrap_or(i128::MAX))
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Number::Float(value)
    }
}

/// Seconds since 1970.
impl From<UnixTime> for Number {
    fn from(time: UnixTime) -> Self {
        let seconds = Number::from(time.seconds);
        if time.nanos == 0 {
            seconds
        } else {
            seconds.saturating_add(Number::Float(f64::from(time.nanos) / 1e9))
        }
    }
}
