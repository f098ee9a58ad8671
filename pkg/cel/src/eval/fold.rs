//! Evaluation of comprehensions.

use super::cost::Trace;
use super::{CHECK_FREQUENCY, Evaluator};
use crate::arena::{Abort, Outcome};
use crate::plan::{Fold, Quantifier};
use crate::value::{Growing, GrowingMap, List, Map, Value, go_type};

/// Error of a cancelled loop.
const INTERRUPTED: &str = "operation interrupted";

impl<'a, T: Trace<'a>> Evaluator<'a, '_, T> {
    #[inline(never)]
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Outcome<'a> {
        let range = self.node(fold.range)?;
        let value = match range {
            Value::Error(_) => range,
            Value::List(list) => self.fold_list(fold, list)?,
            Value::Map(map) => self.fold_all(fold, map.iter())?,
            _ if fold.second.is_some() => {
                let text =
                    format_args!("unsupported comprehension range type: {}", go_type(range)).to_string();
                self.arena.error(text)?
            }
            _ => self.arena.error(format_args!("got '{}', expected iterable type", go_type(range)))?,
        };
        self.costs.trace.drop_id(self.id(fold.range));
        Ok(value)
    }

    fn fold_list(&mut self, fold: &'a Fold, list: List<'a>) -> Outcome<'a> {
        let numbered = fold.second.is_some();
        let elements = list.iter().enumerate().map(|(place, value)| {
            if numbered { (Value::Int(place as i64), value) } else { (value, Value::Null) }
        });
        self.fold_all(fold, elements)
    }

    fn fold_all(
        &mut self,
        fold: &'a Fold,
        elements: impl Iterator<Item = (Value<'a>, Value<'a>)>,
    ) -> Outcome<'a> {
        self.slots[usize::from(fold.accumulator)] = None;
        if let (false, Some(quantifier)) = (T::ON, fold.quantifier) {
            return self.quantify(fold, quantifier, elements);
        }
        let mut garbage = [self.costs.trace.height(); 2];
        for (first, second) in elements {
            if !self.run_iteration(fold, first, second, &mut garbage)? {
                break;
            }
        }
        self.folded(fold)
    }

    /// Specialized loop of [`run_iteration`](Self::run_iteration) with a fixed condition and step. Only the predicate is run
    /// as a node.
    fn quantify(
        &mut self,
        fold: &'a Fold,
        Quantifier { predicate, decisive }: Quantifier,
        elements: impl Iterator<Item = (Value<'a>, Value<'a>)>,
    ) -> Outcome<'a> {
        // `@not_strictly_false(@result)`, or of `!@result`.
        let condition = if decisive { 3 } else { 2 };
        let mut result = Value::Bool(!decisive);
        for (first, second) in elements {
            self.bind(fold, first, second);
            self.costs.charge_units(condition)?;
            if matches!(result, Value::Bool(outcome) if outcome == decisive) {
                break;
            }
            self.costs.charge(1)?;
            let next = match self.node(predicate) {
                Ok(Value::Bool(value)) => (value == decisive).then_some(Value::Bool(decisive)),
                other => Some(other?.or_no_such_overload()).filter(|_| !result.is_error()),
            };
            if let Some(next) = next {
                result = next;
                self.slots[usize::from(fold.accumulator)] = next.into();
            }
            self.interrupted |= self.check_cancelled();
            if self.interrupted {
                return Ok(Value::Error(INTERRUPTED));
            }
        }
        self.costs.charge(1)?;
        Ok(result)
    }

    fn bind(&mut self, fold: &Fold, first: Value<'a>, second: Value<'a>) {
        self.slots[usize::from(fold.variable)] = Some(first);
        if let Some(slot) = fold.second {
            self.slots[usize::from(slot)] = Some(second);
        }
    }

    /// Runs one iteration. Returns true if the loop continues. `garbage` has the heights of the cost stack at
    /// the start of this iteration and the previous one.
    fn run_iteration(
        &mut self,
        fold: &Fold,
        first: Value<'a>,
        second: Value<'a>,
        garbage: &mut [usize; 2],
    ) -> Result<bool, Abort> {
        self.bind(fold, first, second);
        if matches!(self.node(fold.condition)?, Value::Bool(false)) || self.interrupted {
            return Ok(false);
        }
        let value = self.node(fold.step)?;
        self.slots[usize::from(fold.accumulator)] = Some(value);
        self.discard_garbage(garbage);
        self.interrupted |= self.check_cancelled();
        Ok(!self.interrupted)
    }

    /// Removes values that earlier iterations left on the cost stack. Those of the last two iterations stay,
    /// because cost lookups can still find them. This keeps the stack from growing with the list.
    fn discard_garbage(&mut self, garbage: &mut [usize; 2]) {
        let height = self.costs.trace.height();
        let [before, last] = *garbage;
        if height < last || last < before {
            *garbage = [height; 2];
            return;
        }
        self.costs.trace.forget(before, last);
        *garbage = [before, height - (last - before)];
    }

    fn check_cancelled(&mut self) -> bool {
        self.checks = self.checks.wrapping_add(1);
        self.checks.is_multiple_of(CHECK_FREQUENCY) && self.cancel.is_some_and(super::Cancel::is_cancelled)
    }

    fn folded(&mut self, fold: &'a Fold) -> Outcome<'a> {
        if self.interrupted {
            return Ok(Value::Error(INTERRUPTED));
        }
        let value = self.node(fold.result)?;
        match value {
            Value::List(List::Growing(list)) => list.freeze(),
            Value::Map(Map::Growing(map)) => map.freeze(),
            _ => {}
        }
        Ok(value)
    }

    /// Computes the accumulator's initial value on first use. Empty lists and maps become ones that grow in
    /// place.
    pub(super) fn accumulator(&mut self, fold: &'a Fold) -> Outcome<'a> {
        let mut value = self.node(fold.init)?;
        match value {
            Value::List(list) if list.is_empty() => {
                let elements = self.arena.values(0)?;
                value = Value::List(List::Growing(self.arena.alloc(Growing::new(elements))?));
            }
            Value::Map(map) if map.is_empty() => {
                let map = GrowingMap::growing(self.arena.bump());
                value = Value::Map(Map::Growing(self.arena.alloc(map)?));
            }
            _ => {}
        }
        self.slots[usize::from(fold.accumulator)] = Some(value);
        Ok(value)
    }
}
