//! Objects: members sorted by the bytes of their names.

use std::collections::btree_map::{self, BTreeMap};
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::text::order;
use crate::{Key, Value, is_equal};

/// Limit of members in a vector. Larger objects use a B-tree, where the insertion order does not matter.
const VECTOR_MEMBERS_MAX: usize = 64;

/// Members of an object, sorted by the bytes of their names.
#[derive(Clone, Default)]
pub struct Object {
    members: Members,
}

#[derive(Clone)]
enum Members {
    Few(Vec<(Key, Value)>),
    #[allow(clippy::box_collection, reason = "the usual object is no larger than its vector")]
    Many(Box<BTreeMap<Key, Value>>),
}

impl Default for Members {
    fn default() -> Self {
        Members::Few(Vec::new())
    }
}

impl Object {
    /// Creates an empty object without allocating.
    pub const fn new() -> Self {
        Object { members: Members::Few(Vec::new()) }
    }

    /// Creates an empty object with room for `members`.
    pub fn with_capacity(members: usize) -> Self {
        Object { members: Members::Few(Vec::with_capacity(members.min(VECTOR_MEMBERS_MAX))) }
    }

    /// Reserves room in an empty object, for as many members as the vector form can have.
    #[inline]
    pub fn reserve(&mut self, members: usize) {
        if let Members::Few(few) = &mut self.members
            && few.capacity() == 0
        {
            *few = Vec::with_capacity(members.min(VECTOR_MEMBERS_MAX));
        }
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        match &self.members {
            Members::Few(few) => few.len(),
            Members::Many(many) => many.len(),
        }
    }

    /// True if the object has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of a member; `None` if it is absent.
    #[inline]
    pub fn get<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> Option<&Value> {
        match &self.members {
            Members::Few(few) => few.get(find(few, name.as_ref())?).map(|(_, value)| value),
            Members::Many(many) => many.get(name.as_ref()),
        }
    }

    /// Returns the value of a member, mutably; an absent member is not inserted.
    #[inline]
    pub fn get_mut<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<&mut Value> {
        match &mut self.members {
            Members::Few(few) => {
                let at = find(few, name.as_ref())?;
                few.get_mut(at).map(|(_, value)| value)
            }
            Members::Many(many) => many.get_mut(name.as_ref()),
        }
    }

    /// Returns a member with its stored name; `None` if it is absent.
    pub fn get_key_value<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> Option<(&Key, &Value)> {
        match &self.members {
            Members::Few(few) => few.get(find(few, name.as_ref())?).map(|(name, value)| (name, value)),
            Members::Many(many) => many.get_key_value(name.as_ref()),
        }
    }

    /// True if the object has such a member, even if its value is `null`.
    #[inline]
    pub fn contains_key<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> bool {
        self.get(name).is_some()
    }

    /// Inserts a member. Returns the previous value if there was one.
    #[inline]
    pub fn insert(&mut self, name: impl Into<Key>, value: Value) -> Option<Value> {
        let (slot, there) = self.slot(name.into());
        let before = std::mem::replace(slot, value);
        there.then_some(before)
    }

    /// Inserts a new member at index `at`. The caller must know that the name is absent and belongs there;
    /// names are not compared. A wrong index breaks the order, which debug builds check.
    #[inline(always)]
    pub fn insert_at(&mut self, at: usize, name: &Key, value: impl FnOnce() -> Value) -> &mut Value {
        if !matches!(&self.members, Members::Few(few) if few.len() < VECTOR_MEMBERS_MAX && at <= few.len()) {
            let slot = self.slot(name.clone()).0;
            *slot = value();
            return slot;
        }
        match &mut self.members {
            Members::Few(few) => {
                debug_assert_eq!(position(few, name), Err(at), "the place of {name}");
                put_at(few, at, || (name.clone(), value()))
            }
            Members::Many(many) => many.entry(name.clone()).or_insert_with(value),
        }
    }

