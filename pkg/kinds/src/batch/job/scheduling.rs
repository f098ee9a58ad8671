//! The scheduling of a job's pods as a group (KEP-5547): the rules that upstream does not declare in the types.

use api::tree::{child, is_set, maybe_integer};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;

/// Validates `scheduling` of a job's spec. `path` is that of the field.
pub(super) fn scheduling(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(scheduling) = child(spec, "scheduling") else { return };
    let policy = child(scheduling, "schedulingPolicy");
    let parallelism = maybe_integer(spec, "parallelism").unwrap_or(1);
    let gang = policy.and_then(|policy| child(policy, "gang"));
    let count = gang.and_then(|gang| maybe_integer(gang, "minCount"));
    if let Some(count) = count.filter(|count| *count > parallelism) {
        let detail = format!("must not be greater than parallelism ({parallelism})");
        errors.push(Error::invalid(&path.child("schedulingPolicy.gang.minCount"), count, detail));
    }
    // The default policy is basic.
    let is_basic = gang.is_none() || policy.is_some_and(|policy| is_set(policy, "basic"));
    let disruption = child(scheduling, "disruptionMode").filter(|mode| !is_set(mode, "single"));
    if is_basic && disruption.is_some_and(|mode| is_set(mode, "all")) {
        let detail = "the disruptionMode `all` is not supported with the Basic scheduling policy";
        errors.push(Error::invalid(&path.child("disruptionMode"), "", detail));
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

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(of_scheduling: Value, expected: &[&str]) {
        let mut errors = ErrorList::new();
        let spec = json!({"parallelism": 2, "scheduling": of_scheduling});
        scheduling(&Path::root("s"), spec.as_object().unwrap_or(&Object::new()), &mut errors);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn gang_is_not_larger_than_parallelism() {
        check(json!({"schedulingPolicy": {"gang": {"minCount": 2}}}), &[]);
        check(json!({"schedulingPolicy": {"gang": {"minCount": 3}}}), &["s.schedulingPolicy.gang.minCount"]);
    }

    #[test]
    fn basic_policy_disrupts_single_pods() {
        let all = json!({"all": {}});
        check(json!({"disruptionMode": {"single": {}}}), &[]);
        check(json!({"disruptionMode": all, "schedulingPolicy": {"gang": {}}}), &[]);
        check(json!({"disruptionMode": all, "schedulingPolicy": {"basic": {}}}), &["s.disruptionMode"]);
        check(json!({ "disruptionMode": all }), &["s.disruptionMode"]);
    }
}
