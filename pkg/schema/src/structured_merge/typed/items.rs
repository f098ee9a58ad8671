//! What tells an item of a list from the others, borrowed from the item where that can be.

use std::borrow::Cow;
use std::cmp::Ordering;

use compact_str::CompactString;
use serde_json::Value;
use smallvec::SmallVec;

use super::error::Errors;
use crate::structured_merge::model::{Items, Keys, List, TypeRef};
use crate::structured_merge::path::{PathElement, compare_values};

/// What tells an item from the others. Orders as the path element that it stands for.
#[derive(Debug, Clone)]
pub(super) enum ItemKey<'v> {
    /// The key fields that the item has or that have a default, by name.
    Fields(SmallVec<[(&'v str, Cow<'v, Value>); 2]>),
    /// The item itself.
    Value(&'v Value),
}

impl ItemKey<'_> {
    pub(super) fn to_element(&self) -> PathElement {
        match self {
            ItemKey::Fields(fields) => {
                let owned =
                    |(name, value): &(&str, Cow<Value>)| (CompactString::new(name), (**value).clone());
                PathElement::Key(fields.iter().map(owned).collect())
            }
            ItemKey::Value(value) => PathElement::Value((*value).clone()),
        }
    }
}

impl Ord for ItemKey<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (ItemKey::Value(a), ItemKey::Value(b)) => compare_values(a, b),
            (ItemKey::Fields(a), ItemKey::Fields(b)) => {
                let pairs = a.iter().zip(b.iter());
                let orders = pairs.map(|(a, b)| a.0.cmp(b.0).then_with(|| compare_values(&a.1, &b.1)));
                orders.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
            }
            (ItemKey::Fields(_), ItemKey::Value(_)) => Ordering::Less,
            (ItemKey::Value(_), ItemKey::Fields(_)) => Ordering::Greater,
        }
    }
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

/// The key of an item of a list that is not atomic.
///
/// # Errors
/// The item has none; upstream's text.
pub(super) fn key<'v, 's: 'v>(list: &List<'s>, item: &'v Value) -> Result<ItemKey<'v>, String> {
    match list.items {
        Items::Map(keys) => fields(list.element, keys, item),
        Items::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            scalar => Ok(ItemKey::Value(scalar)),
        },
        Items::Atomic => Err("invalid indexing of non-associative list".to_owned()),
    }
}

fn fields<'v, 's: 'v>(element: TypeRef<'s>, keys: Keys<'s>, item: &'v Value) -> Result<ItemKey<'v>, String> {
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut found: SmallVec<[(&str, Cow<Value>); 2]> = SmallVec::new();
    for name in keys.iter() {
        if let Some(value) = members.get(name) {
            found.push((name, Cow::Borrowed(value)));
            continue;
        }
        let map = element.map().ok_or_else(|| {
            format!("couldn't find default value for {name}: associative list may not have non-map types")
        })?;
        found.extend(map.default_of(name).map(|default| (name, Cow::Owned(default))));
    }
    if found.is_empty() {
        let names: Vec<String> = keys.iter().map(apimachinery::go_quote::quote).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't \
             have default values for any key fields)",
            names.join(" ")
        ));
    }
    found.sort_by(|a, b| a.0.cmp(b.0));
    Ok(ItemKey::Fields(found))
}

/// An item under its key.
#[derive(Debug, Clone)]
pub(super) struct Keyed<'v> {
    pub(super) key: ItemKey<'v>,
    pub(super) item: &'v Value,
}

/// The items of a list sorted by key, those with the same key in the order of the list.
///
/// # Errors
/// For each item without a key what is wrong with it.
pub(super) fn sorted<'v, 's: 'v>(list: &List<'s>, items: &'v [Value]) -> Result<Vec<Keyed<'v>>, Errors> {
    let mut keyed = Vec::with_capacity(items.len());
    let mut errors = Errors::default();
    for (at, item) in items.iter().enumerate() {
        match key(list, item) {
            Ok(key) => keyed.push(Keyed { key, item }),
            Err(error) => errors.push(format!("element {at}: {error}")),
        }
    }
    keyed.sort_by(|a, b| a.key.cmp(&b.key));
    errors.result().map(|()| keyed)
}

/// Splits off the items in front that have the same key.
pub(super) fn split_group<'k, 'v>(keyed: &'k [Keyed<'v>]) -> (&'k [Keyed<'v>], &'k [Keyed<'v>]) {
    let len = keyed.first().map_or(0, |first| keyed.iter().take_while(|item| item.key == first.key).count());
    keyed.split_at_checked(len).unwrap_or((keyed, &[]))
}
