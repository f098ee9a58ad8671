//! Cost accounting of an evaluation.
//!
//! cel-go finds the sizes of a call's arguments on a stack of node values, by node id. From the top it
//! searches the last argument, drops it and everything above, and continues with the previous argument.
//! Values that no call fetches stay until something below them is dropped. A call whose arguments are not all
//! found costs nothing. The costs of unusual expressions depend on this, so the stack is reproduced here.
//!
//! Few expressions are unusual. In all others a call finds exactly the arguments that were just evaluated for
//! it. [`Plan::traced`](crate::plan::Plan) distinguishes the two in advance; ordinary expressions run without
//! the stack.

use smallvec::SmallVec;

use crate::arena::Abort;
use crate::plan::Charge;
use crate::value::Value;

pub(super) struct Costs<T> {
    total: u64,
    limit: u64,
    pub(super) trace: T,
}

/// Tracking of node values for costs.
pub(super) trait Trace<'a>: Default {
    /// True if values are recorded.
    const ON: bool;

    /// Records a value.
    fn push(&mut self, id: u32, value: Value<'a>);

    /// Drops the topmost value with this id and everything above it.
    fn drop_id(&mut self, id: u32);

    /// Drops the values of arguments from last to first, until one is not found.
    fn drop_all(&mut self, ids: impl DoubleEndedIterator<Item = u32>);

    /// Drops the values of a call's arguments and returns the cost of the call. Returns `None`, for no cost,
    /// if not all arguments are found. `args` are the evaluated arguments.
    fn pop_call_cost(
        &mut self,
        charge: Charge,
        ids: impl Ids,
        args: &[Value<'a>],
    ) -> Result<Option<u64>, Abort>;

    /// Like [`pop_call_cost`](Self::pop_call_cost), for two evaluated arguments.
    #[inline]
    fn pop_binary_call_cost(
        &mut self,
        charge: Charge,
        ids: [u32; 2],
        args: [Value<'a>; 2],
    ) -> Result<Option<u64>, Abort> {
        self.pop_call_cost(charge, ids.into_iter(), &args)
    }

    /// Drops and returns the values of a call's arguments; `None` if not all are found. `args` are the
    /// evaluated arguments.
    fn take_args(&mut self, ids: impl Ids, args: &[Value<'a>]) -> Option<Args<'a>>;

    /// Returns the stack height.
    fn height(&self) -> usize;

    /// Removes the values between two heights.
    fn forget(&mut self, from: usize, to: usize);
}

/// Node ids of a call's arguments.
pub(super) trait Ids: DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone {}

impl<I: DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone> Ids for I {}

/// No stack: the arguments of a call are those just evaluated.
#[derive(Default)]
pub(super) struct NoTrace;

/// cel-go's stack.
#[derive(Default)]
pub(super) struct ValueStack<'a> {
    /// Ids on the stack. The values are in a separate list so that arguments form a slice.
    ids: SmallVec<[u32; INLINE]>,
    values: SmallVec<[Value<'a>; INLINE]>,
}

/// Stack size before heap allocation.
const INLINE: usize = 32;

/// Maximum arguments of a call that affect its cost.
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

    /// Adds to the total. Fails if it exceeds the limit.
    #[inline(always)]
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Abort> {
        self.total = self.total.saturating_add(cost);
        if self.total > self.limit { Err(Abort::CostLimit) } else { Ok(()) }
    }

    /// Adds one unit at a time in effect: the total stops where cel-go's would.
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

    /// Refunds a charge for something that is free. The total may be smaller than the refund; it wraps
    /// around, as in Go.
    pub(super) fn refund(&mut self, cost: u64) {
        self.total = self.total.wrapping_sub(cost);
    }

    /// Returns true if this cost is within the limit.
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
    fn pop_call_cost(
        &mut self,
        charge: Charge,
        ids: impl Ids,
        args: &[Value<'a>],
    ) -> Result<Option<u64>, Abort> {
        (args.len() == ids.len()).then(|| call_cost(charge, args)).transpose()
    }

    #[inline(always)]
    fn pop_binary_call_cost(
        &mut self,
        charge: Charge,
        _: [u32; 2],
        [a, b]: [Value<'a>; 2],
    ) -> Result<Option<u64>, Abort> {
        match charge {
            Charge::SelfCompare(_) => call_cost(charge, &[a, b]).map(Some),
            _ => Ok(Some(charge.cost_of_two(a, b))),
        }
    }

    fn take_args(&mut self, ids: impl Ids, args: &[Value<'a>]) -> Option<Args<'a>> {
        (args.len() == ids.len()).then(|| {
            let mut copied = Args { values: [Value::Null; ARGS_MAX], len: args.len().min(ARGS_MAX) };
            copied.values.iter_mut().zip(args).for_each(|(value, arg)| *value = *arg);
            copied
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
        if let Some(place) = self.position(id) {
            self.truncate(place);
        }
    }

    #[inline]
    fn drop_all(&mut self, ids: impl DoubleEndedIterator<Item = u32>) {
        for id in ids.rev() {
            let Some(place) = self.position(id) else { return };
            self.truncate(place);
        }
    }

    fn pop_call_cost(
        &mut self,
        charge: Charge,
        ids: impl Ids,
        args: &[Value<'a>],
    ) -> Result<Option<u64>, Abort> {
        let bottom = self.ids.len().checked_sub(ids.len());
        // Fast path: the arguments are on top of the stack, in order.
        if let Some(bottom) = bottom
            && self.ids.iter().skip(bottom).copied().eq(ids.clone())
        {
            let cost = call_cost(charge, self.values.get(bottom..).unwrap_or_default())?;
            self.truncate(bottom);
            return Ok(Some(cost));
        }
        self.take_args(ids, args).map(|args| call_cost(charge, args.values())).transpose()
    }

    #[inline(never)]
    fn take_args(&mut self, ids: impl Ids, _: &[Value<'a>]) -> Option<Args<'a>> {
        let mut args = Args { values: [Value::Null; ARGS_MAX], len: ids.len().min(ARGS_MAX) };
        for (place, id) in ids.enumerate().rev() {
            let position = self.position(id)?;
            if let (Some(arg), Some(value)) = (args.values.get_mut(place), self.values.get(position)) {
                *arg = *value;
            }
            self.truncate(position);
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
    /// Returns the position of the topmost value with this id. Usually it is on top; otherwise it is mostly
    /// absent, and testing for absence is faster than searching a position.
    #[inline]
    fn position(&self, id: u32) -> Option<usize> {
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

/// Computes the cost of a call. Fails where cel-go panics.
fn call_cost(charge: Charge, args: &[Value<'_>]) -> Result<u64, Abort> {
    match charge.panics(args) {
        Some(panic) => Err(Abort::Internal(panic)),
        None => Ok(charge.cost(args, Value::Null)),
    }
}

/// Argument values of a call, taken from the stack.
pub(super) struct Args<'a> {
    values: [Value<'a>; ARGS_MAX],
    len: usize,
}

impl<'a> Args<'a> {
    pub(super) fn values(&self) -> &[Value<'a>] {
        &self.values[..self.len]
    }
}
