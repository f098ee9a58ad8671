//! Tests of validating webhooks. Most also apply to mutating ones.

use super::*;

fn validate(world: &Arc<World>, write: &Write) -> Result<AdmissionNotes, Box<Status>> {
    let plugin = Box::new(ValidatingAdmissionWebhook::new(world.webhooks()));
    world.admit(write, pod(), vec![plugin]).map(|(_, notes)| notes)
}

/// Runs one webhook at `a` with the fields `more`. Returns the called webhooks, or code and message of the
/// rejection.
fn with_one(
    response: Result<Value, ReviewCallError>,
    more: Value,
    write: &Write,
) -> Result<Vec<String>, (u16, String)> {
    let world = Arc::new(World::default());
    world.configure(&[("a", more)]);
    world.set_responses("a", [response]);
    match validate(&world, write) {
        Ok(_) => Ok(world.called_urls()),
        Err(status) => Err((status.code, status.message)),
    }
}

fn refusal(code: u16, text: &str) -> Result<Vec<String>, (u16, String)> {
    Err((code, text.to_owned()))
}

#[test]
fn review_contains_all_request_fields() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({}))]);
    world.set_responses("a", [allowed(json!({}))]);
    validate(&world, &Write { dry_run: true, ..Write::default() }).unwrap();
    let (_, question) = world.calls.lock().unwrap().remove(0);
    let expected = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "u-1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "requestResource": {"group": "", "version": "v1", "resource": "pods"},
            "name": "p", "namespace": "ns", "operation": "CREATE",
            "userInfo": {"username": ""},
            "object": pod(), "oldObject": null, "dryRun": true,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]},
        },
    });
    assert_eq!(question, expected);
}

#[test]
fn rejection_has_code_and_message_of_webhook() {
    let check = |status: Value, code: u16, text: &str| {
        let text = format!("admission webhook \"a\" denied the request{text}");
        assert_eq!(with_one(denied(status), json!({}), &Write::default()), refusal(code, &text));
    };
    check(json!({"code": 418, "message": "teapot"}), 418, ": teapot");
    check(json!({"reason": "Because"}), 400, ": Because");
    check(json!({"code": 200, "message": "fine"}), 400, ": fine");
    check(Value::Null, 400, " without explanation");
}

#[test]
fn failure_policy_decides_on_failed_call() {
    let text = "failed calling webhook \"a\": failed to call webhook: connection refused";
    let check = |policy: Value, expected| assert_eq!(with_one(broken(), policy, &Write::default()), expected);
    check(json!({"failurePolicy": "Fail"}), refusal(500, &format!("Internal error occurred: {text}")));
    check(json!({}), refusal(500, &format!("Internal error occurred: {text}")));
    check(json!({"failurePolicy": "Ignore"}), Ok(vec!["a".to_owned()]));
}

#[test]
fn failure_policy_decides_on_unencodable_object() {
    let check = |policy: &str, error: schema::patch::Error, expected: Result<(), (u16, &str)>| {
        let world = Arc::new(World::default());
        world.configure(&[("a", json!({"failurePolicy": policy}))]);
        *world.unencodable.lock().unwrap() = Some(error);
        let judged = validate(&world, &Write::default()).map(drop);
        let expected = expected.map_err(|(code, text)| (code, text.to_owned()));
        assert_eq!(judged.map_err(|status| (status.code, status.message)), expected, "{policy}");
    };
    let no_json = || schema::patch::Error::Failed("no JSON".to_owned());
    let failed = "Internal error occurred: failed calling webhook \"a\": failed to call webhook: no JSON";
    check("Fail", no_json(), Err((500, failed)));
    check("Ignore", no_json(), Ok(()));
    let deep = || schema::patch::Error::DoesNotApply("too deep".to_owned());
    check("Fail", deep(), Err((400, "too deep")));
    check("Ignore", deep(), Err((400, "too deep")));
}

