//! The account of an evaluation.
//!
//! cel-go finds the sizes of a call's arguments on a stack of all values that nodes came to, by the nodes' ids:
//! it looks from the top for the last argument, drops it with everything above, and goes on with the one before.
//! Values that nobody fetches stay where they are until something below is dropped, and a call whose arguments
//! are not all found costs nothing. The costs of odd expressions depend on that, so it is done the same way.

use smallvec::SmallVec;

use crate::arena::Abort;
use crate::plan::Charge;
use crate::value::Value;

pub(super) struct Costs<'a> {
    total: u64,
    limit: u64,
    /// The ids on the stack; `values` has their values, in a list of its own so that arguments are a slice.
    ids: SmallVec<[u32; INLINE]>,
    values: SmallVec<[Value<'a>; INLINE]>,
}

/// Values on the stack before it takes memory.
const INLINE: usize = 32;

/// Arguments of one call that take part in its cost.
const ARGS_MAX: usize = 4;

impl<'a> Costs<'a> {
    pub(super) fn new(limit: u64) -> Self {
        Self { total: 0, limit, ids: SmallVec::new(), values: SmallVec::new() }
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    #[inline]
    pub(super) fn push(&mut self, id: u32, value: Value<'a>) {
        self.ids.push(id);
        self.values.push(value);
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

    /// Drops the uppermost value of this id with everything above it; says whether there is one.
    #[inline]
    pub(super) fn drop_id(&mut self, id: u32) -> bool {
        let Some(place) = self.place(id) else { return false };
        self.truncate(place);
        true
    }

    /// Where the uppermost value of this id is: nearly always on top, else mostly nowhere, which is found out
    /// faster than a place.
    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        if self.ids.last() == Some(&id) {
            return Some(self.ids.len() - 1);
        }
        if self.ids.contains(&id) { self.ids.iter().rposition(|other| *other == id) } else { None }
    }

    fn truncate(&mut self, height: usize) {
        self.ids.truncate(height);
        self.values.truncate(height);
    }

    /// Drops the values of a call's arguments from the last to the first, until one is not found; says whether
    /// they were all there.
    #[inline]
    pub(super) fn drop_all(&mut self, ids: impl DoubleEndedIterator<Item = u32>) -> bool {
        ids.rev().all(|id| self.drop_id(id))
    }

    /// Charges a call by its arguments' values, which are dropped; costs nothing if they are not all there, of
    /// which it says whether.
    pub(super) fn charge_args(
        &mut self,
        charge: Charge,
        ids: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone,
    ) -> Result<bool, Abort> {
        let bottom = self.ids.len().checked_sub(ids.len());
        // Nearly always they are the uppermost, one after the other.
        if let Some(bottom) = bottom
            && self.ids.iter().skip(bottom).copied().eq(ids.clone())
        {
            let args = self.values.get(bottom..).unwrap_or_default();
            let cost = counted(charge, args)?;
            self.truncate(bottom);
            return self.charge(cost).map(|()| true);
        }
        let Some(args) = self.take_args(ids) else { return Ok(false) };
        self.charge(counted(charge, args.values())?).map(|()| true)
    }

    /// Takes the values of a call's arguments; none if they are not all there.
    #[inline(never)]
    pub(super) fn take_args(
        &mut self,
        ids: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator,
    ) -> Option<Args<'a>> {
        let mut args = Args { values: [Value::Null; ARGS_MAX], len: ids.len().min(ARGS_MAX) };
        for (place, id) in ids.enumerate().rev() {
            let found = self.place(id)?;
            if let (Some(arg), Some(value)) = (args.values.get_mut(place), self.values.get(found)) {
                *arg = *value;
            }
            self.truncate(found);
        }
        Some(args)
    }

    pub(super) fn charge_equality(&mut self, ids: [u32; 2], negated: bool) -> Result<(), Abort> {
        // Kubernetes' rule knows `==` alone.
        let charge = if negated { Charge::Smaller } else { Charge::Equality };
        self.charge_args(charge, ids.into_iter()).map(drop)
    }

    /// How high the stack is.
    pub(super) fn height(&self) -> usize {
        self.ids.len()
    }

    /// Forgets the values between two heights.
    pub(super) fn forget(&mut self, from: usize, to: usize) {
        if from < to && to <= self.ids.len() {
            let height = self.ids.len() - (to - from);
            self.ids.copy_within(to.., from);
            self.values.copy_within(to.., from);
            self.truncate(height);
        }
    }
}

/// The cost of a call, unless cel-go cannot tell it.
fn counted(charge: Charge, args: &[Value<'_>]) -> Result<u64, Abort> {
    match charge.panics(args) {
        Some(panic) => Err(Abort::Internal(panic)),
        None => Ok(charge.cost(args, Value::Null)),
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
