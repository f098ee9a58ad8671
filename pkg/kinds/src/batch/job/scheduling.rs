//! The scheduling of a job's pods as a group (KEP-5547): the rules that upstream does not declare in the types.

use api::tree::{child, integer, is_set, maybe_integer};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;

/// Validates `scheduling` of a job's spec. `path` is that of the field.
pub(super) fn scheduling(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(scheduling) = child(spec, "scheduling") else { return };
    let policy = child(scheduling, "schedulingPolicy");
    let parallelism = maybe_integer(spec, "parallelism").unwrap_or(1);
    let gang = policy.and_then(|policy| child(policy, "gang"));
    if let Some(count) = gang.map(|gang| integer(gang, "minCount")).filter(|count| *count > parallelism) {
        let detail = format!("must not be greater than parallelism ({parallelism})");
        errors.push(Error::invalid(&path.child("schedulingPolicy.gang.minCount"), count, detail));
    }
}

/// Checks that the kind of the scheduling policy is unchanged. `path` is that of `scheduling`.
pub(super) fn policy_unchanged(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) {
    let policy =
        |spec| child(spec, "scheduling").and_then(|scheduling| child(scheduling, "schedulingPolicy"));
    let Some((new, old)) = policy(new).zip(policy(old)) else { return };
    if is_set(new, "basic") != is_set(old, "basic") {
        let detail = "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount \
                      may be updated";
        let value = BadValue::Plain("null".to_owned());
        errors.push(Error::invalid(&path.child("schedulingPolicy"), value, detail));
    }
}