#[test]
fn weakened_decisions_have_kind_and_cause() {
    let check =
        |response: Result<Value, ReviewCallError>, more: Value, expected: Option<(WeakenedKind, &str)>| {
            let world = Arc::new(World::default());
            world.configure(&[("a", more)]);
            world.set_responses("a", [response]);
            let passes = validate(&world, &Write::default()).is_ok();
            let expected = expected.map(|(kind, cause)| (kind, "a".to_owned(), cause.to_owned()));
            assert!(passes || expected.is_none(), "a rejection is not weakened");
            assert_eq!(world.weakened(), Vec::from_iter(expected));
        };
    let with = |policy: &str, condition: &str| json!({"failurePolicy": policy, "matchConditions": [{"name": "n", "expression": condition}]});
    let call = WeakenedKind::WebhookFailOpen;
    let down = "failed to call webhook: connection refused";
    check(broken(), with("Ignore", "true"), Some((call, down)));
    check(broken(), with("Fail", "true"), None);
    let wrong = "received invalid webhook response: expected response.uid=\"u-1\", got \"other\"";
    check(allowed(json!({"uid": "other"})), with("Ignore", "true"), Some((call, wrong)));
    check(allowed(json!({})), with("Ignore", "true"), None);
    check(denied(json!({})), with("Ignore", "true"), None);
    let condition = "expression 'object.nope == 1' resulted in error: no such key: nope";
    let skipped = Some((WeakenedKind::MatchConditionFailOpen, condition));
    check(denied(json!({})), with("Ignore", "object.nope == 1"), skipped);
    check(denied(json!({})), with("Fail", "object.nope == 1"), None);
    check(denied(json!({})), with("Ignore", "false"), None);
}

#[test]
fn invalid_response_counts_as_failure() {
    let check = |response: Value, why: &str| {
        let text = format!(
            "Internal error occurred: failed calling webhook \"a\": received invalid webhook response: {why}"
        );
        assert_eq!(with_one(allowed(response), json!({}), &Write::default()), refusal(500, &text));
    };
    check(json!({"uid": "other"}), "expected response.uid=\"u-1\", got \"other\"");
    check(
        json!({"patch": "W10=", "patchType": "JSONPatch"}),
        "validating webhook may not return response.patch",
    );
    check(json!({"patchType": "JSONPatch"}), "validating webhook may not return response.patchType");
}

#[test]
fn side_effects_reject_dry_run() {
    let dry = Write { dry_run: true, ..Write::default() };
    let refused = refusal(400, "admission webhook \"a\" does not support dry run");
    let check = |side_effects: &str, write: &Write, expected| {
        let more = json!({"sideEffects": side_effects});
        assert_eq!(with_one(allowed(json!({})), more, write), expected, "{side_effects}");
    };
    let called = || Ok(vec!["a".to_owned()]);
    check("None", &dry, called());
    check("NoneOnDryRun", &dry, called());
    check("Some", &dry, refused.clone());
    check("Unknown", &dry, refused);
    check("Some", &Write::default(), called());
}

#[test]
fn only_matching_webhooks_are_called() {
    let check = |more: Value, expected: bool| {
        let called = with_one(allowed(json!({})), more.clone(), &Write::default()).unwrap();
        assert_eq!(!called.is_empty(), expected, "{more}");
    };
    let rule = |operation: &str, resource: &str| json!({"rules": [{"operations": [operation], "apiGroups": [""], "apiVersions": ["v1"], "resources": [resource]}]});
    check(rule("CREATE", "pods"), true);
    check(rule("UPDATE", "pods"), false);
    check(rule("CREATE", "services"), false);
    check(rule("CREATE", "pods/status"), false);
    let labels = |which: &str, value: &str| json!({which: {"matchLabels": {"env": value}}});
    check(labels("namespaceSelector", "test"), true);
    check(labels("namespaceSelector", "other"), false);
    check(labels("objectSelector", "test"), false);
    let condition = |text: &str| json!({"matchConditions": [{"name": "n", "expression": text}]});
    check(condition("object.metadata.name == 'p'"), true);
    check(condition("request.operation == 'UPDATE'"), false);
    check(condition("authorizer.group('').resource('pods').check('get').allowed()"), true);
}

#[test]
fn failed_condition_yields_to_false_one() {
    let conditions = |texts: &[&str], policy: &str| {
        let conditions: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| json!({"name": n.to_string(), "expression": text}))
            .collect();
        json!({"matchConditions": conditions, "failurePolicy": policy})
    };
    let check = |texts: &[&str], policy: &str, expected| {
        assert_eq!(
            with_one(allowed(json!({})), conditions(texts, policy), &Write::default()),
            expected,
            "{texts:?}"
        );
    };
    let wrong = "object.nope == 1";
    let text = "pods \"p\" is forbidden: expression 'object.nope == 1' resulted in error: no such key: nope";
    check(&[wrong], "Fail", refusal(403, text));
    check(&[wrong], "Ignore", Ok(Vec::new()));
    check(&[wrong, "false"], "Fail", Ok(Vec::new()));
}

