//! Flow schemas and priority levels.

pub(crate) mod flow_schema;
pub(crate) mod priority_level_configuration;

use api::tree::{child, children, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;
use std::collections::BTreeSet;

/// Name of the flow schema, and of the priority level, for requests that never wait.
const EXEMPT: &str = "exempt";
/// Name of the flow schema, and of the priority level, for all other requests.
const CATCH_ALL: &str = "catch-all";

/// A write of the status changes no metadata, and a different uid is no error.
const RESETS: &[(&str, &[&str])] = &[(
    "status",
    &[
        ".metadata",
        ".metadata.uid",
        ".metadata.generateName",
        ".metadata.deletionGracePeriodSeconds",
        ".spec",
    ],
)];

/// Validates the conditions of a status: each has a type, and types are unique.
fn conditions(object: &Object, errors: &mut ErrorList) {
    let path = Path::root("status.conditions");
    let mut seen = BTreeSet::new();
    let conditions = child(object, "status").into_iter().flat_map(|status| children(status, "conditions"));
    for (index, condition) in conditions.enumerate() {
        let path = path.index(index);
        let kind = text(condition, "type");
        let path = path.child("type");
        if !seen.insert(kind) {
            errors.push(Error::duplicate(&path, BadValue::json_text(kind)));
        }
        if kind.is_empty() {
            errors.push(Error::required(&path, ""));
        }
    }
}

fn name(object: &Object) -> &str {
    child(object, "metadata").map_or("", |meta| text(meta, "name"))
}
