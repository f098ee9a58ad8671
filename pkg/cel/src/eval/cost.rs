//! The account of an evaluation.
//!
//! cel-go finds the sizes of a call's arguments on a stack of all values that nodes came to, by the nodes' ids:
//! it looks from the top for the last argument, drops it with everything above, and goes on with the one before.
//! Values that nobody fetches stay where they are until something below is dropped, and a call whose arguments
//! are not all found costs nothing. The costs of odd expressions depend on that, so it is done the same way.
//!
//! Few expressions are odd. For all others a call finds exactly the values that it was just given, which
//! [`Plan::traced`](crate::plan::Plan) knows beforehand; they run without the stack.

use smallvec::SmallVec;

use crate::arena::Abort;
use crate::plan::Charge;
use crate::value::Value;

pub(super) struct Costs<T> {
    total: u64,
    limit: u64,
    pub(super) trace: T,
}

/// What costs know of the values that nodes came to.
pub(super) trait Trace<'a>: Default {
    /// Whether it takes note of anything.
    const ON: bool;

    /// Takes note of a value.
    fn push(&mut self, id: u32, value: Value<'a>);

    /// Drops the uppermost value of this id with everything above it.
    fn drop_id(&mut self, id: u32);

    /// Drops the values of arguments from the last to the first, until one is not found.
    fn drop_all(&mut self, ids: impl DoubleEndedIterator<Item = u32>);

    /// Drops the values of a call's arguments and says what the call costs by them, unless they are not all
    /// there: then it costs nothing. `args` are those that were evaluated.
    fn settle(&mut self, charge: Charge, ids: impl Ids, args: &[Value<'a>]) -> Result<Option<u64>, Abort>;

    /// As [`settle`](Self::settle), for two arguments that were both evaluated.
    #[inline]
    fn settle_two(
        &mut self,
        charge: Charge,
        ids: [u32; 2],
        args: [Value<'a>; 2],
    ) -> Result<Option<u64>, Abort> {
        self.settle(charge, ids.into_iter(), &args)
    }

    /// Drops the values of a call's arguments and gives them; none if they are not all there. `args` are those
    /// that were evaluated.
    fn take_args(&mut self, ids: impl Ids, args: &[Value<'a>]) -> Option<Args<'a>>;

    /// How high the stack is.
    fn height(&self) -> usize;

    /// Forgets the values between two heights.
    fn forget(&mut self, from: usize, to: usize);
}

/// The ids of a call's arguments.
pub(super) trait Ids: DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone {}

impl<I: DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone> Ids for I {}

/// No stack: a call's arguments are those that were evaluated for it.
#[derive(Default)]
pub(super) struct NoTrace;

/// cel-go's stack.
#[derive(Default)]
pub(super) struct ValueStack<'a> {
    /// The ids on the stack; `values` has their values, in a list of its own so that arguments are a slice.
    ids: SmallVec<[u32; INLINE]>,
    values: SmallVec<[Value<'a>; INLINE]>,
}

/// Values on the stack before it takes memory.
const INLINE: usize = 32;

/// Arguments of one call that take part in its cost.
const ARGS_MAX: usize = 4;

impl<'a, T: Trace<'a>> Costs<T> {
    pub(super) fn new(limit: u64) -> Self {
        Self { total: 0, limit, trace: T::default() }
    }
}

impl<T> Costs<T> {
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Adds to the total, and says whether that is too much.
    #[inline(always)]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Abort> {
        self.total = self.total.saturating_add(cost);
        if self.total > self.limit { Err(Abort::CostLimit) } else { Ok(()) }
    }

    /// Adds units one after the other: the total does not go farther than it would in cel-go.
    #[inline]
    pub(super) fn charge_units(&mut self, units: u64) -> Result<(), Abort> {
        match self.total.checked_add(units) {
            Some(total) if total <= self.limit => {
                self.total = total;
                Ok(())
            }
            _ => (0..units).try_for_each(|_| self.charge(1)),
        }
    }

    /// Takes back what was charged for something that is free after all. The total may have been less: then it
    /// wraps around as it does in Go.
    pub(super) fn refund(&mut self, cost: u64) {
        self.total = self.total.wrapping_sub(cost);
    }

    /// Whether this cost is within the limit.
    pub(super) fn is_within_limit(&self, cost: u64) -> bool {
        self.total.saturating_add(cost) <= self.limit
    }
}

impl<'a> Trace<'a> for NoTrace {
    const ON: bool = false;

    #[inline(always)]
    fn push(&mut self, _: u32, _: Value<'a>) {}

    #[inline(always)]
    fn drop_id(&mut self, _: u32) {}

    #[inline(always)]
    fn drop_all(&mut self, _: impl DoubleEndedIterator<Item = u32>) {}

    #[inline(always)]
    fn settle(&mut self, charge: Charge, ids: impl Ids, args: &[Value<'a>]) -> Result<Option<u64>, Abort> {
        (args.len() == ids.len()).then(|| counted(charge, args)).transpose()
    }

    #[inline(always)]
    fn settle_two(
        &mut self,
        charge: Charge,
        _: [u32; 2],
        [a, b]: [Value<'a>; 2],
    ) -> Result<Option<u64>, Abort> {
        match charge {
            Charge::SelfCompare(_) => counted(charge, &[a, b]).map(Some),
            _ => Ok(Some(charge.cost_of_two(a, b))),
        }
    }

    fn take_args(&mut self, ids: impl Ids, args: &[Value<'a>]) -> Option<Args<'a>> {
        (args.len() == ids.len()).then(|| {
            let mut taken = Args { values: [Value::Null; ARGS_MAX], len: args.len().min(ARGS_MAX) };
            taken.values.iter_mut().zip(args).for_each(|(value, arg)| *value = *arg);
            taken
        })
    }

    #[inline(always)]
    fn height(&self) -> usize {
        0
    }

    #[inline(always)]
    fn forget(&mut self, _: usize, _: usize) {}
}

impl<'a> Trace<'a> for ValueStack<'a> {
    const ON: bool = true;

    #[inline]
    fn push(&mut self, id: u32, value: Value<'a>) {
        self.ids.push(id);
        self.values.push(value);
    }

    #[inline]
    fn drop_id(&mut self, id: u32) {
        if let Some(place) = self.place(id) {
            self.truncate(place);
        }
    }

    #[inline]
    fn drop_all(&mut self, ids: impl DoubleEndedIterator<Item = u32>) {
        for id in ids.rev() {
            let Some(place) = self.place(id) else { return };
            self.truncate(place);
        }
    }

    fn settle(&mut self, charge: Charge, ids: impl Ids, args: &[Value<'a>]) -> Result<Option<u64>, Abort> {
        let bottom = self.ids.len().checked_sub(ids.len());
        // Nearly always they are the uppermost, one after the other.
        if let Some(bottom) = bottom
            && self.ids.iter().skip(bottom).copied().eq(ids.clone())
        {
            let cost = counted(charge, self.values.get(bottom..).unwrap_or_default())?;
            self.truncate(bottom);
            return Ok(Some(cost));
        }
        self.take_args(ids, args).map(|args| counted(charge, args.values())).transpose()
    }

    #[inline(never)]
    fn take_args(&mut self, ids: impl Ids, _: &[Value<'a>]) -> Option<Args<'a>> {
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

    fn height(&self) -> usize {
        self.ids.len()
    }

    fn forget(&mut self, from: usize, to: usize) {
        if from < to && to <= self.ids.len() {
            let height = self.ids.len() - (to - from);
            self.ids.copy_within(to.., from);
            self.values.copy_within(to.., from);
            self.truncate(height);
        }
    }
}

impl ValueStack<'_> {
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
