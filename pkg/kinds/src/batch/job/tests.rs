//! Tests of Jobs: rejected values, with the paths and texts of the errors.

use super::*;
use crate::validation::rules::Settings;
use component_base::features::Gates;
use jsontree::{Value, json};

const UID: &str = "1234";

fn job(spec: Value) -> Object {
    let labels: Object = LABELS
        .iter()
        .map(|(label, member)| ((*label).to_owned(), if *member == "uid" { UID } else { "a" }.into()))
        .collect();
    let pod = json!({
        "restartPolicy": "Never", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
        "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}],
    });
    let mut all = json!({
        "parallelism": 1, "completions": 1, "completionMode": "NonIndexed", "suspend": false,
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    });
    if let (Some(all), Value::Object(spec)) = (all.as_object_mut(), spec) {
        all.extend(spec);
    }
    let meta = json!({"name": "a", "namespace": "ns", "uid": UID, "resourceVersion": "1"});
    Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), all)])
}

fn edited(mut job: Object, pointer: &str, value: Value) -> Object {
    if let Some(at) = job.get_mut("spec").and_then(|spec| spec.pointer_mut(pointer)) {
        *at = value;
    }
    job
}

fn texts_of(errors: &ErrorList) -> Vec<String> {
    errors.iter().map(Error::to_string).collect()
}

fn check(spec: Value, expected: &[&str]) {
    assert_eq!(texts_of(&create(&job(spec.clone()), &ValidationContext::default())), expected, "{spec}");
}

fn check_status(spec: Value, new: Value, old: Value, expected: &[&str]) {
    let with = |status: Value| {
        let mut job = job(spec.clone());
        job.insert("status", status);
        job
    };
    assert_eq!(
        texts_of(&update("status", &with(new.clone()), &with(old), &ValidationContext::default())),
        expected,
        "{new}"
    );
}

#[test]
fn generated_labels_and_selectors_are_required() {
    check(json!({}), &[]);
    let labels = "/template/metadata/labels";
    let wrong = edited(
        job(json!({})),
        labels,
        json!({"controller-uid": UID, "job-name": "b",
        "batch.kubernetes.io/controller-uid": UID}),
    );
    let path = "spec.template.metadata.labels";
    let shown =
        "{\"batch.kubernetes.io/controller-uid\":\"1234\",\"controller-uid\":\"1234\",\"job-name\":\"b\"}";
    let expected = [
        format!("{path}[job-name]: Invalid value: {shown}: must be 'a'"),
        format!("{path}[batch.kubernetes.io/job-name]: Required value: must be 'a'"),
    ];
    assert_eq!(texts_of(&create(&wrong, &ValidationContext::default())), expected);
    let manual = json!({"manualSelector": true, "selector": {"matchLabels": {"job-name": "a"}}});
    check(manual, &[]);
    let selector = json!({"matchLabels": {"app": "x"}});
    check(
        json!({"selector": selector}),
        &[
            "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"x\"}}: `selector` not auto-generated",
            "spec.template.metadata.labels: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"1234\",\
             \"batch.kubernetes.io/job-name\":\"a\",\"controller-uid\":\"1234\",\"job-name\":\"a\"}: `selector` does \
             not match template `labels`",
        ],
    );
}

