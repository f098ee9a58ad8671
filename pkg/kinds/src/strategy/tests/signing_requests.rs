//! Tests of certificate signing requests.

use super::*;

fn with(conditions: Value) -> Value {
    json!({
        "metadata": {},
        "spec": {"request": "r"},
        "status": {"certificate": "c", "conditions": conditions},
    })
}

fn condition(ty: &str, reason: &str, updated: Option<&str>, since: Option<&str>) -> Value {
    let mut condition = json!({"type": ty, "status": "True", "reason": reason});
    for (name, time) in [("lastUpdateTime", updated), ("lastTransitionTime", since)] {
        if let Some(time) = time {
            condition[name] = time.into();
        }
    }
    condition
}

#[test]
fn requesting_user_is_recorded() {
    let user = UserInfo { name: "u".to_owned(), groups: vec!["g".to_owned()], ..UserInfo::default() };
    let mut request =
        object(json!({"metadata": {}, "spec": {"username": "x", "uid": "y"}, "status": {"x": 1}}));
    prepare_for_create(row("certificatesigningrequests"), &mut request, &context(&user));
    assert_eq!(Value::Object(request), json!({"metadata": {}, "spec": {"username": "u", "groups": ["g"]}}));
}

#[test]
fn the_resource_itself_changes_neither_spec_nor_status() {
    let old = with(json!([condition("Approved", "a", Some(BEFORE), Some(BEFORE))]));
    let mut new = with(json!([]));
    new["spec"]["request"] = "other".into();
    assert_eq!(updated("certificatesigningrequests", old.clone(), new), old);
}

#[test]
fn approval_sets_times_and_keeps_certificate() {
    let check = |old: Value, new: Value, expected: Value| {
        let mut request = with(new);
        request["status"]["certificate"] = "other".into();
        assert_eq!(updated("certificatesigningrequests/approval", with(old), request), with(expected));
    };
    check(
        json!([]),
        json!([condition("Approved", "a", None, None)]),
        json!([condition("Approved", "a", Some(NOW), Some(NOW))]),
    );
    check(
        json!([condition("Approved", "a", Some(BEFORE), Some(BEFORE))]),
        json!([condition("Approved", "b", None, None)]),
        json!([condition("Approved", "b", Some(NOW), Some(BEFORE))]),
    );
    check(json!([]), json!([]), json!([]));
}

#[test]
fn status_write_cannot_change_decision() {
    let approved = condition("Approved", "a", Some(BEFORE), Some(BEFORE));
    let new = json!([condition("Failed", "f", None, None), condition("Approved", "b", None, None)]);
    let put = updated("certificatesigningrequests/status", with(json!([approved])), with(new));
    let expected = json!([condition("Failed", "f", Some(NOW), Some(NOW)), approved]);
    assert_eq!(put["status"]["conditions"], expected);
}

#[test]
fn decision_in_status_write_fails_validation() {
    let put = updated(
        "certificatesigningrequests/status",
        with(json!([])),
        with(json!([condition("Denied", "d", None, None)])),
    );
    assert_eq!(put["status"]["conditions"], json!([condition("Denied", "d", Some(NOW), Some(NOW))]));
}
