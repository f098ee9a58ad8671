//! Tests of the limit on updaters.

use crate::cap::cap_updaters;
use crate::entries::Managed;
use crate::testing::{entry, untimed};
use jsontree::Value;

/// Returns an updater that owns fields with one-letter names.
fn updater(name: &str, version: &str, order: i64, letters: &str) -> Value {
    let fields: Vec<String> = letters.chars().map(|letter| format!("\"f:{letter}\":{{}}")).collect();
    entry(name, "Update", version, order, &format!("{{{}}}", fields.join(",")))
}

/// Returns seven updaters younger than any in a test, so that the limit allows three more.
fn young() -> Vec<Value> {
    (0..7).map(|n| updater(&format!("young{n}"), &format!("young/v{n}"), 100 + n, "x")).collect()
}

#[track_caller]
fn check(input: &[Value], expected: &[Value]) {
    let mut managed = Managed::decode(&[input, &young()].concat()).unwrap();
    cap_updaters(&mut managed);
    assert_eq!(managed.encode(), [expected, &young()].concat());
    cap_updaters(&mut managed);
    assert_eq!(managed.encode(), [expected, &young()].concat(), "a second time changes nothing");
}

#[test]
fn up_to_ten_updaters_stay() {
    let three = [updater("a", "v1", 1, "a"), updater("b", "v1", 2, "b"), updater("c", "v1", 3, "c")];
    check(&three, &three);
    let applier = untimed("z", "Apply", "v1", r#"{"f:z":{}}"#);
    let with_applier = [&[applier], three.as_slice()].concat();
    check(&with_applier, &with_applier);
}

#[test]
fn the_oldest_of_a_version_are_merged() {
    check(
        &[
            updater("a", "v1", 1, "a"),
            updater("b", "v1", 2, "b"),
            updater("c", "v1", 3, "c"),
            updater("d", "v1", 4, "d"),
        ],
        &[updater("ancient-changes", "v1", 2, "ab"), updater("c", "v1", 3, "c"), updater("d", "v1", 4, "d")],
    );
}

#[test]
fn bucket_absorbs_later_updaters() {
    check(
        &[
            updater("ancient-changes", "v1", 2, "ab"),
            updater("c", "v1", 3, "c"),
            updater("d", "v1", 4, "d"),
            updater("e", "v1", 5, "e"),
        ],
        &[updater("ancient-changes", "v1", 3, "abc"), updater("d", "v1", 4, "d"), updater("e", "v1", 5, "e")],
    );
}

#[test]
fn younger_bucket_keeps_its_fields() {
    check(
        &[
            updater("a", "v1", 1, "a"),
            updater("ancient-changes", "v1", 2, "b"),
            updater("c", "v1", 3, "c"),
            updater("d", "v1", 4, "d"),
        ],
        &[updater("ancient-changes", "v1", 2, "ab"), updater("c", "v1", 3, "c"), updater("d", "v1", 4, "d")],
    );
}

#[test]
fn versions_have_buckets_of_their_own() {
    check(
        &[
            updater("b", "v2", 2, "b"),
            updater("ancient-changes", "v1", 4, "acd"),
            updater("e", "v1", 5, "e"),
            updater("f", "v3", 6, "f"),
            updater("g", "v2", 7, "g"),
        ],
        &[
            updater("ancient-changes", "v1", 5, "acde"),
            updater("f", "v3", 6, "f"),
            updater("ancient-changes", "v2", 7, "bg"),
        ],
    );
}

#[test]
fn updaters_of_different_versions_are_not_merged() {
    let four = [
        updater("a", "v1", 1, "a"),
        updater("b", "v2", 2, "b"),
        updater("c", "v3", 3, "c"),
        updater("d", "v4", 4, "d"),
    ];
    check(&four, &four);
}