#[test]
fn warnings_and_annotations_survive_rejection() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({})), ("b", json!({"failurePolicy": "Ignore"}))]);
    world.set_responses("a", [allowed(json!({"warnings": ["careful"], "auditAnnotations": {"k": "v"}}))]);
    world.set_responses("b", [broken()]);
    let notes = validate(&world, &Write::default()).unwrap();
    assert_eq!(notes.warnings, ["careful"]);
    let annotations: Vec<(&str, &str)> =
        notes.annotations().iter().map(|annotation| (&*annotation.key, &*annotation.value)).collect();
    let open = "failed-open.validating.webhook.admission.k8s.io/round_0_index_1";
    assert_eq!(annotations, [("a/k", "v"), (open, "b")]);
}

#[test]
fn first_rejection_in_order_counts() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({})), ("b", json!({})), ("c", json!({}))]);
    world.set_responses("a", [allowed(json!({}))]);
    world.set_responses("b", [denied(json!({"message": "b"}))]);
    world.set_responses("c", [denied(json!({"message": "c"}))]);
    let status = validate(&world, &Write::default()).unwrap_err();
    assert_eq!(status.message, "admission webhook \"b\" denied the request: b");
    assert_eq!(world.called_urls(), ["a", "b", "c"]);
}

#[test]
fn equivalent_rules_see_converted_objects() {
    let check = |policy: &str, expected: Option<&str>| {
        let world = Arc::new(World::default());
        let rules = json!([{"operations": ["*"], "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "resources": ["*"]}]);
        world.configure(&[
            ("a", json!({"rules": rules.clone(), "matchPolicy": policy})),
            ("b", json!({"rules": rules, "matchPolicy": policy})),
        ]);
        world.set_responses("a", [allowed(json!({}))]);
        world.set_responses("b", [allowed(json!({}))]);
        let plugin = Box::new(ValidatingAdmissionWebhook::new(world.webhooks()));
        let hpa = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}});
        world.admit(&Write::of("autoscaling", "v1", "horizontalpodautoscalers"), hpa, vec![plugin]).unwrap();
        let calls = world.calls.lock().unwrap();
        let seen = calls.first().map(|(_, question)| question["request"]["object"]["apiVersion"].clone());
        assert_eq!(seen, expected.map(Value::from), "{policy}");
        if let Some((_, question)) = calls.first() {
            assert_eq!(question["request"]["kind"]["version"], "v2");
            assert_eq!(question["request"]["requestKind"]["version"], "v1");
        }
    };
    check("Equivalent", Some("autoscaling/v2"));
    check("Exact", None);
}

#[test]
fn requests_fail_until_configurations_are_loaded() {
    let world = Arc::new(World::default());
    let status = validate(&world, &Write::default()).unwrap_err();
    assert_eq!(
        (status.code, &*status.message),
        (403, "pods \"p\" is forbidden: not yet ready to handle request")
    );
}

#[test]
fn webhook_configurations_are_exempt() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({}))]);
    let plugin = ValidatingAdmissionWebhook::new(world.webhooks());
    let of = |plural| Write::of("admissionregistration.k8s.io", "v1", plural);
    assert!(!of("validatingwebhookconfigurations").reaches(&plugin));
    assert!(!of("mutatingwebhookconfigurations").reaches(&plugin));
    assert!(!of("validatingadmissionpolicies").reaches(&plugin));
    assert!(Write::of("", "v1", "pods").reaches(&plugin));
}

#[test]
fn reviews_reach_no_webhook() {
    let world = Arc::new(World::default());
    world.configure(&[("a", json!({}))]);
    let check = |excludes_reviews: bool, group: &'static str, plural: &'static str, expected: bool| {
        let plugin = ValidatingAdmissionWebhook::new(Webhooks { excludes_reviews, ..world.webhooks() });
        assert_eq!(Write::of(group, "v1", plural).reaches(&plugin), expected, "{plural}");
    };
    check(true, "authentication.k8s.io", "tokenreviews", false);
    check(false, "authentication.k8s.io", "tokenreviews", true);
    check(true, "authorization.k8s.io", "subjectaccessreviews", false);
    check(true, "", "pods", true);
}
