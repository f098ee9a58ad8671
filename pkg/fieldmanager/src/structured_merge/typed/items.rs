//! Identities of list items, borrowed from the item if possible.

use std::cell::OnceCell;
use std::cmp::Ordering;

use compact_str::CompactString;
use jsontree::Value;
use smallvec::SmallVec;

use super::error::Errors;
use crate::structured_merge::model::{Items, Keys, List};
use crate::structured_merge::path::{PathElement, compare_values};

/// The identity of an item within its list, with the same order as its path element. Small, because one
/// exists for each item of a list at a time.
#[derive(Debug, Clone)]
pub(super) enum ItemKey<'v> {
    /// The values of the key fields, present or default, in the order of all names.
    Fields(SmallVec<[Option<&'v Value>; 2]>),
    Value(&'v Value),
}

impl Ord for ItemKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (ItemKey::Value(a), ItemKey::Value(b)) => compare_values(a, b),
            (ItemKey::Fields(a), ItemKey::Fields(b)) => compare_fields(a, b),
            (ItemKey::Fields(_), ItemKey::Value(_)) => Ordering::Less,
            (ItemKey::Value(_), ItemKey::Fields(_)) => Ordering::Greater,
        }
    }
}

/// Compares fields by name and value. If only one side has a field, the other side's next name is greater, or
/// it has no more fields.
fn compare_fields(a: &[Option<&Value>], b: &[Option<&Value>]) -> Ordering {
    let runs_out_after = |fields: &[Option<&Value>], at: usize| {
        fields.get(at..).is_none_or(|rest| rest.iter().all(Option::is_none))
    };
    for (at, pair) in a.iter().zip(b).enumerate() {
        let order = match pair {
            (None, None) => Ordering::Equal,
            (Some(a), Some(b)) => compare_values(a, b),
            (Some(_), None) => {
                if runs_out_after(b, at) {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (None, Some(_)) => {
                if runs_out_after(a, at) {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

impl PartialOrd for ItemKey<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ItemKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for ItemKey<'_> {}

/// Computes the keys of a list's items.
#[derive(Debug)]
pub(super) struct Keyer<'s> {
    list: List<'s>,
    /// The sorted names of the key fields; each with its default, which is computed on first use.
    names: SmallVec<[KeyField<'s>; 2]>,
}

/// A key field and its default.
type KeyField<'s> = (&'s str, OnceCell<Option<Value>>);

/// Error about a list item without a valid key, in upstream's wording.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("associative list without keys has an element that's a map type")]
    ObjectInSet,
    #[error("not supported: associative list with lists as elements")]
    ListInSet,
    #[error("associative list without keys has an element that's an explicit null")]
    NullInSet,
    #[error("invalid indexing of non-associative list")]
    AtomicList,
    #[error("associative list with keys may not have a null element")]
    NullInMap,
    #[error("associative list with keys may not have non-map elements")]
    ScalarInMap,
    /// Contains the names of the key fields.
    #[error(
        "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
         values for any key fields)",
        .0.join(" ")
    )]
    NoKeys(Vec<String>),
    /// Contains the name of a key field without a type.
    #[error("couldn't find default value for {0}: associative list may not have non-map types")]
    NoDefault(String),
}

impl<'s> Keyer<'s> {
    pub(super) fn of(list: &List<'s>) -> Self {
        let mut names = SmallVec::new();
        if let Items::Map(keys) = list.items {
            names.extend(keys.iter().map(|name| (name, OnceCell::new())));
            names.sort_by_key(|(name, _)| *name);
        }
        Keyer { list: *list, names }
    }

    /// The key of an item of a list that is not atomic.
    ///
    /// # Errors
    /// The item has no key; upstream's text.
    pub(super) fn key<'v>(&'v self, item: &'v Value) -> Result<ItemKey<'v>, KeyError> {
        match self.list.items {
            Items::Map(keys) => self.fields(keys, item),
            Items::Set => match item {
                Value::Object(_) => Err(KeyError::ObjectInSet),
                Value::Array(_) => Err(KeyError::ListInSet),
                Value::Null => Err(KeyError::NullInSet),
                scalar => Ok(ItemKey::Value(scalar)),
            },
            Items::Atomic => Err(KeyError::AtomicList),
        }
    }

    fn fields<'v>(&'v self, keys: Keys<'s>, item: &'v Value) -> Result<ItemKey<'v>, KeyError> {
        let members = match item {
            Value::Object(members) => members,
            Value::Null => {
                return Err(KeyError::NullInMap);
            }
            _ => return Err(KeyError::ScalarInMap),
        };
        let mut values = SmallVec::new();
        for (name, default) in &self.names {
            values.push(match members.get(*name) {
                Some(value) => Some(value),
                None => self.default_of(name, default)?,
            });
        }
        if values.iter().all(Option::is_none) {
            let names: Vec<String> = keys.iter().map(apimachinery::go_quote::quote).collect();
            return Err(KeyError::NoKeys(names));
        }
        Ok(ItemKey::Fields(values))
    }

    fn default_of<'v>(
        &self,
        name: &str,
        cached: &'v OnceCell<Option<Value>>,
    ) -> Result<Option<&'v Value>, KeyError> {
        let map = self.list.element.map().ok_or_else(|| KeyError::NoDefault(name.to_owned()))?;
        Ok(cached.get_or_init(|| map.default_of(name)).as_ref())
    }

    /// The path element for a key of this list.
    pub(super) fn element(&self, key: &ItemKey<'_>) -> PathElement {
        match key {
            ItemKey::Fields(values) => {
                let named = self.names.iter().zip(values);
                let owned = named.filter_map(|((name, _), value)| {
                    value.map(|value| (CompactString::new(name), value.clone()))
                });
                PathElement::Key(owned.collect())
            }
            ItemKey::Value(value) => PathElement::Value((*value).clone()),
        }
    }

    /// The items of a list sorted by key; items with the same key in the order of the list.
    ///
    /// # Errors
    /// An error for each item without a key.
    pub(super) fn sorted<'v, T: Item<'v>>(&'v self, items: &'v [Value]) -> Result<Vec<T>, Errors> {
        let mut sorted = Vec::with_capacity(items.len());
        let mut errors = Errors::default();
        for (at, item) in items.iter().enumerate() {
            match self.key(item) {
                Ok(key) => sorted.push(T::new(key, item)),
                Err(error) => errors.push(format!("element {at}: {error}")),
            }
        }
        sorted.sort_by(T::order);
        errors.result().map(|()| sorted)
    }
}

