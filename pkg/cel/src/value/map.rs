//! Map values with different representations.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::fmt;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use jsontree::Object as JsonMap;

use super::{ConstantMap, MessageMap, StoredMap, Typed, Value};

/// A map or an object.
#[derive(Clone, Copy, Debug)]
pub enum Map<'a> {
    /// An object of a tree without a schema.
    Tree(&'a JsonMap),
    /// An object of a tree under a schema.
    Typed(&'a TypedMap<'a>),
    /// A constant of the plan.
    Constants(&'a ConstantMap),
    /// Computed entries.
    Growing(&'a GrowingMap<'a>),
    /// A struct or a map in an object's stored bytes.
    Stored(&'a StoredMap<'a>),
    /// A struct or a map in the tree of a built-in type.
    Message(&'a MessageMap<'a>),
    /// A map of the host, such as lazily computed variables.
    View(&'a &'a (dyn MapView<'a> + 'a)),
}

/// An object of a tree with its schema.
#[derive(Clone, Copy, Debug)]
pub struct TypedMap<'a> {
    /// Members without their schema.
    pub fields: &'a JsonMap,
    /// Schema of the object itself.
    pub typed: Typed<'a>,
}

/// A string-keyed map that the host provides.
pub trait MapView<'a>: fmt::Debug {
    /// Returns the value at a key; `None` if it is absent. A member that Go writes is present, even if it is
    /// zero.
    fn get(&'a self, key: &str) -> Option<Value<'a>>;
    /// Returns the number of keys.
    fn len(&self) -> usize;
    /// Returns the key at an index.
    fn key(&'a self, place: usize) -> Option<&'a str>;
    /// Returns true if there are no keys.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Computed entries, in sorted runs of at most [`RUN`]. Accumulators of comprehensions grow in place.
#[derive(Debug)]
pub struct GrowingMap<'a> {
    bump: &'a Bump,
    frozen: Cell<bool>,
    runs: RefCell<BumpVec<'a, BumpVec<'a, (Value<'a>, Value<'a>)>>>,
}

/// Maximum entries of a run; an insertion moves about half of them.
const RUN: usize = 256;

/// Order of map keys. Numbers of different types are different keys here; a lookup also tries the other
/// types, see [`Map::find`].
pub(crate) fn key_order(a: Value<'_>, b: Value<'_>) -> Ordering {
    let rank = |value: Value<'_>| match value {
        Value::Bool(_) => 0,
        Value::Int(_) => 1,
        Value::Uint(_) => 2,
        Value::Double(_) => 3,
        Value::String(_) => 4,
        Value::Null => 5,
        Value::Duration(_) => 6,
        Value::Timestamp(_) => 7,
        Value::Type(_) => 8,
        _ => 9,
    };
    match (a, b) {
        (Value::String(a), Value::String(b)) | (Value::Type(a), Value::Type(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a.cmp(&b),
        (Value::Uint(a), Value::Uint(b)) => a.cmp(&b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(&b),
        // Adding zero makes negative zero positive, so both are one key.
        (Value::Double(a), Value::Double(b)) => (a + 0.0).total_cmp(&(b + 0.0)),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            (a.seconds, a.nanos, a.offset).cmp(&(b.seconds, b.nanos, b.offset))
        }
        _ => rank(a).cmp(&rank(b)),
    }
}

impl<'a> GrowingMap<'a> {
    /// Creates an empty map for a literal or a copy. It is frozen: functions copy it before a change.
    pub(crate) fn new(bump: &'a Bump) -> Self {
        Self { bump, frozen: Cell::new(true), runs: RefCell::new(BumpVec::new_in(bump)) }
    }

    /// Creates an empty map that functions modify in place.
    pub(crate) fn growing(bump: &'a Bump) -> Self {
        Self { frozen: Cell::new(false), ..Self::new(bump) }
    }

    /// Stops the growth, when the comprehension has its result.
    pub(crate) fn freeze(&self) {
        self.frozen.set(true);
    }

    /// Returns true if functions must copy the map before a change.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.get()
    }

    fn search(&self, key: Value<'_>) -> Result<(usize, usize), (usize, usize)> {
        let runs = self.runs.borrow();
        let run = runs.partition_point(|run| run.first().is_some_and(|(k, _)| key_order(*k, key).is_le()));
        let Some(run) = run.checked_sub(1) else { return Err((0, 0)) };
        match runs[run].binary_search_by(|(k, _)| key_order(*k, key)) {
            Ok(place) => Ok((run, place)),
            Err(place) => Err((run, place)),
        }
    }

    /// Sets the value at a key. Returns false if memory does not suffice.
    #[must_use]
    pub(crate) fn replace(&self, key: Value<'a>, value: Value<'a>) -> bool {
        let (run, place) = match self.search(key) {
            Ok((run, place)) => {
                self.runs.borrow_mut()[run][place].1 = value;
                return true;
            }
            Err(gap) => gap,
        };
        let mut runs = self.runs.borrow_mut();
        if runs.is_empty() {
            if runs.try_reserve(1).is_err() {
                return false;
            }
            runs.push(BumpVec::new_in(self.bump));
        }
        if runs[run].try_reserve(1).is_err() {
            return false;
        }
        runs[run].insert(place, (key, value));
        if runs[run].len() < RUN {
            return true;
        }
        let mut upper = BumpVec::new_in(self.bump);
        if upper.try_reserve(RUN).is_err() || runs.try_reserve(1).is_err() {
            return false;
        }
        upper.extend_from_slice(&runs[run][RUN / 2..]);
        runs[run].truncate(RUN / 2);
        runs.insert(run + 1, upper);
        true
    }

    pub(crate) fn remove(&self, key: Value<'_>) {
        if let Ok((run, place)) = self.search(key) {
            self.runs.borrow_mut()[run].remove(place);
        }
    }

    fn get(&self, key: Value<'_>) -> Option<Value<'a>> {
        let (run, place) = self.search(key).ok()?;
        Some(self.runs.borrow()[run][place].1)
    }

    fn len(&self) -> usize {
        self.runs.borrow().iter().map(|run| run.len()).sum()
    }

    fn entry(&self, mut place: usize) -> Option<(Value<'a>, Value<'a>)> {
        for run in self.runs.borrow().iter() {
            if let Some(entry) = run.get(place) {
                return Some(*entry);
            }
            place -= run.len();
        }
        None
    }
}

impl<'a> Map<'a> {
    /// Returns the number of entries. Under a schema, counts all entries of the data, including those unknown
    /// to the schema.
    pub fn len(self) -> usize {
        match self {
            Self::Tree(fields) => fields.len(),
            Self::Typed(map) => map.fields.len(),
            Self::Constants(map) => map.len(),
            Self::Growing(map) => map.len(),
            Self::Stored(map) => map.len(),
            Self::Message(map) => map.len(),
            Self::View(view) => view.len(),
        }
    }

    /// Returns true if there are no entries.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the value at a key. A number also finds keys of other numeric types with the same value.
    /// Returns an error value if the key's type does not fit.
    pub fn find(self, key: Value<'a>) -> Option<Value<'a>> {
        if let Value::String(name) = key {
            return self.field(name);
        }
        match self {
            Self::Typed(..) => return Some(key.or_no_such_overload()),
            Self::Tree(_) | Self::Stored(_) | Self::Message(_) | Self::View(_) => return None,
            _ => {}
        }
        if let Some(value) = self.exact(key) {
            return Some(value);
        }
        let as_int = |int: i64| self.exact(Value::Int(int));
        let as_uint = |uint: u64| self.exact(Value::Uint(uint));
        match key {
            Value::Int(int) => u64::try_from(int).ok().and_then(as_uint),
            Value::Uint(uint) => i64::try_from(uint).ok().and_then(as_int),
            Value::Double(double) => {
                let int = super::convert::lossless_int(double);
                let uint = super::convert::lossless_uint(double);
                int.and_then(as_int).or_else(|| uint.and_then(as_uint))
            }
            _ => None,
        }
    }

    /// Returns the value at a string key.
    #[inline(always)]
    pub fn field(self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Tree(fields) => fields.get(name).map(Value::tree),
            Self::Typed(map) => map.typed.field(map.fields, name),
            Self::Stored(map) => map.get(name),
            Self::Message(map) => map.get(name),
            Self::View(view) => view.get(name),
            _ => self.exact(Value::String(name)),
        }
    }

    fn exact(self, key: Value<'_>) -> Option<Value<'a>> {
        if matches!(key, Value::Double(double) if double.is_nan()) {
            return None;
        }
        match self {
            Self::Constants(map) => map.get(key),
            Self::Growing(map) => map.get(key),
            _ => None,
        }
    }

    /// Iterates over the entries. Under a schema, only entries that the schema declares.
    pub fn iter(self) -> Box<dyn Iterator<Item = (Value<'a>, Value<'a>)> + 'a> {
        match self {
            Self::Tree(fields) => {
                Box::new(fields.iter().map(|(key, value)| (Value::String(key), Value::tree(value))))
            }
            Self::Typed(map) => Box::new(map.typed.entries(map.fields)),
            Self::Constants(map) => Box::new((0..map.len()).filter_map(|place| map.entry(place))),
            Self::Growing(map) => Box::new((0..map.len()).map_while(|place| map.entry(place))),
            Self::Stored(map) => map.iter(),
            Self::Message(map) => map.iter(),
            Self::View(view) => Box::new((0..view.len()).filter_map(|place| {
                let key = view.key(place)?;
                Some((Value::String(key), view.get(key)?))
            })),
        }
    }
}
