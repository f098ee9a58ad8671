//! Cells of hand-made objects; every kind once over the schema's own samples is
//! left to the parity runs.
#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

/// 2024-01-02T03:04:05Z
const NOW: UnixTime = UnixTime::from_seconds(1_704_164_645);

fn check(group_version: &str, resource: &str, object: &Value, expected: &Value) {
    let cells = cells(group_version, resource, object.as_object().unwrap(), NOW);
    assert_eq!(Value::Array(cells), *expected, "{resource} {object}");
}
