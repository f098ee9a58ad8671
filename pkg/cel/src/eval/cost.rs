//! The account of an evaluation.
//!
//! cel-go finds the sizes of a call's arguments on a stack of all values that nodes came to, by the nodes' ids:
//! it looks from the top for the last argument, drops it with everything above, and goes on with the one before.
//! Values that nobody fetches stay where they are until something below is dropped, and a call whose arguments
//! are not all found costs nothing. The costs of odd expressions depend on that, so it is done the same way.

use crate::arena::Abort;
use crate::plan::Charge;
use crate::value::Value;

pub(super) struct Costs<'a> {
    total: u64,
    limit: u64,
    stack: Vec<(u32, Value<'a>)>,
}

/// Arguments of one call that take part in its cost.
const ARGS_MAX: usize = 4;

impl<'a> Costs<'a> {
    pub(super) fn new(limit: u64) -> Self {
        Self { total: 0, limit, stack: Vec::with_capacity(16) }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    #[inline]
    pub(super) fn push(&mut self, id: u32, value: Value<'a>) {
        self.stack.push((id, value));
    }

    /// Adds to the total, and says whether that is too much.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Abort> {
        self.total = self.total.saturating_add(cost);
        if self.total > self.limit { Err(Abort::CostLimit) } else { Ok(()) }
    }

    /// Takes back what was charged for something that is free after all. The total may have been less: then it
    /// wraps around as it does in Go.
    pub(super) fn refund(&mut self, cost: u64) {
        self.total = self.total.wrapping_sub(cost);
    }

    /// Whether this cost is within the limit.
    pub(super) fn affords(&self, cost: u64) -> bool {
        self.total.saturating_add(cost) <= self.limit
    }

    /// Drops the uppermost value of this id with everything above it.
    #[inline]
    pub(super) fn drop_id(&mut self, id: u32) -> Option<Value<'a>> {
        let place = self.stack.iter().rposition(|(other, _)| *other == id)?;
        let value = self.stack[place].1;
        self.stack.truncate(place);
        Some(value)
    }

    /// Drops values from the last id to the first, until one is not found.
    pub(super) fn drop_args(&mut self, ids: impl DoubleEndedIterator<Item = u32>) {
        for id in ids.rev() {
            if self.drop_id(id).is_none() {
                break;
            }
        }
    }

    /// Takes the values of a call's arguments; none if they are not all there.
    pub(super) fn take_args(
        &mut self,
        ids: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator,
    ) -> Option<Args<'a>> {
        let mut args = Args { values: [Value::Null; ARGS_MAX], len: ids.len().min(ARGS_MAX) };
        for (place, id) in ids.enumerate().rev() {
            let value = self.drop_id(id)?;
            if place < ARGS_MAX {
                args.values[place] = value;
            }
        }
        Some(args)
    }

    pub(super) fn charge_equality(&mut self, ids: &[u32; 2], negated: bool) -> Result<(), Abort> {
        let Some(args) = self.take_args(ids.iter().copied()) else { return Ok(()) };
        // Kubernetes' rule knows `==` alone.
        let charge = if negated { Charge::Smaller } else { Charge::Equality };
        self.charge(charge.cost(args.values(), Value::Null))
    }

    /// How high the stack is.
    pub(super) fn height(&self) -> usize {
        self.stack.len()
    }

    /// Forgets the values between two heights.
    pub(super) fn forget(&mut self, from: usize, to: usize) {
        if from < to && to <= self.stack.len() {
            self.stack.drain(from..to);
        }
    }
}

/// Values of a call's arguments, as the stack had them.
pub(super) struct Args<'a> {
    values: [Value<'a>; ARGS_MAX],
    len: usize,
}

impl<'a> Args<'a> {
    pub(super) fn values(&self) -> &[Value<'a>] {
        &self.values[..self.len]
    }
}
