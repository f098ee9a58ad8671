//! Tests of rejections, warnings and audit annotations.

use super::*;

const HEAD: &str =
    "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'pol' with binding 'bind' denied request: ";

fn one(spec: Value) -> PolicyDeps {
    validating(&[policy("pol", spec)], &[binding("bind", "pol", json!({}))])
}

fn rejection_of(spec: Value) -> String {
    let message = refusal(&one(spec), &pod(json!({"nodeName": "n"})));
    message.strip_prefix(HEAD).unwrap_or(&message).to_owned()
}

#[test]
fn message_falls_back_to_failed_expression() {
    let with = |more: Value| {
        let mut validation = json!({"expression": " object.spec.nodeName == 'x' "});
        merge(&mut validation, more);
        rejection_of(json!({"validations": [validation]}))
    };
    assert_eq!(with(json!({})), "failed expression: object.spec.nodeName == 'x'");
    assert_eq!(with(json!({"message": " no "})), "no");
    assert_eq!(with(json!({"message": "no", "messageExpression": "'on ' + object.spec.nodeName"})), "on n");
    assert_eq!(with(json!({"message": "no", "messageExpression": "' '"})), "no");
    assert_eq!(with(json!({"message": "no", "messageExpression": "'a\\nb'"})), "no");
    assert_eq!(with(json!({"message": "no", "messageExpression": "object.nothing"})), "no");
    let authorized = "authorizer.serviceAccount('a', 'b').path('/').check('get').reason()";
    assert_eq!(with(json!({"message": "no", "messageExpression": authorized})), "no");
}

#[test]
fn reason_sets_status_code() {
    let check = |reason: Value, expected: (&str, u16)| {
        let validation = json!({"expression": "false", "message": "no", "reason": reason});
        let status = validate(&one(json!({"validations": [validation]})), &pod(json!({}))).0.unwrap_err();
        assert_eq!((status.reason.as_str(), status.code), expected);
        let causes = &status.details.as_ref().unwrap().causes;
        let expected = "ValidatingAdmissionPolicy 'pol' with binding 'bind' denied request: no";
        assert_eq!(causes[0].message, expected);
    };
    check(Value::Null, ("Invalid", 422));
    check("Forbidden".into(), ("Forbidden", 403));
    check("Unauthorized".into(), ("Unauthorized", 401));
    check("RequestEntityTooLarge".into(), ("RequestEntityTooLarge", 413));
}

#[test]
fn errors_reject_unless_failures_are_ignored() {
    let error = "expression 'object.nothing == 1' resulted in error: no such key: nothing";
    let spec = json!({"validations": [{"expression": "object.nothing == 1"}]});
    assert_eq!(rejection_of(spec.clone()), error);
    let mut ignoring = spec;
    merge(&mut ignoring, json!({"failurePolicy": "Ignore"}));
    let registry = component_base::metrics::MetricsRegistry::default();
    let deps = PolicyDeps { metrics: Arc::new(PolicyMetrics::new(&registry)), ..one(ignoring) };
    assert_eq!(refusal(&deps, &pod(json!({}))), "");
    let page = registry.to_string();
    let labels =
        "enforcement_action=\"allow\",error_type=\"invalid_error\",policy=\"pol\",policy_binding=\"bind\"";
    let line = format!("apiserver_validating_admission_policy_check_total{{{labels}}} 1\n");
    assert!(page.contains(&line), "{page}");
    let wrong = rejection_of(json!({"validations": [{"expression": "nothing"}]}));
    assert!(
        wrong.starts_with("compilation error: compilation failed: ERROR: <input>:1:1: undeclared"),
        "{wrong}"
    );
}