#[test]
fn pods_of_jobs_end() {
    let path = "spec.template.spec.restartPolicy";
    let check = |policy: &str, spec: Value, expected: &[String]| {
        let job = edited(job(spec), "/template/spec/restartPolicy", policy.into());
        assert_eq!(texts_of(&create(&job, &ValidationContext::default())), expected, "{policy}");
    };
    check("OnFailure", json!({}), &[]);
    check("Always", json!({}), &[format!("{path}: Required value: valid values: \"OnFailure\", \"Never\"")]);
    let rules = json!({"podFailurePolicy": {"rules": [{"action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}});
    let detail = "only \"Never\" is supported when podFailurePolicy is specified";
    check("OnFailure", rules, &[format!("{path}: Invalid value: \"OnFailure\": {detail}")]);
}

#[test]
fn limits_per_index_need_indexes() {
    let needs = "Invalid value: 1: requires indexed completion mode";
    check(json!({"backoffLimitPerIndex": 1}), &[&format!("spec.backoffLimitPerIndex: {needs}")]);
    check(json!({"completionMode": "Indexed", "backoffLimitPerIndex": 1}), &[]);
    check(
        json!({"completionMode": "Indexed", "maxFailedIndexes": 2}),
        &[
            "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
            "spec.maxFailedIndexes: Invalid value: 2: must be less than or equal to completions",
        ],
    );
    check(
        json!({"completionMode": "Indexed", "backoffLimitPerIndex": 1, "completions": 100_001,
            "parallelism": 100_001}),
        &[
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 100000 when completion mode is \
             Indexed",
            "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
            "spec.parallelism: Invalid value: 100001: must be less than or equal to 10000 when completions are above \
             100000 and used with backoff limit per index",
        ],
    );
}

#[test]
fn managers_are_paths_under_a_domain() {
    let path = "spec.managedBy";
    check(json!({"managedBy": "acme.io/foo"}), &[]);
    check(json!({"managedBy": ""}), &[&format!("{path}: Required value")]);
    check(
        json!({"managedBy": "foo"}),
        &[&format!(
            "{path}: Invalid value: \"foo\": must be a domain-prefixed path (such as \"acme.io/foo\")"
        )],
    );
    let long = format!("acme.io/{}", "x".repeat(63));
    check(json!({"managedBy": long}), &[&format!("{path}: Too long: may not be more than 63 bytes")]);
    let regex = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
    check(json!({"managedBy": "acme.io/a b"}), &[&format!("{path}: Invalid value: \"a b\": {regex}")]);
}

#[test]
fn failure_rules_use_exit_codes_or_conditions() {
    let path = "spec.podFailurePolicy.rules[0]";
    let check_rule = |rule: Value, expected: &[String]| {
        let spec = json!({"podFailurePolicy": {"rules": [rule]}});
        assert_eq!(texts_of(&create(&job(spec.clone()), &ValidationContext::default())), expected, "{spec}");
    };
    let codes = |operator: &str, values: Value| {
        json!({"action": "Count",
        "onExitCodes": {"operator": operator, "values": values}})
    };
    check_rule(codes("In", json!([1, 2])), &[]);
    check_rule(
        json!({}),
        &[
            format!(
                "{path}.action: Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"
            ),
            format!("{path}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"),
        ],
    );
    let values = format!("{path}.onExitCodes.values");
    check_rule(
        codes("In", json!([2, 0, 2])),
        &[
            format!("{values}[1]: Invalid value: 0: must not be 0 for the In operator"),
            format!("{values}[2]: Duplicate value: 2"),
            format!("{values}: Invalid value: [2,0,2]: must be ordered"),
        ],
    );
    check_rule(
        codes("NotIn", Value::Null),
        &[format!("{values}: Invalid value: null: at least one value is required")],
    );
    let mut ambiguous = codes("In", json!([1]));
    ambiguous["onPodConditions"] = json!([{"type": "T", "status": "x"}]);
    ambiguous["action"] = "FailIndex".into();
    check_rule(
        ambiguous,
        &[
            format!(
                "{path}.action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set"
            ),
            format!(
                "{path}.onPodConditions[0].status: Unsupported value: \"x\": supported values: \"False\", \"True\", \
                 \"Unknown\""
            ),
            format!(
                "{path}: Invalid value: specifying both OnExitCodes and OnPodConditions is not supported"
            ),
        ],
    );
}

#[test]
fn success_policies_count_indexes() {
    let of = |rule: Value| json!({"completionMode": "Indexed", "completions": 4, "successPolicy": {"rules": [rule]}});
    let path = "spec.successPolicy.rules[0]";
    check(of(json!({"succeededIndexes": "0-2", "succeededCount": 3})), &[]);
    check(
        of(json!({})),
        &[&format!(
            "{path}: Required value: at least one of succeededCount or succeededIndexes must be specified"
        )],
    );
    check(
        of(json!({"succeededIndexes": "0-1", "succeededCount": 5})),
        &[
            &format!(
                "{path}.succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of \
                specified completions)"
            ),
            &format!(
                "{path}.succeededCount: Invalid value: 5: must be less than or equal to 2 (the number of indexes \
                in the specified succeededIndexes field)"
            ),
        ],
    );
    check(
        json!({"successPolicy": {"rules": [{"succeededCount": 1}]}}),
        &[
            "spec.successPolicy: Invalid value: {\"Rules\":[{\"SucceededIndexes\":null,\"SucceededCount\":1}]}: \
           requires indexed completion mode",
        ],
    );
}

#[test]
fn indexed_jobs_give_their_pods_host_names() {
    let name = "x".repeat(62);
    let mut job = job(json!({"completionMode": "Indexed", "manualSelector": true}));
    job.insert("metadata", json!({"name": name, "namespace": "ns"}));
    let detail = format!("will not able to create pod with invalid DNS label: {name}-0");
    assert_eq!(
        texts_of(&create(&job, &ValidationContext::default())),
        [format!("metadata.name: Invalid value: \"{name}\": {detail}")]
    );
}

#[test]
fn running_job_is_immutable() {
    let old = job(json!({}));
    let check = |new: Object, old: &Object, expected: &[&str]| {
        let fields: Vec<String> = update("", &new, old, &ValidationContext::default())
            .iter()
            .map(|error| error.to_string())
            .collect();
        let short: Vec<&str> = fields.iter().map(|text| text.split(": ").next().unwrap_or("")).collect();
        assert_eq!(short, expected, "{fields:?}");
    };
    check(job(json!({"parallelism": 5, "suspend": true})), &old, &[]);
    check(job(json!({"completions": 5})), &old, &["spec.completions"]);
    check(edited(old.clone(), "/template/spec/containers/0/image", "x".into()), &old, &["spec.template"]);
    let indexed = job(json!({"completionMode": "Indexed"}));
    check(job(json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3})), &indexed, &[]);
    check(job(json!({"completionMode": "Indexed", "completions": 3})), &indexed, &["spec.completions"]);
}

#[test]
fn a_suspended_job_may_move_and_grow() {
    let old = job(json!({"suspend": true}));
    let pod = |member: &str, value: Value| {
        let mut job = old.clone();
        if let Some(pod) = job.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/spec")) {
            pod[member] = value;
        }
        job
    };
    let requirement = json!({"matchExpressions": [{"key": "a", "operator": "Exists"}]});
    let node =
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [requirement]}});
    let moved = [
        pod("nodeSelector", json!({"a": "b"})),
        pod("affinity", json!({"nodeAffinity": node})),
        edited(
            old.clone(),
            "/template/spec/containers/0",
            json!({"name": "c", "image": "i",
            "imagePullPolicy": "Always", "terminationMessagePolicy": "File", "resources": {"limits": {"cpu": "1"}}}),
        ),
    ];
    for new in &moved {
        assert_eq!(texts_of(&update("", new, &old, &ValidationContext::default())), [""; 0]);
        assert_eq!(texts_of(&update("", &old, new, &ValidationContext::default())), [""; 0]);
    }
    let changed = update(
        "",
        &edited(old.clone(), "/template/spec/containers/0/image", "x".into()),
        &old,
        &ValidationContext::default(),
    );
    assert_eq!(changed.iter().map(Error::field).collect::<Vec<_>>(), ["spec.template.spec"]);
}