    /// Returns the entry of a member, present or not.
    #[inline]
    pub fn entry(&mut self, name: impl Into<Key>) -> Entry<'_> {
        Entry { object: self, name: name.into() }
    }

    /// Returns the value of a member, and true if the member was there. An absent member is inserted as
    /// `null`.
    #[inline]
    pub fn slot(&mut self, name: impl Into<Key> + AsRef<str>) -> (&mut Value, bool) {
        if let Members::Few(few) = &mut self.members
            && few.len() >= VECTOR_MEMBERS_MAX
        {
            self.members = Members::Many(Box::new(std::mem::take(few).into_iter().collect()));
        }
        match &mut self.members {
            Members::Few(few) => match position(few, name.as_ref()) {
                Ok(at) => (&mut few[at].1, true),
                Err(at) => (put_at(few, at, || (name.into(), Value::Null)), false),
            },
            Members::Many(many) => match many.entry(name.into()) {
                btree_map::Entry::Occupied(entry) => (entry.into_mut(), true),
                btree_map::Entry::Vacant(entry) => (entry.insert(Value::Null), false),
            },
        }
    }

    /// Removes a member and returns its value; the others keep their order.
    pub fn remove<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<Value> {
        self.remove_entry(name).map(|(_, value)| value)
    }

    /// Removes a member and returns its name and value.
    pub fn remove_entry<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<(Key, Value)> {
        match &mut self.members {
            Members::Few(few) => find(few, name.as_ref()).map(|at| few.remove(at)),
            Members::Many(many) => many.remove_entry(name.as_ref()),
        }
    }

    /// Removes all members and frees their memory.
    pub fn clear(&mut self) {
        self.members = Members::default();
    }

    /// Keeps the members for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Key, &mut Value) -> bool) {
        match &mut self.members {
            Members::Few(few) => few.retain_mut(|(name, value)| keep(name, value)),
            Members::Many(many) => many.retain(keep),
        }
    }

    /// Iterates over the members in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        match &self.members {
            Members::Few(few) => Iter::Few(few.iter()),
            Members::Many(many) => Iter::Many(many.iter()),
        }
    }

    /// Iterates over the members in order, with mutable values.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        match &mut self.members {
            Members::Few(few) => IterMut::Few(few.iter_mut()),
            Members::Many(many) => IterMut::Many(many.iter_mut()),
        }
    }

    /// Iterates over the names in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Key> + ExactSizeIterator + Clone {
        self.iter().map(|(name, _)| name)
    }

    /// Iterates over the values in the order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// Iterates over the mutable values in the order of their names.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.iter_mut().map(|(_, value)| value)
    }
}

#[inline(always)]
fn put_at(few: &mut Vec<(Key, Value)>, at: usize, member: impl FnOnce() -> (Key, Value)) -> &mut Value {
    let member = if at == few.len() { push_with(few, member) } else { few.insert_mut(at, member()) };
    &mut member.1
}

/// Appends `null` to a list, so that the caller can write the item in place.
#[inline(always)]
pub fn push_null(items: &mut Vec<Value>) -> &mut Value {
    push_with(items, || Value::Null)
}

/// Appends an item that is made after the room for it is reserved. An item that exists earlier must be
/// dropped if growing panics, so the compiler moves it through the stack.
#[inline(always)]
fn push_with<T>(items: &mut Vec<T>, make: impl FnOnce() -> T) -> &mut T {
    let at = items.len();
    items.extend(std::iter::once_with(make));
    &mut items[at]
}

/// Limit for a linear search. The lengths of the names differ in most comparisons.
const LINEAR_SEARCH_MAX: usize = 12;

/// Returns the index of a member.
#[inline]
fn find(few: &[(Key, Value)], name: &str) -> Option<usize> {
    if few.len() > LINEAR_SEARCH_MAX {
        return position(few, name).ok();
    }
    few.iter().position(|(other, _)| is_equal(other, name))
}

/// Returns the index of a member, or the index to insert it at. Members often arrive in order, so the end is
/// tried first.
#[inline]
fn position(few: &[(Key, Value)], name: &str) -> Result<usize, usize> {
    match few.last() {
        Some((last, _)) if order(last, name).is_ge() => few.binary_search_by(|(other, _)| order(other, name)),
        _ => Err(few.len()),
    }
}

/// Member of an object, present or not.
pub struct Entry<'a> {
    object: &'a mut Object,
    name: Key,
}