#[test]
fn ignored_errors_are_weakened_decisions() {
    let check = |spec: Value, expected: Option<(WeakenedKind, &str)>| {
        for (policy, expected) in [("Ignore", expected), ("Fail", None)] {
            let mut spec = spec.clone();
            merge(&mut spec, json!({"failurePolicy": policy}));
            let deps = one(spec);
            let passes = refusal(&deps, &pod(json!({}))).is_empty();
            assert!(passes || expected.is_none(), "a rejection is not weakened");
            let expected = expected.map(|(kind, cause)| (kind, "pol".to_owned(), cause.to_owned()));
            assert_eq!(weakened(&deps), Vec::from_iter(expected), "{policy}");
        }
    };
    let error = "expression 'object.nothing == 1' resulted in error: no such key: nothing";
    let wrong = json!({"validations": [{"expression": "object.nothing == 1"}]});
    check(wrong, Some((WeakenedKind::PolicyFailOpen, error)));
    let conditions = json!([{"name": "a", "expression": "object.nothing == 1"}]);
    let skipped = json!({"matchConditions": conditions, "validations": [{"expression": "false"}]});
    check(skipped, Some((WeakenedKind::MatchConditionFailOpen, error)));
    check(json!({"validations": [{"expression": "true"}]}), None);
    check(json!({"validations": [{"expression": "false"}]}), None);
}

#[test]
fn misconfigured_policies_can_fail_open() {
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, "failurePolicy": "Ignore",
                      "validations": [{"expression": "false"}]});
    let binding = binding("bind", "pol", json!({"paramRef": {"name": "late"}}));
    let deps = validating(&[policy("pol", spec)], &[binding]);
    assert_eq!(refusal(&deps, &pod(json!({}))), "");
    let [(kind, name, cause)] = weakened(&deps).try_into().unwrap();
    assert_eq!((kind, &*name), (WeakenedKind::PolicyFailOpen, "pol"));
    assert!(cause.starts_with("failed to configure binding: "), "{cause}");
}

#[test]
fn conditions_come_first_and_may_use_variables() {
    let with = |conditions: Value| {
        rejection_of(json!({
            "variables": [{"name": "yes", "expression": "object.spec.nodeName == 'n'"}],
            "matchConditions": conditions, "validations": [{"expression": "false", "message": "no"}],
        }))
    };
    assert_eq!(with(json!([{"name": "a", "expression": "variables.yes"}])), "no");
    assert_eq!(with(json!([{"name": "a", "expression": "!variables.yes"}])), "");
    let error = "expression 'object.no' resulted in error: no such key: no";
    // A false condition takes precedence over a failed one.
    let two_conditions =
        json!([{"name": "a", "expression": "object.no == 1"}, {"name": "b", "expression": "false"}]);
    assert_eq!(with(two_conditions), "");
    assert_eq!(
        with(json!([{"name": "a", "expression": "object.no == 1"}])),
        error.replace("object.no", "object.no == 1")
    );
}

#[test]
fn variables_are_computed_once_and_charged() {
    let variables = json!([
        {"name": "a", "expression": "object.spec.nodeName"},
        {"name": "b", "expression": "variables.a + variables.a"},
        {"name": "bad", "expression": "object.nothing"},
    ]);
    let with = |expression: &str| {
        rejection_of(
            json!({"variables": variables, "validations": [{"expression": expression, "message": "no"}]}),
        )
    };
    assert_eq!(with("variables.b == 'nn'"), "");
    let error = "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: \
                 no such key: nothing";
    assert_eq!(with("variables.bad == 1"), error);
    let chain: Vec<Value> = (0..200)
        .map(|at: usize| {
            let before = if at == 0 { "true".to_owned() } else { format!("variables.v{}", at - 1) };
            json!({"name": format!("v{at}"), "expression": before})
        })
        .collect();
    let deep = json!({"variables": chain, "validations": [{"expression": "variables.v199"}]});
    assert!(rejection_of(deep).contains("refer to each other over more than 64 steps"));
}

#[test]
fn explicit_zero_fields_are_present() {
    let spec =
        json!({"validations": [{"expression": "has(object.status) && object.spec.containers == null"}]});
    assert_eq!(rejection_of(spec), "");
}

