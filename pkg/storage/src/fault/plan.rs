//! Fault plans: a pure function of the operation and the number of its call.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // named as the methods of `Storage` are
pub enum Operation {
    Get,
    List,
    Count,
    Put,
    Delete,
    Watch,
    RequestProgress,
    CurrentRevision,
    Compact,
    Healthy,
}

impl Operation {
    pub(super) const COUNT: usize = Operation::Healthy as usize + 1;
}

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A normal call.
    None,
    /// The call fails without reaching the store.
    FailBefore,
    /// The call is executed but its result is lost, so the caller cannot determine if it happened. For a
    /// watch, which has no effect, the same as [`Fault::FailBefore`].
    FailAfter,
    /// The call reaches the store late.
    Delay(Duration),
    /// A watch fails after this number of items. No effect on other operations.
    BreakWatch {
        /// Number of items before the failure.
        after: usize,
    },
}

/// Fault rates per mille of calls. Their sum is at most 1000; the rest succeeds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rates {
    /// [`Fault::FailBefore`].
    pub fail_before: u16,
    /// [`Fault::FailAfter`].
    pub fail_after: u16,
    /// [`Fault::Delay`].
    pub delay: u16,
    /// Maximum length of a [`Fault::Delay`].
    pub delay_max: Duration,
    /// [`Fault::BreakWatch`], of watches.
    pub break_watch: u16,
    /// Upper bound (exclusive) of items before a watch breaks.
    pub break_after_max: u16,
}

/// A list of faults, scripted or random.
#[derive(Debug, Clone)]
pub struct Plan(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Script(Vec<(Operation, u64, Fault)>),
    Random { seed: u64, rates: Rates },
}

impl Plan {
    /// A plan without faults.
    pub fn none() -> Self {
        Plan(Kind::Script(Vec::new()))
    }

    /// These faults, each at the call of its operation with that number, counted from 0.
    pub fn script(faults: impl IntoIterator<Item = (Operation, u64, Fault)>) -> Self {
        Plan(Kind::Script(faults.into_iter().collect()))
    }

    /// Random faults. The same seed and rates always produce the same plan.
    pub fn seeded(seed: u64, rates: Rates) -> Self {
        Plan(Kind::Random { seed, rates })
    }

    /// The fault of call `nth` of `operation`.
    pub fn fault(&self, operation: Operation, nth: u64) -> Fault {
        match &self.0 {
            Kind::Script(faults) => faults
                .iter()
                .find(|(of, at, _)| (*of, *at) == (operation, nth))
                .map_or(Fault::None, |(_, _, fault)| *fault),
            Kind::Random { seed, rates } => {
                rates.draw(operation, mix(mix(mix(*seed) ^ operation as u64) ^ nth))
            }
        }
    }
}

impl Rates {
    fn draw(&self, operation: Operation, lot: u64) -> Fault {
        let break_watch = if operation == Operation::Watch { self.break_watch } else { 0 };
        // The low bits choose the fault, the high bits its severity.
        let mut point = (lot % 1000) as u16;
        let size = lot >> 32;
        let faults = [
            (self.fail_before, Fault::FailBefore),
            (self.fail_after, Fault::FailAfter),
            (self.delay, Fault::Delay(self.delay_max.mul_f64(size as f64 / u32::MAX as f64))),
            (break_watch, Fault::BreakWatch { after: size as usize % self.break_after_max.max(1) as usize }),
        ];
        for (rate, fault) in faults {
            if point < rate {
                return fault;
            }
            point -= rate;
        }
        Fault::None
    }
}

/// SplitMix64: a fixed, well-distributed function of 64 bits.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
