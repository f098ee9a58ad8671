//! Conditions, in CEL, on the requests that webhooks and policies are for.

use crate::tree::{children, list, text};
use crate::validation::value::qualified_name;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;
use std::collections::BTreeSet;

const CONDITIONS_MAX: usize = 64;

/// Validates the conditions of a webhook or a policy. `path` is that of the list.
pub(super) fn match_conditions(path: &Path<'_>, owner: &Object, errors: &mut ErrorList) {
    let count = list(owner, "matchConditions").len();
    if count > CONDITIONS_MAX {
        errors.push(Error::too_many(path, Some(count), Some(CONDITIONS_MAX)));
    }
    let mut names = BTreeSet::new();
    for (index, condition) in children(owner, "matchConditions").enumerate() {
        let (path, name) = (path.index(index), text(condition, "name"));
        if text(condition, "expression").trim().is_empty() {
            errors.push(Error::required(&path.child("expression"), ""));
        }
        let name_path = path.child("name");
        match name {
            "" => errors.push(Error::required(&name_path, "")),
            name => {
                qualified_name(&name_path, name, errors);
                if !names.insert(name) {
                    errors.push(Error::duplicate(&name_path, name));
                }
            }
        }
    }
}
