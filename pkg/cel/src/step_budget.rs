//! Bounds on work that cel-go does not charge for in advance: comparing, copying, searching, recursion.

use std::cell::Cell;

use crate::arena::Abort;

/// Remaining step budget of one evaluation, and the current recursion depth within a value.
#[derive(Debug)]
pub struct StepBudget {
    steps: Cell<u64>,
    depth: Cell<u32>,
}

/// Maximum steps of one evaluation; the cost limit of a call is 10^6. A step is a comparison of two elements,
/// or 64 bytes of text.
const STEPS_MAX: u64 = 20_000_000;
/// Maximum depth of nested values: an expression can build deeper ones than the stack can handle.
const DEPTH_MAX: u32 = 500;

impl Default for StepBudget {
    fn default() -> Self {
        Self { steps: Cell::new(STEPS_MAX), depth: Cell::new(0) }
    }
}

impl StepBudget {
    /// Returns a budget for callers whose own limits bound the work.
    pub fn unlimited() -> Self {
        Self { steps: Cell::new(u64::MAX), depth: Cell::new(0) }
    }

    /// Consumes steps. Fails if the budget is exhausted.
    #[inline]
    pub fn spend(&self, steps: u64) -> Result<(), Abort> {
        match self.steps.get().checked_sub(steps) {
            Some(remaining) => {
                self.steps.set(remaining);
                Ok(())
            }
            None => Err(Abort::CostLimit),
        }
    }

    /// Consumes the steps of hashing a key, which grow with its length.
    pub(crate) fn spend_key(&self, key: Option<&str>) -> Result<(), Abort> {
        self.spend(key.map_or(0, |key| key.len() as u64 / 16))
    }

    /// Runs a closure one level deeper, unless the depth limit is reached.
    pub(crate) fn run_nested<T>(&self, run: impl FnOnce() -> Result<T, Abort>) -> Result<T, Abort> {
        let depth = self.depth.get();
        if depth >= DEPTH_MAX {
            return Err(Abort::CostLimit);
        }
        self.depth.set(depth + 1);
        let result = run();
        self.depth.set(depth);
        result
    }
}