#[test]
fn namespace_and_authorizer_are_available() {
    let with = |expression: &str| {
        rejection_of(json!({"validations": [{"expression": expression, "message": "no"}]}))
    };
    assert_eq!(with("namespaceObject.metadata.labels.team == 'a'"), "");
    assert_eq!(with("authorizer.requestResource.check('use').allowed()"), "");
    assert_eq!(with("authorizer.requestResource.check('other').allowed()"), "no");
    assert_eq!(with("request.operation == 'CREATE' && request.kind.kind == 'Pod'"), "");
}

#[test]
fn binding_actions_apply() {
    let spec = json!({"validations": [{"expression": "true"}, {"expression": "false", "message": "<no>"}]});
    let actions = json!({"validationActions": ["Warn", "Audit"]});
    let deps = validating(&[policy("pol", spec)], &[binding("bind", "pol", actions)]);
    let (verdict, notes) = validate(&deps, &pod(json!({})));
    assert!(verdict.is_ok());
    let warning = "Validation failed for ValidatingAdmissionPolicy 'pol' with binding 'bind': <no>";
    assert_eq!(notes.warnings, [warning]);
    let annotation = &notes.annotations()[0];
    assert_eq!(annotation.key, "validation.policy.admission.k8s.io/validation_failure");
    let expected = r#"[{"message":"\u003cno\u003e","policy":"pol","binding":"bind","expressionIndex":1,"validationActions":["Warn","Audit"]}]"#;
    assert_eq!(annotation.value, expected);
}

#[test]
fn one_annotation_has_all_failures() {
    let validations: Vec<Value> =
        (0..30).map(|n| json!({"expression": "false", "message": n.to_string()})).collect();
    let spec = json!({"validations": validations});
    let audit = |name: &str| binding(name, "pol", json!({"validationActions": ["Audit"]}));
    let deps = validating(&[policy("pol", spec)], &[audit("one"), audit("two")]);
    let (_, notes) = validate(&deps, &pod(json!({})));
    assert_eq!(notes.annotations().len(), 1);
    let annotation = &notes.annotations()[0];
    let failures: Value = serde_json::from_str(&annotation.value).unwrap();
    let failures = failures.as_array().unwrap();
    assert_eq!(
        (failures.len(), &failures[29]["binding"], &failures[30]["binding"]),
        (50, &json!("one"), &json!("two"))
    );
}

#[test]
fn audit_annotations_of_all_bindings_are_joined() {
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "auditAnnotations": [
            {"key": "k", "valueExpression": "'most ' + params.data.most"},
            {"key": "none", "valueExpression": "null"},
        ],
    });
    let of = |name: &str| binding(name, "pol", json!({"paramRef": {"name": name}}));
    let bindings = [of("one"), of("two"), binding("again", "pol", json!({"paramRef": {"name": "two"}}))];
    let (verdict, notes) = validate(&validating(&[policy("pol", spec)], &bindings), &pod(json!({})));
    assert!(verdict.is_ok());
    let annotations: Vec<(&str, &str)> = notes.annotations().iter().map(|a| (&*a.key, &*a.value)).collect();
    assert_eq!(annotations, [("pol/k", "most 1, most 2")]);
}

#[test]
fn binding_selects_params_and_missing_action() {
    let with = |kind: &str, reference: Value| {
        let spec = json!({
            "paramKind": {"apiVersion": "v1", "kind": kind},
            "validations": [{"expression": "params == null", "messageExpression": "'most ' + params.data.most"}],
        });
        let binding = binding("bind", "pol", json!({"paramRef": reference}));
        let message = refusal(&validating(&[policy("pol", spec)], &[binding]), &pod(json!({})));
        message.strip_prefix(HEAD).unwrap_or(&message).to_owned()
    };
    assert_eq!(with("ConfigMap", json!({"name": "one"})), "most 1");
    assert_eq!(with("ConfigMap", Value::Null), "");
    assert_eq!(with("ConfigMap", json!({"name": "none"})), "");
    let missing =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert_eq!(with("ConfigMap", json!({"name": "none", "parameterNotFoundAction": "Deny"})), missing);
    assert_eq!(with("ConfigMap", json!({"name": "one", "namespace": "other"})), "");
    assert_eq!(with("ConfigMap", json!({"selector": {"matchLabels": {"is": "param"}}})), "most 1");
    assert_eq!(with("ConfigMap", json!({"selector": {"matchLabels": {"is": "not"}}})), "");
    let late = "failed to configure binding: paramKind kind `&ParamKind{APIVersion:v1,Kind:ConfigMap,}` not yet \
                synced to use for admission";
    assert_eq!(with("ConfigMap", json!({"name": "late"})), late);
    let unknown = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'pol' denied request: failed to configure \
                   policy: failed to find resource referenced by paramKind: '/v1, Kind=Nothing'";
    assert_eq!(with("Nothing", json!({"name": "one"})), unknown);
}