/// A list item and its identity.
pub(super) trait Item<'v>: Sized {
    fn new(key: ItemKey<'v>, item: &'v Value) -> Self;
    fn item(&self) -> &'v Value;
    fn order(&self, other: &Self) -> Ordering;
    /// The item's path element.
    fn element(&self, keyer: &Keyer<'_>) -> PathElement;
}

/// An item with its key.
#[derive(Debug, Clone)]
pub(super) struct Keyed<'v> {
    key: ItemKey<'v>,
    item: &'v Value,
}

impl<'v> Item<'v> for Keyed<'v> {
    fn new(key: ItemKey<'v>, item: &'v Value) -> Self {
        Keyed { key, item }
    }

    fn item(&self) -> &'v Value {
        self.item
    }

    fn order(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }

    fn element(&self, keyer: &Keyer<'_>) -> PathElement {
        keyer.element(&self.key)
    }
}

/// An item of a set, which is its own key: sets are the longest lists, and this uses a fraction of the
/// memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scalar<'v>(&'v Value);

impl<'v> Item<'v> for Scalar<'v> {
    fn new(_: ItemKey<'v>, item: &'v Value) -> Self {
        Scalar(item)
    }

    fn item(&self) -> &'v Value {
        self.0
    }

    fn order(&self, other: &Self) -> Ordering {
        compare_values(self.0, other.0)
    }

    fn element(&self, _: &Keyer<'_>) -> PathElement {
        PathElement::Value(self.0.clone())
    }
}

/// Splits off the leading items with the same key.
pub(super) fn split_group<'k, 'v, T: Item<'v>>(items: &'k [T]) -> (&'k [T], &'k [T]) {
    let group_length = |first: &T| items.iter().take_while(|item| item.order(first).is_eq()).count();
    items.split_at_checked(items.first().map_or(0, group_length)).unwrap_or((items, &[]))
}
