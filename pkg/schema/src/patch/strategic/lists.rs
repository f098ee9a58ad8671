//! Merges lists: objects by key, scalars as sets, and the order of the result.

use std::collections::{HashMap, HashSet};

use jsontree::Value;

use super::schema::Schema;
use super::{Error, PATCH, SET_ELEMENT_ORDER, failed, merge_object, unknown_directive};
use crate::object::Object;
use crate::patch::go_format;

/// The merge strategy of a list.
#[derive(Clone, Copy)]
pub(super) struct Merge {
    /// The merge key; empty for scalars.
    pub(super) key: &'static str,
    /// Type of the items.
    pub(super) schema: Schema,
    /// True if the patch lists scalars to delete.
    pub(super) deletes: bool,
}

/// The Go type of a list's items.
pub(super) type Kind = &'static str;

const OBJECT: Kind = "map[string]interface {}";

/// The common Go type of all items of some lists.
pub(super) fn item_kind(lists: &[&[Value]]) -> Result<Kind, Error> {
    let mut first_kind = None;
    for item in lists.iter().copied().flatten() {
        let kind = go_format::type_name(item);
        match first_kind {
            None if item.is_array() => {
                return Err(Error::DoesNotApply("lists of lists are not supported".to_owned()));
            }
            None => first_kind = Some(kind),
            Some(other) if other == kind => {}
            Some(_) => {
                let texts: Vec<String> = lists.iter().map(|list| go_format::list(list)).collect();
                return failed(format!("list element types are not identical: [{}]", texts.join(" ")));
            }
        }
    }
    match first_kind {
        Some(kind) => Ok(kind),
        None => failed("no elements in any of the given slices"),
    }
}

impl Merge {
    /// Merges a patch's list into the original one. Removes directives from the patch's items.
    pub(super) fn lists(self, original: Vec<Value>, patch: &mut [Value]) -> Result<Vec<Value>, Error> {
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        let kind = item_kind(&[&original, patch])?;
        if kind != OBJECT {
            return self.scalars(original, patch, kind);
        }
        if self.key.is_empty() {
            return failed(format!("cannot merge lists without merge key for {}", self.schema.kind()));
        }
        let (original, replaces) = self.special_items(original, patch)?;
        let ordinary: Vec<Value> = patch.iter().filter(|item| !is_special(item)).cloned().collect();
        let (merged, original, ordinary) = if replaces {
            (ordinary.clone(), ordinary, Vec::new())
        } else {
            (self.items(original.clone(), patch)?, original, ordinary)
        };
        let (from_patch, server_only) = self.partition(merged, &ordinary)?;
        self.sort(from_patch, server_only, &ordinary, &original, kind)
    }

    /// Merges a list of scalars as a set, or deletes scalars.
    fn scalars(self, original: Vec<Value>, patch: &[Value], kind: Kind) -> Result<Vec<Value>, Error> {
        if self.deletes {
            let deleted: HashSet<&Value> = patch.iter().collect();
            return Ok(original.into_iter().filter(|item| !deleted.contains(item)).collect());
        }
        let mut seen = HashSet::new();
        let items = original.iter().chain(patch).filter(|item| seen.insert(*item));
        let (from_patch, server_only) = self.partition(items.cloned().collect(), patch)?;
        self.sort(from_patch, server_only, patch, &original, kind)
    }

    /// Applies the items that are directives. Returns the remaining original list, and true if the patch's
    /// other items replace it.
    fn special_items(self, mut original: Vec<Value>, patch: &[Value]) -> Result<(Vec<Value>, bool), Error> {
        let mut deleted = HashSet::new();
        let mut replaces = false;
        for item in patch {
            let Value::Object(members) = item else { continue };
            let Some(directive) = members.get(PATCH) else { continue };
            match directive.as_str() {
                Some("delete") => {
                    deleted.insert(self.key_of(members)?);
                }
                Some("replace") => replaces = true,
                Some("merge") => return failed("merging lists cannot yet be specified in the patch"),
                _ => return failed(unknown_directive(directive, members)),
            }
        }
        original.retain(|item| item.get(self.key).is_none_or(|key| !deleted.contains(key)));
        Ok((original, replaces))
    }

    /// Merges objects into those with the same key, and appends the others.
    fn items(self, mut original: Vec<Value>, patch: &mut [Value]) -> Result<Vec<Value>, Error> {
        let mut places: HashMap<Value, usize> = HashMap::new();
        for (place, item) in original.iter().enumerate() {
            if let Some(key) = item.get(self.key) {
                places.entry(key.clone()).or_insert(place);
            }
        }
        for item in patch.iter_mut().filter(|item| !is_special(item)) {
            let Value::Object(members) = item else { return failed(bad_object(item)) };
            let key = self.key_of(members)?.clone();
            match places.get(&key).and_then(|&place| original.get_mut(place)) {
                Some(Value::Object(current)) => merge_object(current, members, self.schema)?,
                _ => {
                    places.insert(key, original.len());
                    original.push(item.clone());
                }
            }
        }
        Ok(original)
    }