#[test]
fn bindings_match_by_selectors_and_rules() {
    let spec = || json!({"validations": [{"expression": "false", "message": "no"}]});
    let is_refused = |matches: Value| {
        let binding = binding("bind", "pol", json!({"matchResources": matches}));
        let mut pod = pod(json!({}));
        schema::object::set(&mut pod, &["metadata", "labels", "app"], "web");
        !refusal(&validating(&[policy("pol", spec())], &[binding]), &pod).is_empty()
    };
    let rule = |plural: &str, names: Value| {
        json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [plural],
               "resourceNames": names})
    };
    assert!(is_refused(json!({})));
    assert!(is_refused(json!({"namespaceSelector": {"matchLabels": {"team": "a"}}})));
    assert!(!is_refused(json!({"namespaceSelector": {"matchLabels": {"team": "b"}}})));
    assert!(is_refused(json!({"objectSelector": {"matchExpressions": [
        {"key": "app", "operator": "In", "values": ["x", "web"]}]}})));
    assert!(!is_refused(json!({"objectSelector": {"matchLabels": {"app": "x"}}})));
    assert!(!is_refused(
        json!({"objectSelector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}})
    ));
    assert!(is_refused(json!({"resourceRules": [rule("pods", json!([]))]})));
    assert!(!is_refused(json!({"resourceRules": [rule("services", json!([]))]})));
    assert!(is_refused(json!({"resourceRules": [rule("pods", json!(["p"]))]})));
    assert!(!is_refused(json!({"resourceRules": [rule("pods", json!(["q"]))]})));
    assert!(!is_refused(json!({"excludeResourceRules": [rule("pods", json!([]))]})));
    // A policy without bindings has no effect.
    let unbound = validating(&[policy("pol", spec())], &[binding("bind", "other", json!({}))]);
    assert!(!ValidatingAdmissionPolicy::new(unbound).handles(&Write::default().attributes("p")));
}

#[test]
fn exhausted_budget_ends_evaluation() {
    let list = (0..200).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    let costly = format!("[{list}].all(a, [{list}].all(b, a + b >= 0))");
    let validations: Vec<Value> = (0..60).map(|_| json!({"expression": costly})).collect();
    let expected =
        "validation failed due to running out of cost budget, no further validation rules will be run";
    assert_eq!(rejection_of(json!({"validations": validations})), expected);
}

#[test]
fn policies_and_reviews_are_exempt() {
    let deps = one(json!({"validations": [{"expression": "false"}]}));
    let plugin = ValidatingAdmissionPolicy::new(deps);
    let group = "admissionregistration.k8s.io";
    assert!(!plugin.handles(&Write::of(group, "v1", "validatingadmissionpolicies").attributes("p")));
    assert!(plugin.handles(&Write::of(group, "v1", "validatingwebhookconfigurations").attributes("p")));
    assert!(
        !plugin.handles(&Write::of("authorization.k8s.io", "v1", "subjectaccessreviews").attributes("p"))
    );
}

#[test]
fn requests_fail_until_policies_are_loaded() {
    let verdict = validate(&policy_deps(Fixed::default()), &pod(json!({}))).0;
    assert_eq!(verdict.unwrap_err().message, "pods \"p\" is forbidden: not yet ready to handle request");
}
