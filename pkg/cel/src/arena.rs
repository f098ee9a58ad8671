//! Memory for computed values of an evaluation, and the two reasons for aborting an evaluation.

use std::cell::Cell;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

use crate::value::{GrowingMap, List, Map, MapView, Opaque, Value};

/// Memory for values that evaluations compute. All of it is freed at once, on drop or reset.
///
/// The size is bounded. The cost limit alone does not bound memory, because cel-go charges some functions for
/// their input and not for their output.
#[derive(Debug)]
pub struct Arena(Bump);

/// Maximum size of one arena in bytes.
const BYTES_MAX: usize = 64 << 20;

/// Reason for aborting an evaluation without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abort {
    /// The cost limit is exceeded, or a limit of Mainstay that stands in for it: memory, or steps within one
    /// function.
    CostLimit,
    /// cel-go panics in this case and reports the panic.
    Internal(Box<str>),
}

impl std::fmt::Display for Abort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::CostLimit => f.write_str("operation cancelled: actual cost limit exceeded"),
            Self::Internal(message) => write!(f, "internal error: {message}"),
        }
    }
}

/// Result of an evaluation.
pub type Outcome<'a> = Result<Value<'a>, Abort>;

impl Default for Arena {
    fn default() -> Self {
        let bump = Bump::new();
        bump.set_allocation_limit(Some(BYTES_MAX));
        Self(bump)
    }
}

impl Arena {
    /// Creates an empty arena, which allocates on first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Frees all values and keeps the largest chunk for the next evaluation.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    pub(crate) fn bump(&self) -> &Bump {
        &self.0
    }

    pub(crate) fn text(&self, text: &str) -> Result<&str, Abort> {
        self.0.try_alloc_str(text).map(|text| &*text).map_err(|_| Abort::CostLimit)
    }

    /// Allocates a list.
    pub fn list<'a>(&'a self, values: &[Value<'a>]) -> Outcome<'a> {
        let values = self.0.try_alloc_slice_copy(values).map_err(|_| Abort::CostLimit)?;
        self.filled(values)
    }

    /// Allocates a list of values that are already in the arena.
    pub(crate) fn filled<'a>(&'a self, values: &'a [Value<'a>]) -> Outcome<'a> {
        Ok(Value::List(List::Values(self.alloc(values)?)))
    }

    /// Allocates a map. For equal keys the later entry wins.
    pub fn map<'a>(&'a self, entries: impl IntoIterator<Item = (Value<'a>, Value<'a>)>) -> Outcome<'a> {
        let map = GrowingMap::new(&self.0);
        for (key, value) in entries {
            if !map.replace(key, value) {
                return Err(Abort::CostLimit);
            }
        }
        Ok(Value::Map(Map::Growing(self.alloc(map)?)))
    }

    /// Allocates a map that the host provides.
    pub fn view<'a>(&'a self, view: &'a dyn MapView<'a>) -> Outcome<'a> {
        Ok(Value::Map(Map::View(self.alloc(view)?)))
    }

    /// Allocates a string.
    pub fn string(&self, text: &str) -> Outcome<'_> {
        self.text(text).map(Value::String)
    }

    /// Allocates an error value.
    pub fn error(&self, text: impl std::fmt::Display) -> Outcome<'_> {
        self.text(&text.to_string()).map(Value::Error)
    }

    /// Allocates bytes.
    pub fn bytes(&self, bytes: &[u8]) -> Outcome<'_> {
        let copy = self.0.try_alloc_slice_copy(bytes).map_err(|_| Abort::CostLimit)?;
        Ok(Value::Bytes(copy))
    }

    /// Moves a value into the arena. It is never dropped, so everything that it owns must be in the arena
    /// too.
    ///
    /// # Errors
    /// The arena is full.
    pub fn alloc<T>(&self, value: T) -> Result<&T, Abort> {
        self.0.try_alloc(value).map(|value| &*value).map_err(|_| Abort::CostLimit)
    }

    /// Allocates cells for values that are computed later.
    ///
    /// # Errors
    /// The arena is full.
    pub fn cells<'a>(&'a self, count: usize) -> Result<&'a [Cell<Option<Value<'a>>>], Abort> {
        let mut cells = BumpVec::new_in(&self.0);
        cells.try_reserve_exact(count).map_err(|_| Abort::CostLimit)?;
        cells.extend((0..count).map(|_| Cell::new(None)));
        Ok(cells.into_bump_slice())
    }

    /// Allocates `optional.of(value)`.
    pub fn optional<'a>(&'a self, value: Value<'a>) -> Outcome<'a> {
        Ok(Value::Optional(Some(self.alloc(value)?)))
    }

    /// Allocates a value of a library's type.
    pub fn opaque<'a>(&'a self, opaque: Opaque<'a>) -> Outcome<'a> {
        Ok(Value::Opaque(self.0.try_alloc(opaque).map_err(|_| Abort::CostLimit)?))
    }

    /// Allocates an empty list with capacity for this many elements.
    pub(crate) fn values(&self, capacity: usize) -> Result<BumpVec<'_, Value<'_>>, Abort> {
        let mut values = BumpVec::new_in(&self.0);
        values.try_reserve_exact(capacity).map_err(|_| Abort::CostLimit)?;
        Ok(values)
    }
}
