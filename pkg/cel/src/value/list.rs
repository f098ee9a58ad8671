//! List values with different representations.

use std::cell::{Cell, RefCell};

use bumpalo::collections::Vec as BumpVec;
use jsontree::Value as Json;

use super::{Constant, ConstantList, MessageList, StoredList, Typed, Value};

/// A list in one of several representations.
#[derive(Clone, Copy, Debug)]
pub enum List<'a> {
    /// Computed elements.
    Values(&'a &'a [Value<'a>]),
    /// An array of a tree without a schema.
    Tree(&'a Vec<Json>),
    /// An array of a tree under a schema.
    Typed(&'a TypedList<'a>),
    /// The result of `+` on a set or map list.
    Merged(&'a Merged<'a>),
    /// A constant of the plan.
    Constants(&'a ConstantList),
    /// Two concatenated lists.
    Concat(&'a Concat<'a>),
    /// A list in an object's stored bytes.
    Stored(&'a StoredList<'a>),
    /// A list in the tree of a built-in type.
    Message(&'a MessageList<'a>),
    /// The accumulator of a comprehension.
    Growing(&'a Growing<'a>),
}

/// An array of a tree with its schema.
#[derive(Clone, Copy, Debug)]
pub struct TypedList<'a> {
    /// Elements without their schema.
    pub items: &'a Vec<Json>,
    /// Schema of the list itself.
    pub typed: Typed<'a>,
}

/// The result of `+` on a set or map list, which keeps its schema.
#[derive(Debug)]
pub struct Merged<'a> {
    /// Elements of the result.
    pub elements: &'a [Value<'a>],
    /// Schema of the list.
    pub schema: Typed<'a>,
}

/// Two concatenated lists: `+` takes constant time.
#[derive(Debug)]
pub struct Concat<'a> {
    left: List<'a>,
    right: List<'a>,
    len: usize,
}

/// A list that grows in place. cel-go uses one for every comprehension whose accumulator starts empty, so `+`
/// modifies the list itself.
#[derive(Debug)]
pub struct Growing<'a>(RefCell<BumpVec<'a, Value<'a>>>, Cell<bool>);

impl<'a> Growing<'a> {
    pub(crate) fn new(elements: BumpVec<'a, Value<'a>>) -> Self {
        Self(RefCell::new(elements), Cell::new(false))
    }

    /// Stops the growth, when the comprehension has its result.
    pub(crate) fn freeze(&self) {
        self.1.set(true);
    }

    /// Returns true if it has stopped growing.
    pub(crate) fn is_frozen(&self) -> bool {
        self.1.get()
    }

    /// Appends a value. Returns false if memory does not suffice.
    #[must_use]
    pub(crate) fn push(&self, value: Value<'a>) -> bool {
        let mut elements = self.0.borrow_mut();
        let reserved = elements.try_reserve(1).is_ok();
        if reserved {
            elements.push(value);
        }
        reserved
    }
}

impl<'a> Concat<'a> {
    /// Concatenates two lists; `None` if the total length overflows.
    pub(crate) fn new(left: List<'a>, right: List<'a>) -> Option<Self> {
        let len = left.len().checked_add(right.len()).filter(|len| *len <= i64::MAX as usize)?;
        Some(Self { left, right, len })
    }
}

impl<'a> List<'a> {
    /// Returns the number of elements.
    pub fn len(self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Tree(items) => items.len(),
            Self::Typed(list) => list.items.len(),
            Self::Merged(merged) => merged.elements.len(),
            Self::Constants(constants) => constants.0.len(),
            Self::Concat(concat) => concat.len,
            Self::Stored(list) => list.len(),
            Self::Message(list) => list.len(),
            Self::Growing(growing) => growing.0.borrow().len(),
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the element at an index.
    pub fn get(mut self, mut index: usize) -> Option<Value<'a>> {
        loop {
            return match self {
                Self::Values(values) => values.get(index).copied(),
                Self::Tree(items) => items.get(index).map(Value::tree),
                Self::Typed(list) => list.items.get(index).map(|item| list.typed.item(item)),
                Self::Merged(merged) => merged.elements.get(index).copied(),
                Self::Constants(constants) => constants.0.get(index).map(Constant::value),
                Self::Stored(list) => list.get(index),
                Self::Message(list) => list.get(index),
                Self::Growing(growing) => growing.0.borrow().get(index).copied(),
                Self::Concat(concat) => {
                    let left_len = concat.left.len();
                    if index < left_len {
                        self = concat.left;
                    } else {
                        index -= left_len;
                        self = concat.right;
                    }
                    continue;
                }
            };
        }
    }

    /// Returns the elements in order.
    pub fn iter(self) -> impl Iterator<Item = Value<'a>> {
        (0..self.len()).map_while(move |index| self.get(index))
    }

    /// Returns the schema of the list, if any.
    pub(crate) fn schema(self) -> Option<Typed<'a>> {
        match self {
            Self::Typed(list) => Some(list.typed),
            Self::Merged(merged) => Some(merged.schema),
            _ => None,
        }
    }
}