impl<'a> Entry<'a> {
    /// Returns the value of the member, after inserting `value` if it is absent.
    pub fn or_insert(self, value: Value) -> &'a mut Value {
        self.or_insert_with(|| value)
    }

    /// Returns the value of the member, after inserting the result of `value` if it is absent.
    pub fn or_insert_with(self, value: impl FnOnce() -> Value) -> &'a mut Value {
        let (slot, there) = self.object.slot(self.name);
        if !there {
            *slot = value();
        }
        slot
    }
}

/// Defines an iterator with one variant for vectors and one for B-trees.
macro_rules! iterator {
    ($(#[$doc:meta])* $name:ident<$($life:lifetime)?>, $few:ty, $many:ty, $item:ty, $part:expr) => {
        $(#[$doc])*
        pub enum $name<$($life)?> {
            /// Over a vector.
            Few($few),
            /// Over a B-tree.
            Many($many),
        }

        impl<$($life)?> Iterator for $name<$($life)?> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                match self {
                    $name::Few(few) => few.next().map($part),
                    $name::Many(many) => many.next(),
                }
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                match self {
                    $name::Few(few) => few.size_hint(),
                    $name::Many(many) => many.size_hint(),
                }
            }
        }

        impl<$($life)?> DoubleEndedIterator for $name<$($life)?> {
            fn next_back(&mut self) -> Option<Self::Item> {
                match self {
                    $name::Few(few) => few.next_back().map($part),
                    $name::Many(many) => many.next_back(),
                }
            }
        }

        impl<$($life)?> ExactSizeIterator for $name<$($life)?> {}
    };
}

iterator!(
    /// Iterator over the members of an object, in order.
    #[derive(Clone)]
    Iter<'a>,
    std::slice::Iter<'a, (Key, Value)>,
    btree_map::Iter<'a, Key, Value>,
    (&'a Key, &'a Value),
    |(name, value)| (name, value)
);
iterator!(
    /// Iterator over the members of an object, in order, with mutable values.
    IterMut<'a>,
    std::slice::IterMut<'a, (Key, Value)>,
    btree_map::IterMut<'a, Key, Value>,
    (&'a Key, &'a mut Value),
    |(name, value)| (&*name, value)
);
iterator!(
    /// Iterator over the owned members of an object, in order.
    IntoIter<>,
    std::vec::IntoIter<(Key, Value)>,
    btree_map::IntoIter<Key, Value>,
    (Key, Value),
    |member| member
);

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a Key, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Object {
    type Item = (&'a Key, &'a mut Value);
    type IntoIter = IterMut<'a>;

    fn into_iter(self) -> IterMut<'a> {
        self.iter_mut()
    }
}

impl IntoIterator for Object {
    type Item = (Key, Value);
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        match self.members {
            Members::Few(few) => IntoIter::Few(few.into_iter()),
            Members::Many(many) => IntoIter::Many(many.into_iter()),
        }
    }
}

impl<K: Into<Key>> Extend<(K, Value)> for Object {
    fn extend<T: IntoIterator<Item = (K, Value)>>(&mut self, members: T) {
        for (name, value) in members {
            self.insert(name, value);
        }
    }
}

impl<K: Into<Key>> FromIterator<(K, Value)> for Object {
    fn from_iter<T: IntoIterator<Item = (K, Value)>>(members: T) -> Self {
        let members = members.into_iter();
        let mut object = Object::with_capacity(members.size_hint().0);
        object.extend(members);
        object
    }
}

impl<K: Into<Key>, const N: usize> From<[(K, Value); N]> for Object {
    fn from(members: [(K, Value); N]) -> Self {
        members.into_iter().collect()
    }
}

impl PartialEq for Object {
    fn eq(&self, other: &Object) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Object {}

impl Hash for Object {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_usize(self.len());
        self.iter().for_each(|member| member.hash(hasher));
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<Q: AsRef<str> + ?Sized> std::ops::Index<&Q> for Object {
    type Output = Value;

    /// Returns the value of a member, or `null` if there is none.
    fn index(&self, name: &Q) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

impl<Q: AsRef<str> + ?Sized> std::ops::IndexMut<&Q> for Object {
    /// Returns the value of a member, after inserting `null` if it is absent.
    fn index_mut(&mut self, name: &Q) -> &mut Value {
        self.slot(name.as_ref()).0
    }
}
