//! Success policies of Indexed jobs (KEP-3998).

use super::indexes::{INDEXES_BYTES_MAX, count_indexes};
use crate::validation::value::nonnegative;
use api::tree::{children, list, maybe_integer, maybe_text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Limit of rules in a policy.
const RULES_MAX: usize = 20;

/// Validates a policy. `path` is that of the policy. Absent `completions` are an error elsewhere. Fields that
/// depend on them are not validated then (upstream fails with an internal error).
pub(super) fn success_policy(
    path: &Path<'_>,
    policy: &Object,
    completions: Option<i64>,
    errors: &mut ErrorList,
) {
    let path = path.child("rules");
    let count = list(policy, "rules").len();
    if count == 0 {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(Error::required(&path, detail));
    }
    if count > RULES_MAX {
        errors.push(Error::too_many(&path, Some(count), Some(RULES_MAX)));
    }
    for (index, rule) in children(policy, "rules").enumerate() {
        validate_rule(&path.index(index), rule, completions, errors);
    }
}

fn validate_rule(path: &Path<'_>, rule: &Object, completions: Option<i64>, errors: &mut ErrorList) {
    let count = maybe_integer(rule, "succeededCount");
    let indexes = maybe_text(rule, "succeededIndexes");
    if count.is_none() && indexes.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(Error::required(path, detail));
    }
    let mut total = None;
    if let Some(indexes) = indexes {
        let path = path.child("succeededIndexes");
        if indexes.len() > INDEXES_BYTES_MAX {
            errors.push(Error::too_long(&path, Some(INDEXES_BYTES_MAX)));
        }
        total = completions.map(|completions| match count_indexes(indexes, completions) {
            Ok(total) => total,
            Err(problem) => {
                let detail = format!("error parsing succeededIndexes: {problem}");
                errors.push(Error::invalid(&path, indexes, detail));
                0
            }
        });
    }
    let Some(count) = count else { return };
    let path = path.child("succeededCount");
    nonnegative(&path, count, errors);
    let bounds = [
        (completions, "the number of specified completions"),
        (total, "the number of indexes in the specified succeededIndexes field"),
    ];
    for (bound, meaning) in bounds {
        if let Some(bound) = bound.filter(|bound| count > *bound) {
            let detail = format!("must be less than or equal to {bound} ({meaning})");
            errors.push(Error::invalid(&path, count, detail));
        }
    }
}
