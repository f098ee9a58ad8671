//! The members of an object, sorted by name. A node of a B-tree has room for eleven members, so that small
//! objects would take ten times the memory of their text.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// From this number of members on, inserting into the vector would cost more than into a B-tree.
const MANY: usize = 32;

#[derive(Debug, Clone)]
pub(super) enum Members<'t, V> {
    Few(Vec<(Cow<'t, str>, V)>),
    Many(BTreeMap<Cow<'t, str>, V>),
}

impl<V> Default for Members<'_, V> {
    fn default() -> Self {
        Members::Few(Vec::new())
    }
}

impl<V: PartialEq> PartialEq for Members<'_, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'t, V> Members<'t, V> {
    pub(super) fn len(&self) -> usize {
        match self {
            Members::Few(members) => members.len(),
            Members::Many(members) => members.len(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        match self {
            Members::Few(members) => {
                let at = find(members, name).ok()?;
                members.get_mut(at).map(|(_, value)| value)
            }
            Members::Many(members) => members.get_mut(name),
        }
    }

    /// Sets a member; the last duplicate wins.
    pub(super) fn insert(&mut self, name: Cow<'t, str>, value: V) {
        match self {
            Members::Few(members) => match find(members, &name) {
                Ok(at) => {
                    if let Some((_, current)) = members.get_mut(at) {
                        *current = value;
                    }
                }
                Err(_) if members.len() == MANY => {
                    let mut map: BTreeMap<_, _> = std::mem::take(members).into_iter().collect();
                    map.insert(name, value);
                    *self = Members::Many(map);
                }
                Err(at) => members.insert(at, (name, value)),
            },
            Members::Many(members) => {
                members.insert(name, value);
            }
        }
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<V> {
        match self {
            Members::Few(members) => {
                let at = find(members, name).ok()?;
                Some(members.remove(at).1)
            }
            Members::Many(members) => members.remove(name),
        }
    }

    /// Keeps the members whose value satisfies `keep`.
    pub(super) fn retain(&mut self, keep: impl Fn(&V) -> bool) {
        match self {
            Members::Few(members) => members.retain(|(_, value)| keep(value)),
            Members::Many(members) => members.retain(|_, value| keep(value)),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        let (few, many) = match self {
            Members::Few(members) => (Some(members), None),
            Members::Many(members) => (None, Some(members)),
        };
        let few = few.into_iter().flatten().map(|(name, value)| (name.as_ref(), value));
        few.chain(many.into_iter().flatten().map(|(name, value)| (name.as_ref(), value)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut V)> {
        let (few, many) = match self {
            Members::Few(members) => (Some(members), None),
            Members::Many(members) => (None, Some(members)),
        };
        let few = few.into_iter().flatten().map(|(name, value)| (&**name, value));
        few.chain(many.into_iter().flatten().map(|(name, value)| (name.as_ref(), value)))
    }
}

impl<'t, V> IntoIterator for Members<'t, V> {
    type Item = (Cow<'t, str>, V);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        match self {
            Members::Few(members) => members.into_iter(),
            Members::Many(members) => members.into_iter().collect::<Vec<_>>().into_iter(),
        }
    }
}

fn find<V>(members: &[(Cow<'_, str>, V)], name: &str) -> Result<usize, usize> {
    members.binary_search_by(|(other, _)| other.as_ref().cmp(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_sorted_in_both_forms() {
        let mut members = Members::default();
        for number in (0..MANY * 2).rev() {
            members.insert(format!("{number:03}").into(), 1);
            assert!(members.iter().is_sorted_by_key(|(name, _)| name), "{number}");
        }
        assert_eq!(members.len(), MANY * 2);
    }

    #[test]
    fn last_duplicate_wins_in_both_forms() {
        for other_count in [0, MANY * 2] {
            let mut members = Members::default();
            members.insert("name".into(), 1);
            for number in 0..other_count {
                members.insert(number.to_string().into(), 0);
            }
            members.insert("name".into(), 2);
            assert_eq!(members.get_mut("name"), Some(&mut 2));
            assert_eq!(members.len(), other_count + 1);
        }
    }

    #[test]
    fn removed_members_are_gone_in_both_forms() {
        for count in [1, MANY * 2] {
            let mut members = Members::default();
            for number in 0..count {
                members.insert(number.to_string().into(), 0);
            }
            assert_eq!(members.remove("0"), Some(0));
            assert_eq!((members.remove("0"), members.len()), (None, count - 1));
        }
    }
}
