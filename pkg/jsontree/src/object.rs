//! Objects: members in bytewise order of their names.

use std::collections::btree_map::{self, BTreeMap};
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::text::order;
use crate::{Key, Value, same};

/// How many members stand in a vector. More are kept in a B-tree, for which the order of insertions does not
/// matter.
const VECTOR_MEMBERS_MAX: usize = 64;

/// The members of an object, in bytewise order of their names.
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
    /// An object without members; allocates nothing.
    pub const fn new() -> Self {
        Object { members: Members::Few(Vec::new()) }
    }

    /// An object that is to have some `members`.
    pub fn with_capacity(members: usize) -> Self {
        Object { members: Members::Few(Vec::with_capacity(members.min(VECTOR_MEMBERS_MAX))) }
    }

    /// Makes room for so many members in an object that has none, and none for what is beyond those that stand in a
    /// vector.
    #[inline]
    pub fn reserve(&mut self, members: usize) {
        if let Members::Few(few) = &mut self.members
            && few.capacity() == 0
        {
            *few = Vec::with_capacity(members.min(VECTOR_MEMBERS_MAX));
        }
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        match &self.members {
            Members::Few(few) => few.len(),
            Members::Many(many) => many.len(),
        }
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a member.
    #[inline]
    pub fn get<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> Option<&Value> {
        match &self.members {
            Members::Few(few) => few.get(find(few, name.as_ref())?).map(|(_, value)| value),
            Members::Many(many) => many.get(name.as_ref()),
        }
    }

    /// The value of a member, to be changed.
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

    /// A member's name and value.
    pub fn get_key_value<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> Option<(&Key, &Value)> {
        match &self.members {
            Members::Few(few) => few.get(find(few, name.as_ref())?).map(|(name, value)| (name, value)),
            Members::Many(many) => many.get_key_value(name.as_ref()),
        }
    }

    /// Whether there is such a member.
    #[inline]
    pub fn contains_key<Q: AsRef<str> + ?Sized>(&self, name: &Q) -> bool {
        self.get(name).is_some()
    }

    /// Puts a member in; the value that it had before, if it was there.
    #[inline]
    pub fn insert(&mut self, name: impl Into<Key>, value: Value) -> Option<Value> {
        let (slot, there) = self.slot(name.into());
        let before = std::mem::replace(slot, value);
        there.then_some(before)
    }

    /// Puts a member in that is not there yet, before which so many others stand, for who knows that without looking at
    /// their names. A wrong place breaks the order; debug builds check it.
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

    /// The place of a member, whether it is there or not.
    #[inline]
    pub fn entry(&mut self, name: impl Into<Key>) -> Entry<'_> {
        Entry { object: self, name: name.into() }
    }

    /// The place of the value of a member, and whether the member was there; it is put in, as `null`, if it was not.
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

    /// Takes a member out.
    pub fn remove<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<Value> {
        self.remove_entry(name).map(|(_, value)| value)
    }

    /// Takes a member out, with its name.
    pub fn remove_entry<Q: AsRef<str> + ?Sized>(&mut self, name: &Q) -> Option<(Key, Value)> {
        match &mut self.members {
            Members::Few(few) => find(few, name.as_ref()).map(|at| few.remove(at)),
            Members::Many(many) => many.remove_entry(name.as_ref()),
        }
    }

    /// Takes all members out.
    pub fn clear(&mut self) {
        self.members = Members::default();
    }

    /// Keeps the members of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Key, &mut Value) -> bool) {
        match &mut self.members {
            Members::Few(few) => few.retain_mut(|(name, value)| keep(name, value)),
            Members::Many(many) => many.retain(keep),
        }
    }

    /// The members, in order.
    #[inline]
    pub fn iter(&self) -> Iter<'_> {
        match &self.members {
            Members::Few(few) => Iter::Few(few.iter()),
            Members::Many(many) => Iter::Many(many.iter()),
        }
    }

    /// The members, in order, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_> {
        match &mut self.members {
            Members::Few(few) => IterMut::Few(few.iter_mut()),
            Members::Many(many) => IterMut::Many(many.iter_mut()),
        }
    }

    /// The names, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Key> + ExactSizeIterator + Clone {
        self.iter().map(|(name, _)| name)
    }

    /// The values, in order of their names.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// The values, in order of their names, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.iter_mut().map(|(_, value)| value)
    }
}

