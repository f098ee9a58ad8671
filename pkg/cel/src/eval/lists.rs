//! Functions on lists, sets and optional values.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::{Context, arithmetic};
use crate::arena::{Abort, Outcome};
use crate::value::{List, ListKind, Merged, Trait, Typed, Value, compare, is_equal};

/// Maximum size of a range (cel-go's `defaultMaxRangeSize`).
const RANGE_MAX: i64 = 1_000_000;

impl<'a> Context<'a, '_> {
    pub(super) fn new_list(self, values: impl Iterator<Item = Result<Value<'a>, Abort>>) -> Outcome<'a> {
        let mut list = self.arena.values(values.size_hint().0.min(1 << 16))?;
        for value in values {
            self.work.spend(1)?;
            list.try_reserve(1).map_err(|_| Abort::CostLimit)?;
            list.push(value?);
        }
        self.arena.filled(list.into_bump_slice())
    }

    /// Evaluates `+` for a set or a map list. New elements are appended; in a map list, elements of the same key
    /// are replaced.
    pub(super) fn merge(self, a: List<'a>, b: List<'a>, schema: Typed<'a>) -> Outcome<'a> {
        let mut elements = self.arena.values(a.len())?;
        let mut places = HashMap::new();
        for (place, element) in a.iter().enumerate() {
            self.work.spend(1)?;
            elements.push(element);
            match schema.schema.key(element, true) {
                Ok(key) => {
                    self.work.spend_key(key.as_deref())?;
                    places.extend(key.map(|key| (key, place)));
                }
                Err(error) => return Ok(error.into()),
            }
        }
        let is_set = matches!(schema.schema.list, ListKind::Set);
        for element in b.iter() {
            self.work.spend(1)?;
            let key = match schema.schema.key(element, true) {
                Ok(key) => key,
                Err(error) => return Ok(error.into()),
            };
            self.work.spend_key(key.as_deref())?;
            match key.as_ref().and_then(|key| places.get(key)) {
                Some(_) if is_set => continue,
                Some(place) => {
                    elements[*place] = element;
                    continue;
                }
                // Appended duplicates of a map list are kept.
                None if is_set => places.extend(key.map(|key| (key, elements.len()))),
                None => {}
            }
            elements.try_reserve(1).map_err(|_| Abort::CostLimit)?;
            elements.push(element);
        }
        let merged = Merged { elements: elements.into_bump_slice(), schema };
        Ok(Value::List(List::Merged(self.arena.alloc(merged)?)))
    }

    pub(super) fn range(self, len: i64) -> Outcome<'a> {
        if len < 0 {
            return self.arena.error(format_args!("lists.range: size must be non-negative, got {len}"));
        }
        if len > RANGE_MAX {
            return self
                .arena
                .error(format_args!("lists.range: size {len} exceeds maximum allowed ({RANGE_MAX})"));
        }
        self.new_list((0..len).map(|value| Ok(Value::Int(value))))
    }

    pub(super) fn reverse(self, list: List<'a>) -> Outcome<'a> {
        let len = list.len();
        self.new_list((0..len).filter_map(|place| list.get(len - 1 - place)).map(Ok))
    }

    pub(super) fn slice(self, list: List<'a>, start: i64, end: i64) -> Outcome<'a> {
        let len = list.len();
        let problem = if start < 0 || end < 0 {
            "negative indexes not supported".into()
        } else if start > end {
            "start index must be less than or equal to end index".into()
        } else if end > len as i64 {
            format!("list is length {len}")
        } else {
            let places = start as usize..end as usize;
            return self.new_list(places.filter_map(|place| list.get(place)).map(Ok));
        };
        self.arena.error(format_args!("cannot slice({start}, {end}), {problem}"))
    }

    pub(super) fn flatten(self, list: List<'a>, depth: i64) -> Outcome<'a> {
        if depth < 0 {
            return Ok(Value::Error("level must be non-negative"));
        }
        let mut elements = self.arena.values(list.len().min(1 << 16))?;
        // Lists being flattened, with the current position in each.
        let mut open = vec![(list, 0)];
        while let Some((list, place)) = open.pop() {
            self.work.spend(1)?;
            let Some(value) = list.get(place) else { continue };
            open.push((list, place + 1));
            match value {
                Value::List(inner) if open.len() as i64 <= depth => open.push((inner, 0)),
                value => {
                    elements.try_reserve(1).map_err(|_| Abort::CostLimit)?;
                    elements.push(value);
                }
            }
        }
        self.arena.filled(elements.into_bump_slice())
    }

    pub(super) fn distinct(self, list: List<'a>) -> Outcome<'a> {
        if list.is_empty() {
            return Ok(Value::List(list));
        }
        let mut unique = self.arena.values(0)?;
        'elements: for value in list.iter() {
            for other in &unique {
                if is_equal(value, *other, self.work)? {
                    continue 'elements;
                }
            }
            unique.try_reserve(1).map_err(|_| Abort::CostLimit)?;
            unique.push(value);
        }
        self.arena.filled(unique.into_bump_slice())
    }

    /// Sorts the elements by their keys. `function` is the name for error messages.
    pub(super) fn sort_by(self, function: &str, list: Value<'a>, keys: Value<'a>) -> Outcome<'a> {
        let (Value::List(list), Value::List(keys)) = (list, keys) else {
            if list.has(Trait::Receiver) {
                return Ok(Value::NO_SUCH_OVERLOAD);
            }
            return self.arena.error(format_args!("no such overload: {function}"));
        };
        let len = list.len();
        let keys_len = keys.len();
        if len != keys_len {
            return self.arena.error(format_args!(
                "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {len} \
                 and {keys_len} elements respectively"
            ));
        }
        let Some(first) = keys.get(0) else { return Ok(Value::List(list)) };
        if !first.has(Trait::Comparer) {
            return Ok(Value::Error("list elements must be comparable"));
        }
        self.work.spend(len as u64 * 32)?;
        let mut pairs: Vec<_> = keys.iter().zip(list.iter()).collect();
        if pairs.iter().any(|(key, _)| key.type_name() != first.type_name()) {
            return Ok(Value::Error("list elements must have the same type"));
        }
        pairs.sort_by(|(a, _), (b, _)| compare(*a, *b).unwrap_or(Ordering::Equal));
        self.new_list(pairs.into_iter().map(|(_, value)| Ok(value)))
    }

    pub(super) fn is_sorted(self, list: List<'a>) -> Outcome<'a> {
        let mut last: Option<Value<'a>> = None;
        for value in list.iter() {
            self.work.spend(1)?;
            if !value.has(Trait::Comparer) {
                return Ok(value.or_no_such_overload());
            }
            if last.is_some_and(|last| matches!(compare(last, value), Ok(Ordering::Greater))) {
                return Ok(Value::Bool(false));
            }
            last = Some(value);
        }
        Ok(Value::Bool(true))
    }

    pub(super) fn total(self, list: List<'a>, zero: Value<'a>) -> Outcome<'a> {
        let mut total = zero;
        for value in list.iter() {
            self.work.spend(1)?;
            if !value.has(Trait::Adder) {
                return Ok(value.or_no_such_overload());
            }
            total = arithmetic::sum(total, value);
            if total.is_error() {
                break;
            }
        }
        Ok(total)
    }

    /// Returns the maximum or, for the opposite ordering, the minimum.
    pub(super) fn extreme(self, list: List<'a>, name: &str, replaced_when: Ordering) -> Outcome<'a> {
        let mut best: Option<Value<'a>> = None;
        for value in list.iter() {
            self.work.spend(1)?;
            if !value.has(Trait::Comparer) {
                return Ok(value.or_no_such_overload());
            }
            if best.is_none_or(|best| matches!(compare(best, value), Ok(order) if order == replaced_when)) {
                best = Some(value);
            }
        }
        match best {
            Some(best) => Ok(best),
            None => self.arena.error(format_args!("{name} called on empty list")),
        }
    }

    pub(super) fn index_of(self, list: List<'a>, item: Value<'a>, from_end: bool) -> Outcome<'a> {
        let len = list.len();
        for step in 0..len {
            let place = if from_end { len - 1 - step } else { step };
            if let Some(value) = list.get(place)
                && is_equal(value, item, self.work)?
            {
                return Ok(Value::Int(place as i64));
            }
        }
        Ok(Value::Int(-1))
    }

    pub(super) fn set_contains(self, list: List<'a>, part: List<'a>) -> Outcome<'a> {
        for value in part.iter() {
            let result = self.list_contains(list, value)?;
            if !matches!(result, Value::Bool(true)) {
                return Ok(result);
            }
        }
        Ok(Value::Bool(true))
    }

    pub(super) fn set_equivalent(self, a: List<'a>, b: List<'a>) -> Outcome<'a> {
        match self.set_contains(a, b)? {
            Value::Bool(true) => self.set_contains(b, a),
            other => Ok(other),
        }
    }

    pub(super) fn set_intersects(self, a: List<'a>, b: List<'a>) -> Outcome<'a> {
        for value in a.iter() {
            if matches!(self.list_contains(b, value)?, Value::Bool(true)) {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    /// Returns true if the receiver equals a value, or is a list that contains it.
    pub(super) fn includes(self, args: &[Value<'a>]) -> Outcome<'a> {
        let &[receiver, value] = args else { return Ok(Value::NO_SUCH_OVERLOAD) };
        let Value::List(list) = receiver else {
            return Ok(Value::Bool(is_equal(receiver, value, self.work)?));
        };
        for element in list.iter() {
            if is_equal(element, value, self.work)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }

    pub(super) fn unwrap_all(self, list: List<'a>) -> Outcome<'a> {
        for value in list.iter() {
            self.work.spend(1)?;
            if !matches!(value, Value::Optional(_)) {
                return self.arena.error(format_args!("value {} is not optional", crate::value::text(value)));
            }
        }
        self.new_list(list.iter().filter_map(|value| match value {
            Value::Optional(inner) => inner.map(|inner| Ok(*inner)),
            _ => None,
        }))
    }
}
