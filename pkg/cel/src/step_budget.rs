//! Bounds on what cel-go does not charge for before it does it: comparing, copying, searching, descending.

use std::cell::Cell;

use crate::arena::Abort;

/// Steps that one evaluation may still take, and how deep within a value it is.
#[derive(Debug)]
pub struct StepBudget {
    steps: Cell<u64>,
    depth: Cell<u32>,
}

/// Steps of one evaluation at most; the cost limit of a call is 10^6. A step is a comparison of two elements or
/// 64 bytes of text.
const STEPS_MAX: u64 = 20_000_000;
/// Values within values that are looked at: an expression can make deeper ones than a stack has room for.
const DEPTH_MAX: u32 = 500;

impl Default for StepBudget {
    fn default() -> Self {
        Self { steps: Cell::new(STEPS_MAX), depth: Cell::new(0) }
    }
}

impl StepBudget {
    /// Takes steps, or says that there are none left.
    #[inline]
    pub fn spend(&self, steps: u64) -> Result<(), Abort> {
        match self.steps.get().checked_sub(steps) {
            Some(left) => {
                self.steps.set(left);
                Ok(())
            }
            None => Err(Abort::CostLimit),
        }
    }

    /// Does something within a value, unless that is too deep.
    pub(crate) fn within<T>(&self, run: impl FnOnce() -> Result<T, Abort>) -> Result<T, Abort> {
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
