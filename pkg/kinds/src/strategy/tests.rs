//! Tests of the changes that strategies make before a write.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
mod declarative;
mod devices;
mod gated;
mod pod_subresources;
mod pods;
mod services;
mod signing_requests;
mod small;
mod volumes;

use apimachinery::user_info::UserInfo;
use component_base::features::Gates;
use jsontree::{Value, json};

use super::*;
use crate::validation::rules::Settings;

/// Time of every write.
const NOW: &str = "2025-01-01T00:00:00Z";
const BEFORE: &str = "2024-01-01T00:00:00Z";

struct Fixed;

impl Entropy for Fixed {
    fn uid(&self) -> String {
        "random".to_owned()
    }

    fn number(&self) -> u32 {
        0
    }
}

/// Row of `plural` or `plural/subresource`, in the storage version if it is served.
fn row(path: &str) -> &'static Resource<'static> {
    let (plural, subresource) = path.split_once('/').unwrap_or((path, ""));
    let rows = || api::resources::all().filter(|row| row.plural == plural && row.subresource.is_empty());
    let stored = |row: &&Resource| row.storage.is_some_and(|s| s.group_version == row.group_version);
    let main = rows().find(stored).or_else(|| rows().next());
    let main = main.unwrap_or_else(|| panic!("{plural} is no resource"));
    let expected = (main.group_version, plural, subresource);
    let is_expected = |row: &&Resource| (row.group_version, row.plural, row.subresource) == expected;
    api::resources::all().find(is_expected).unwrap_or_else(|| panic!("{path} is no resource"))
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is not an object"),
    }
}

fn context<'c>(user: &'c UserInfo) -> Context<'c> {
    Context {
        user,
        now: UnixTime { seconds: 1_735_689_600, nanos: 5 },
        entropy: &Fixed,
        settings: Settings::default(),
        shares_labels: false,
    }
}

fn created(plural: &str, object: Value) -> Value {
    created_with(Gates::default(), plural, object)
}

fn created_with(gates: Gates, plural: &str, sent: Value) -> Value {
    let mut sent = object(sent);
    let user = UserInfo::default();
    let settings = Settings { gates, ..Settings::default() };
    prepare_for_create(row(plural), &mut sent, &Context { settings, ..context(&user) });
    Value::Object(sent)
}

/// Result of replacing `old` with `new` through `plural` or `plural/subresource`.
fn updated(path: &str, old: Value, new: Value) -> Value {
    updated_with(Gates::default(), path, old, new)
}

/// As [`updated`], with these gates.
fn updated_with(gates: Gates, path: &str, old: Value, new: Value) -> Value {
    let mut new = object(new);
    let user = UserInfo::default();
    let plural = path.split('/').next().unwrap();
    let context = Context { settings: Settings { gates, ..Settings::default() }, ..context(&user) };
    prepare_for_update(row(path), row(plural), &mut new, &object(old), &context);
    Value::Object(new)
}