/// Puts a member in.
#[inline(always)]
fn put_at(few: &mut Vec<(Key, Value)>, at: usize, member: impl FnOnce() -> (Key, Value)) -> &mut Value {
    let member = if at == few.len() { push_with(few, member) } else { few.insert_mut(at, member()) };
    &mut member.1
}

/// Puts `null` at the end of a list, to be written to where it stays.
#[inline(always)]
pub fn push_null(items: &mut Vec<Value>) -> &mut Value {
    push_with(items, || Value::Null)
}

/// Puts at the end of a vector what is made when there is room for it: what is there before may have to be dropped, for
/// growing may panic, and therefore goes by way of the stack.
#[inline(always)]
fn push_with<T>(items: &mut Vec<T>, make: impl FnOnce() -> T) -> &mut T {
    let at = items.len();
    items.extend(std::iter::once_with(make));
    &mut items[at]
}

/// How many members are looked through one after the other: their lengths tell most names apart.
const LINEAR_SEARCH_MAX: usize = 12;

/// Where a member is.
#[inline]
fn find(few: &[(Key, Value)], name: &str) -> Option<usize> {
    if few.len() > LINEAR_SEARCH_MAX {
        return position(few, name).ok();
    }
    few.iter().position(|(other, _)| same(other, name))
}

/// Where a member is, or where it would have to be put. Members often come in order, so the end is tried first.
#[inline]
fn position(few: &[(Key, Value)], name: &str) -> Result<usize, usize> {
    match few.last() {
        Some((last, _)) if order(last, name).is_ge() => few.binary_search_by(|(other, _)| order(other, name)),
        _ => Err(few.len()),
    }
}

/// The place of a member in an object.
pub struct Entry<'a> {
    object: &'a mut Object,
    name: Key,
}

impl<'a> Entry<'a> {
    /// The value of the member, put there first if it is not there.
    pub fn or_insert(self, value: Value) -> &'a mut Value {
        self.or_insert_with(|| value)
    }

    /// The value of the member, made and put there first if it is not there.
    pub fn or_insert_with(self, value: impl FnOnce() -> Value) -> &'a mut Value {
        let (slot, there) = self.object.slot(self.name);
        if !there {
            *slot = value();
        }
        slot
    }
}

/// One form of each iterator for objects of few members, one for those of many.
macro_rules! iterator {
    ($(#[$doc:meta])* $name:ident<$($life:lifetime)?>, $few:ty, $many:ty, $item:ty, $part:expr) => {
        $(#[$doc])*
        pub enum $name<$($life)?> {
            /// Of few.
            Few($few),
            /// Of many.
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
    /// The members of an object, in order.
    #[derive(Clone)]
    Iter<'a>,
    std::slice::Iter<'a, (Key, Value)>,
    btree_map::Iter<'a, Key, Value>,
    (&'a Key, &'a Value),
    |(name, value)| (name, value)
);
iterator!(
    /// The members of an object, in order, with values that can be changed.
    IterMut<'a>,
    std::slice::IterMut<'a, (Key, Value)>,
    btree_map::IterMut<'a, Key, Value>,
    (&'a Key, &'a mut Value),
    |(name, value)| (&*name, value)
);
iterator!(
    /// The members of an object that is no longer needed, in order.
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

    /// The value of a member; `null` if there is none.
    fn index(&self, name: &Q) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

impl<Q: AsRef<str> + ?Sized> std::ops::IndexMut<&Q> for Object {
    /// The value of a member; `null` is put there if it is not.
    fn index_mut(&mut self, name: &Q) -> &mut Value {
        self.slot(name.as_ref()).0
    }
}
