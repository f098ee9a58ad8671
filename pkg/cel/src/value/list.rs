//! Lists, wherever their elements lie.

use std::cell::{Cell, RefCell};

use bumpalo::collections::Vec as BumpVec;
use jsontree::Value as Json;

use super::{Constant, ConstantList, DescribedList, StoredList, Typed, Value};

/// A list.
#[derive(Clone, Copy, Debug)]
pub enum List<'a> {
    /// Computed elements.
    Values(&'a &'a [Value<'a>]),
    /// An array of a tree without a schema.
    Tree(&'a Vec<Json>),
    /// An array of a tree under a schema.
    Typed(&'a TypedList<'a>),
    /// What `+` makes of a list with a schema.
    Merged(&'a Merged<'a>),
    /// A literal.
    Constants(&'a ConstantList),
    /// Two lists, one after the other.
    Concat(&'a Concat<'a>),
    /// A list in an object's bytes.
    Stored(&'a StoredList<'a>),
    /// A list in the tree of a built-in type.
    Described(&'a DescribedList<'a>),
    /// The accumulator of a comprehension.
    Growing(&'a Growing<'a>),
}

/// An array of a tree, and its schema.
#[derive(Clone, Copy, Debug)]
pub struct TypedList<'a> {
    /// The array.
    pub items: &'a Vec<Json>,
    /// Its schema.
    pub typed: Typed<'a>,
}

/// Elements that follow the schema of the list to which they were added.
#[derive(Debug)]
pub struct Merged<'a> {
    /// The elements.
    pub elements: &'a [Value<'a>],
    /// Schema of the list.
    pub schema: Typed<'a>,
}

/// Two lists, one after the other: `+` takes the same time whatever their lengths.
#[derive(Debug)]
pub struct Concat<'a> {
    left: List<'a>,
    right: List<'a>,
    len: usize,
}

/// A list that grows in place. cel-go gives one to every comprehension whose accumulator begins empty, so that
/// `+` on it changes the list itself.
#[derive(Debug)]
pub struct Growing<'a>(RefCell<BumpVec<'a, Value<'a>>>, Cell<bool>);

impl<'a> Growing<'a> {
    /// One that grows.
    pub(crate) fn new(elements: BumpVec<'a, Value<'a>>) -> Self {
        Self(RefCell::new(elements), Cell::new(false))
    }

    /// Ends the growth: the comprehension has its result.
    pub(crate) fn freeze(&self) {
        self.1.set(true);
    }

    /// Whether it has stopped growing.
    pub(crate) fn is_frozen(&self) -> bool {
        self.1.get()
    }

    /// Appends; says whether memory sufficed.
    #[must_use]
    pub(crate) fn push(&self, value: Value<'a>) -> bool {
        let mut elements = self.0.borrow_mut();
        let room = elements.try_reserve(1).is_ok();
        if room {
            elements.push(value);
        }
        room
    }
}

impl<'a> Concat<'a> {
    /// Joins two lists; none if together they are longer than memory could ever be.
    pub(crate) fn new(left: List<'a>, right: List<'a>) -> Option<Self> {
        let len = left.len().checked_add(right.len()).filter(|len| *len <= i64::MAX as usize)?;
        Some(Self { left, right, len })
    }
}

impl<'a> List<'a> {
    /// How many elements there are.
    pub fn len(self) -> usize {
        match self {
            Self::Values(values) => values.len(),
            Self::Tree(items) => items.len(),
            Self::Typed(list) => list.items.len(),
            Self::Merged(merged) => merged.elements.len(),
            Self::Constants(constants) => constants.0.len(),
            Self::Concat(concat) => concat.len,
            Self::Stored(list) => list.len(),
            Self::Described(list) => list.len(),
            Self::Growing(growing) => growing.0.borrow().len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(mut self, mut index: usize) -> Option<Value<'a>> {
        loop {
            return match self {
                Self::Values(values) => values.get(index).copied(),
                Self::Tree(items) => items.get(index).map(Value::tree),
                Self::Typed(list) => list.items.get(index).map(|item| list.typed.item(item)),
                Self::Merged(merged) => merged.elements.get(index).copied(),
                Self::Constants(constants) => constants.0.get(index).map(Constant::value),
                Self::Stored(list) => list.get(index),
                Self::Described(list) => list.get(index),
                Self::Growing(growing) => growing.0.borrow().get(index).copied(),
                Self::Concat(concat) => {
                    let left = concat.left.len();
                    if index < left {
                        self = concat.left;
                    } else {
                        index -= left;
                        self = concat.right;
                    }
                    continue;
                }
            };
        }
    }

    /// The elements.
    pub fn iter(self) -> impl Iterator<Item = Value<'a>> {
        (0..self.len()).map_while(move |index| self.get(index))
    }

    /// The schema of the list, if it has one.
    pub(crate) fn schema(self) -> Option<Typed<'a>> {
        match self {
            Self::Typed(list) => Some(list.typed),
            Self::Merged(merged) => Some(merged.schema),
            _ => None,
        }
    }
}