#[test]
fn gates_limit_changes_of_suspended_jobs() {
    let fields = |gate: Gate, pointer: &str, value: Value, old: &Object| {
        let mut context = ValidationContext::default();
        context.settings.gates = context.settings.gates.with(gate, false);
        let errors = update("", &edited(old.clone(), pointer, value), old, &context);
        errors.iter().map(|error| error.field().to_owned()).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    let scheduling = Gate::MutableSchedulingDirectivesForSuspendedJobs;
    let resources = Gate::MutablePodResourcesForSuspendedJobs;
    let mut suspended = job(json!({"suspend": true}));
    let gates = "/template/spec/schedulingGates";
    let cpu = "/template/spec/containers/0/resources";
    let limits = || json!({"limits": {"cpu": "1"}});
    if let Some(pod) = suspended.get_mut("spec").and_then(|spec| spec.pointer_mut("/template/spec")) {
        pod["schedulingGates"] = json!([]);
        pod["containers"][0]["resources"] = json!({});
    }
    assert_eq!(fields(scheduling, gates, json!([{"name": "a"}]), &suspended), none);
    assert_eq!(fields(resources, gates, json!([{"name": "a"}]), &suspended), none);
    assert_eq!(fields(resources, cpu, limits(), &suspended), ["spec.template"]);
    let status =
        json!({"startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "True"}]});
    suspended.insert("status", status);
    assert_eq!(fields(resources, gates, json!([{"name": "a"}]), &suspended), none);
    assert_eq!(fields(scheduling, gates, json!([{"name": "a"}]), &suspended), ["spec.template.spec"]);
    assert_eq!(fields(scheduling, cpu, limits(), &suspended), none);
}

fn conditions(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({"type": kind, "status": "True"})).collect()
}

#[test]
fn jobs_announce_their_end() {
    let start = "2026-01-01T00:00:00Z";
    let end = "2026-01-02T00:00:00Z";
    let done = json!({"startTime": start, "completionTime": end,
        "conditions": conditions(&["SuccessCriteriaMet", "Complete"])});
    check_status(json!({}), done.clone(), json!({"startTime": start}), &[]);
    let failed = json!({"startTime": start, "conditions": conditions(&["FailureTarget", "Failed"])});
    check_status(json!({}), failed, json!({"startTime": start}), &[]);
    check_status(
        json!({}),
        json!({"active": 1, "conditions": conditions(&["Complete"])}),
        json!({}),
        &[
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.conditions: Invalid value: cannot set Complete=True condition without the \
             SuccessCriteriaMet=true condition",
            "status.active: Invalid value: 1: active>0 is invalid for finished job",
            "status.startTime: Required value: startTime is required for finished job",
        ],
    );
    check_status(
        json!({}),
        json!({"startTime": start}),
        done,
        &[
            "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
        ],
    );
    check_status(
        json!({}),
        json!({"startTime": end, "completionTime": start}),
        json!({"startTime": start}),
        &[
            "status.completionTime: Invalid value: \"2026-01-01T00:00:00Z\": cannot set completionTime when there is \
             no Complete=True condition",
            "status.completionTime: Invalid value: \"2026-01-01T00:00:00Z\": must be equal to or after `startTime`",
            "status.startTime: Invalid value: \"2026-01-02T00:00:00Z\": field is immutable for unsuspended job once \
             set",
        ],
    );
}

#[test]
fn status_is_checked_less_without_other_managers() {
    let gates = Gates::default().with(Gate::JobManagedBy, false);
    let settings = Settings { gates, ..Settings::default() };
    let context = ValidationContext { settings, ..ValidationContext::default() };
    let with = |status: Value| {
        let mut job = job(json!({}));
        job.insert("status", status);
        job
    };
    let texts = |new: Value, old: Value| texts_of(&update("status", &with(new), &with(old), &context));
    let none: [&str; 0] = [];
    let end = json!({"active": 1, "conditions": conditions(&["Complete"])});
    assert_eq!(texts(end.clone(), json!({"failed": 2})), none);
    assert_eq!(texts(json!({}), end), none);
    assert_eq!(
        texts(json!({"active": -1}), json!({"conditions": conditions(&["SuccessCriteriaMet"])})),
        [
            "status.active: Invalid value: -1: must be greater than or equal to 0",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
        ]
    );
}

#[test]
fn existing_status_errors_are_allowed() {
    let wrong = json!({"conditions": conditions(&["Complete"]), "completedIndexes": "x", "active": 1});
    check_status(json!({}), wrong.clone(), wrong, &[]);
}

#[test]
fn counters_and_indexes_fit_the_job() {
    check_status(
        json!({}),
        json!({"failed": 1, "succeeded": 0, "ready": 1, "completedIndexes": "0"}),
        json!({"failed": 2, "succeeded": 1}),
        &[
            "status.completedIndexes: Invalid value: \"0\": cannot set non-empty completedIndexes when non-indexed \
             completion mode",
            "status.ready: Invalid value: 1: cannot set more ready pods than active",
            "status.failed: Invalid value: 1: cannot decrease the failed counter",
            "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
        ],
    );
    let spec = json!({"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1});
    check_status(
        spec,
        json!({"completedIndexes": "0-1,x", "failedIndexes": "1"}),
        json!({}),
        &[
            "status.completedIndexes: Invalid value: \"0-1,x\": error parsing completedIndexes: cannot convert \
             string to integer for index: \"x\"",
            "status.failedIndexes: Invalid value: \"1\": failedIndexes and completedIndexes overlap at index: 1",
        ],
    );
    let pods = json!({"succeeded": ["a", ""], "failed": ["a"]});
    check_status(
        json!({}),
        json!({"uncountedTerminatedPods": pods}),
        json!({}),
        &[
            "status.uncountedTerminatedPods.succeeded[1]: Invalid value: \"\": must not be empty",
            "status.uncountedTerminatedPods.failed[0]: Duplicate value: \"a\"",
        ],
    );
}
