//! Comprehensions.

use super::{CHECK_FREQUENCY, Machine};
use crate::arena::{Abort, Outcome};
use crate::plan::Fold;
use crate::value::{Growing, GrowingMap, List, Map, Value, go_type};

impl<'a> Machine<'a, '_> {
    #[inline(never)]
    pub(super) fn fold(&mut self, fold: &'a Fold) -> Outcome<'a> {
        let range = self.node(fold.range)?;
        let value = match range {
            Value::Error(_) => range,
            Value::List(list) => self.fold_list(fold, list)?,
            Value::Map(map) => self.fold_map(fold, map)?,
            _ if fold.second.is_some() => {
                let text =
                    format_args!("unsupported comprehension range type: {}", go_type(range)).to_string();
                self.arena.error(text)?
            }
            _ => self.arena.error(format_args!("got '{}', expected iterable type", go_type(range)))?,
        };
        self.costs.drop_id(self.id(fold.range));
        Ok(value)
    }

    fn fold_list(&mut self, fold: &'a Fold, list: List<'a>) -> Outcome<'a> {
        self.slots[usize::from(fold.accumulator)] = None;
        let mut garbage = [self.costs.height(); 2];
        for place in 0..list.len() {
            let Some(value) = list.get(place) else { break };
            let (first, second) = match fold.second {
                Some(_) => (Value::Int(place as i64), value),
                None => (value, Value::Null),
            };
            if !self.turn(fold, first, second, &mut garbage)? {
                break;
            }
        }
        self.folded(fold)
    }

    fn fold_map(&mut self, fold: &'a Fold, map: Map<'a>) -> Outcome<'a> {
        self.slots[usize::from(fold.accumulator)] = None;
        let mut garbage = [self.costs.height(); 2];
        for (key, value) in map.iter() {
            if !self.turn(fold, key, value, &mut garbage)? {
                break;
            }
        }
        self.folded(fold)
    }

    /// One turn of the loop; says whether it goes on. `garbage` has the heights of the cost stack at which this
    /// turn and the one before began.
    fn turn(
        &mut self,
        fold: &Fold,
        first: Value<'a>,
        second: Value<'a>,
        garbage: &mut [usize; 2],
    ) -> Result<bool, Abort> {
        self.slots[usize::from(fold.variable)] = Some(first);
        if let Some(slot) = fold.second {
            self.slots[usize::from(slot)] = Some(second);
        }
        if matches!(self.node(fold.condition)?, Value::Bool(false)) || self.interrupted {
            return Ok(false);
        }
        let value = self.node(fold.step)?;
        self.slots[usize::from(fold.accumulator)] = Some(value);
        self.sweep(garbage);
        self.interrupted |= self.check_cancelled();
        Ok(!self.interrupted)
    }

    /// Values that earlier turns left on the cost stack: those of the last two stay, where costs may still find
    /// them, so that the stack does not grow with the list.
    fn sweep(&mut self, garbage: &mut [usize; 2]) {
        let height = self.costs.height();
        let [before, last] = *garbage;
        if height < last || last < before {
            *garbage = [height; 2];
            return;
        }
        self.costs.forget(before, last);
        *garbage = [before, height - (last - before)];
    }

    fn check_cancelled(&mut self) -> bool {
        self.checks = self.checks.wrapping_add(1);
        self.checks.is_multiple_of(CHECK_FREQUENCY) && self.cancel.is_some_and(super::Cancel::is_cancelled)
    }

    fn folded(&mut self, fold: &'a Fold) -> Outcome<'a> {
        if self.interrupted {
            return Ok(Value::Error("operation interrupted"));
        }
        let value = self.node(fold.result)?;
        match value {
            Value::List(List::Growing(list)) => list.freeze(),
            Value::Map(Map::Growing(map)) => map.freeze(),
            _ => {}
        }
        Ok(value)
    }

    /// The accumulator's first value, which nobody needed until now. Empty lists and maps become ones that grow
    /// in place.
    pub(super) fn accumulator(&mut self, fold: &'a Fold) -> Outcome<'a> {
        let mut value = self.node(fold.init)?;
        match value {
            Value::List(list) if list.is_empty() => {
                let elements = self.arena.values(0)?;
                value = Value::List(List::Growing(self.arena.keep(Growing::new(elements))?));
            }
            Value::Map(map) if map.is_empty() => {
                let map = GrowingMap::growing(self.arena.bump());
                value = Value::Map(Map::Growing(self.arena.keep(map)?));
            }
            _ => {}
        }
        self.slots[usize::from(fold.accumulator)] = Some(value);
        Ok(value)
    }
}