    /// Splits a list into the items that are also in `by`, and the others.
    pub(super) fn partition(
        self,
        items: Vec<Value>,
        by: &[Value],
    ) -> Result<(Vec<Value>, Vec<Value>), Error> {
        if !self.key.is_empty() {
            for item in &items {
                let Value::Object(members) = item else { return failed(bad_object(item)) };
                self.key_of(members)?;
            }
        }
        let places = self.first_positions(by);
        if !self.key.is_empty()
            && let Some(at) = by.iter().position(|item| !item.is_object())
            && items.iter().any(|item| places.get(&self.identity(item)).is_none_or(|&place| at < place))
        {
            // Upstream's search for an item fails on an earlier item that is not a map.
            return failed(format!("value for key {at} is not a map"));
        }
        Ok(items.into_iter().partition(|item| places.contains_key(&self.identity(item))))
    }

    /// Sorts the patch's items in the patch's order and the server's in the server's order, and interleaves
    /// the two.
    pub(super) fn sort(
        self,
        mut from_patch: Vec<Value>,
        mut server_only: Vec<Value>,
        patch_order: &[Value],
        server_order: &[Value],
        kind: Kind,
    ) -> Result<Vec<Value>, Error> {
        if kind == OBJECT {
            for item in from_patch.iter().chain(patch_order).chain(&server_only).chain(server_order) {
                let Value::Object(members) = item else { return failed(bad_object(item)) };
                self.key_of(members)?;
            }
        }
        let patch_places = self.first_positions(patch_order);
        let server_places = self.first_positions(server_order);
        let in_patch = |item: &Value| patch_places.get(&self.identity(item)).copied();
        let on_server = |item: &Value| server_places.get(&self.identity(item)).copied();
        sort_by_position(&mut from_patch, in_patch);
        sort_by_position(&mut server_only, on_server);
        let mut sorted = Vec::with_capacity(from_patch.len() + server_only.len());
        let mut server_only = server_only.into_iter().peekable();
        for item in from_patch {
            let place = on_server(&item);
            let precedes = |other: &Value| match (on_server(other), place) {
                (Some(other), Some(place)) => other < place,
                _ => false,
            };
            while let Some(other) = server_only.next_if(precedes) {
                sorted.push(other);
            }
            sorted.push(item);
        }
        sorted.extend(server_only);
        Ok(sorted)
    }

    /// Checks that the items of a patch are in the order given by the patch itself.
    pub(super) fn check_order(self, patch: &[Value], order: &[Value]) -> Result<(), Error> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        let mut order_left = order.iter();
        for item in patch {
            if item.get(PATCH).is_some() {
                continue;
            }
            loop {
                let Some(ordered_item) = order_left.next() else {
                    let patch = go_format::list(patch);
                    let order = go_format::list(order);
                    return failed(format!(
                        "The order in patch list:\n{patch}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n"
                    ));
                };
                if !self.key.is_empty() {
                    for side in [item, ordered_item] {
                        let Value::Object(members) = side else { return failed(bad_object(side)) };
                        self.key_of(members)?;
                    }
                }
                if self.identity(item) == self.identity(ordered_item) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The value that identifies an item.
    fn identity(self, item: &Value) -> Option<&Value> {
        if self.key.is_empty() { Some(item) } else { item.get(self.key) }
    }

    /// The first position of each item.
    fn first_positions(self, items: &[Value]) -> HashMap<Option<&Value>, usize> {
        let mut places = HashMap::with_capacity(items.len());
        for (place, item) in items.iter().enumerate() {
            places.entry(self.identity(item)).or_insert(place);
        }
        places
    }

    fn key_of(self, item: &Object) -> Result<&Value, Error> {
        match item.get(self.key) {
            Some(key) => Ok(key),
            None => failed(format!(
                "map: {} does not contain declared merge key: {}",
                go_format::object(item),
                self.key
            )),
        }
    }
}

/// Sorts items by their position. An item without one goes before all items to its left: upstream's
/// comparison fails for such items, and up to this length its sort is an insertion sort.
fn sort_by_position(items: &mut Vec<Value>, place: impl Fn(&Value) -> Option<usize>) {
    const INSERTION_SORT_MAX: usize = 20;
    if items.len() > INSERTION_SORT_MAX {
        items.sort_by_cached_key(place);
        return;
    }
    let comes_before = |a: Option<usize>, b: Option<usize>| a.zip(b).is_none_or(|(a, b)| a < b);
    let mut sorted: Vec<(Option<usize>, Value)> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        let at = place(&item);
        let keeps = sorted.iter().rposition(|(other, _)| !comes_before(at, *other));
        sorted.insert(keeps.map_or(0, |keeps| keeps + 1), (at, item));
    }
    items.extend(sorted.into_iter().map(|(_, item)| item));
}

/// True if an item of a patch is a directive.
fn is_special(item: &Value) -> bool {
    item.get(PATCH).is_some()
}

fn bad_object(actual: &Value) -> String {
    format!("expected a map[string]interface {{}}, but received a {}", go_format::type_name(actual))
}
