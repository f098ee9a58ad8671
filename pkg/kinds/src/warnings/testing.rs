//! Shared test helpers: an object in, the expected warnings out.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use super::{on_create, on_update};
use api::resources::{Resource, all};
use component_base::features::Gates;
use jsontree::Value;
use schema::object::Object;

pub(super) fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap()
}

fn row(group: &str, plural: &str) -> &'static Resource<'static> {
    all().find(|row| (row.group, row.plural, row.subresource) == (group, plural, "")).unwrap()
}

/// Checks the warnings about a created object.
#[track_caller]
pub(super) fn created(group: &str, plural: &str, new: Value, expected: &[&str]) {
    assert_eq!(on_create(row(group, plural), &object(new), &Gates::default()), expected);
}

/// Checks the warnings about a created object with these gates.
#[track_caller]
pub(super) fn created_with(gates: Gates, group: &str, plural: &str, new: Value, expected: &[&str]) {
    assert_eq!(on_create(row(group, plural), &object(new), &gates), expected);
}

/// Checks the warnings about a replaced object.
#[track_caller]
pub(super) fn updated(group: &str, plural: &str, new: Value, old: Value, expected: &[&str]) {
    let new = object(new);
    let old = object(old);
    let gates = Gates::default();
    assert_eq!(on_update(row(group, plural), "", &new, &old, &gates), expected);
}

/// Checks the warnings about a replaced status.
#[track_caller]
pub(super) fn status_updated(group: &str, plural: &str, new: Value, expected: &[&str]) {
    let new = object(new);
    let gates = Gates::default();
    assert_eq!(on_update(row(group, plural), "status", &new, &new, &gates), expected);
}
