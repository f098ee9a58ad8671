//! Tests of mutating policies.

use apimachinery::status::Reason;

use super::*;

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

fn mutate(deps: &PolicyDeps, pod: &mut Object, notes: &mut AdmissionNotes) -> Verdict {
    let write = Write::default();
    let plugin = MutatingAdmissionPolicy::new(deps.clone());
    let a = write.attributes("p");
    assert!(plugin.handles(&a));
    plugin.mutate(&a, Some(pod), notes).now_or_never().unwrap()
}

fn bound(spec: Value) -> PolicyDeps {
    mutating(&[policy("pol", spec)], &[binding("bind", "pol", json!({}))])
}

/// Returns the spec of a pod after mutations, or the rejection.
fn changed(mutations: &[Value]) -> Result<Value, Box<Status>> {
    let containers = json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]);
    let mut pod = pod(json!({"nodeName": "n", "containers": containers}));
    let deps = bound(json!({"mutations": mutations, "reinvocationPolicy": "Never"}));
    mutate(&deps, &mut pod, &mut AdmissionNotes::default())?;
    Ok(pod["spec"].clone())
}

fn rejection_of(mutation: Value) -> String {
    let status = changed(&[mutation]).unwrap_err();
    assert_eq!((&status.reason, status.code), (&Reason::Invalid, 403));
    assert_eq!(status.details.as_ref().unwrap().causes[0].message, status.message);
    let head = "policy 'pol' with binding 'bind' denied request: ";
    status.message.strip_prefix(head).unwrap_or(&status.message).to_owned()
}

#[test]
fn apply_configurations_merge_by_schema() {
    let expression = "Object{spec: Object.spec{priority: 7, containers: [Object.spec.containers{name: 'b', \
                      image: object.spec.containers[0].image + 'x'}]}}";
    let spec = changed(&[apply(expression)]).unwrap();
    assert_eq!(spec["priority"], 7);
    assert_eq!(spec["nodeName"], "n");
    let images: Vec<&Value> = spec["containers"].as_array().unwrap().iter().map(|c| &c["image"]).collect();
    assert_eq!(images, ["a:1", "a:1x"]);
}

#[test]
fn mutations_see_earlier_changes() {
    let first = apply("Object{spec: Object.spec{priority: 7}}");
    let second =
        patch("[JSONPatch{op: 'add', path: '/spec/hostname', value: 'h' + string(object.spec.priority)}]");
    assert_eq!(changed(&[first, second]).unwrap()["hostname"], "h7");
}

#[test]
fn failed_test_operation_changes_nothing() {
    let test = "[JSONPatch{op: 'test', path: '/spec/nodeName', value: 'm'}, \
                JSONPatch{op: 'remove', path: '/spec/nodeName'}]";
    assert_eq!(changed(&[patch(test)]).unwrap()["nodeName"], "n");
    let expression = "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'a': 'b'}}, \
                      JSONPatch{op: 'move', from: '/spec/nodeName', path: '/spec/hostname'}]";
    let spec = changed(&[patch(expression)]).unwrap();
    assert_eq!((&spec["nodeSelector"], &spec["hostname"]), (&json!({"a": "b"}), &json!("n")));
    assert_eq!(spec.get("nodeName"), None);
}

#[test]
fn mutation_errors_have_messages() {
    let atomic = "Object{spec: Object.spec{securityContext: Object.spec.securityContext{sysctls: []}}}";
    let expected = "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
                    .spec.securityContext.sysctls";
    assert_eq!(rejection_of(apply(atomic)), expected);
    let expected = "error applying patch: failed to convert patch object to typed object: .spec.nothing: field not \
                    declared in schema";
    assert_eq!(rejection_of(apply("Object{spec: Object.spec{nothing: 1}}")), expected);
    let expected = "type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", which matches \
                    field name path from root Object type";
    assert_eq!(rejection_of(apply("Object{spec: Object.wrong{}}")), expected);
    let remove = "[JSONPatch{op: 'remove', path: '/spec/nothing'}]";
    let expected = "JSON Patch: error in remove for path: '/spec/nothing': Unable to remove nonexistent key: nothing: \
                    missing value";
    assert_eq!(rejection_of(patch(remove)), expected);
    assert_eq!(
        rejection_of(apply("Object{spec: object.nothing}")),
        "expression 'Object{spec: object.nothing}' resulted in error: no such key: nothing"
    );
    assert!(rejection_of(apply("1")).starts_with("must evaluate to Object but got int"));
}

#[test]
fn invalid_patched_object_fails_request() {
    let unknown = "[JSONPatch{op: 'add', path: '/spec/nothing', value: 1}]";
    let status = changed(&[patch(unknown)]).unwrap_err();
    assert_eq!(status.code, 500);
    let expected = "Internal error occurred: strict decoding error: unknown field \"spec.nothing\"";
    assert_eq!(status.message, expected);
}

#[test]
fn mutation_triggers_reinvocation() {
    let spec = |reinvocation: &str, expression: &str| json!({"mutations": [patch(expression)], "reinvocationPolicy": reinvocation});
    let longer = "[JSONPatch{op: 'add', path: '/spec/hostname', value: (has(object.spec.hostname) ? \
                  object.spec.hostname : '') + 'x'}]";
    let subdomain = longer.replace("hostname", "subdomain");
    let policies = [policy("a", spec("IfNeeded", longer)), policy("b", spec("Never", &subdomain))];
    let bindings = [binding("bind", "a", json!({})), binding("bind", "b", json!({}))];
    let deps = mutating(&policies, &bindings);
    let mut pod = pod(json!({}));
    let mut notes = AdmissionNotes::default();
    mutate(&deps, &mut pod, &mut notes).unwrap();
    assert!(notes.start_reinvocation());
    mutate(&deps, &mut pod, &mut notes).unwrap();
    assert!(!notes.start_reinvocation());
    assert_eq!((&pod["spec"]["hostname"], &pod["spec"]["subdomain"]), (&json!("xx"), &json!("x")));
}

#[test]
fn ignored_failures_change_nothing() {
    let spec = json!({"mutations": [apply("Object{spec: object.nothing}")], "failurePolicy": "Ignore"});
    let mut pod = pod(json!({}));
    let mut notes = AdmissionNotes::default();
    let before = pod.clone();
    let deps = bound(spec);
    assert!(mutate(&deps, &mut pod, &mut notes).is_ok());
    assert_eq!(pod, before);
    let [(kind, name, cause)] = weakened(&deps).try_into().unwrap();
    assert_eq!((kind, &*name), (WeakenedKind::PolicyFailOpen, "pol"));
    assert!(cause.contains("no such key: nothing"), "{cause}");
    assert!(!notes.start_reinvocation());
}

#[test]
fn params_reach_mutations() {
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "variables": [{"name": "most", "expression": "params.data.most"}],
        "mutations": [apply("Object{spec: Object.spec{priority: int(variables.most)}}")],
    });
    let binding = binding("bind", "pol", json!({"paramRef": {"name": "two"}}));
    let mut pod = pod(json!({}));
    mutate(&mutating(&[policy("pol", spec)], &[binding]), &mut pod, &mut AdmissionNotes::default()).unwrap();
    assert_eq!(pod["spec"]["priority"], 2);
}

#[test]
fn expanding_values_are_rejected() {
    let variable = |at: usize| {
        let before = format!("variables.v{}", at.saturating_sub(1));
        let expression = if at == 0 { "'text'".to_owned() } else { format!("[{before}, {before}]") };
        json!({"name": format!("v{at}"), "expression": expression})
    };
    let variables: Vec<Value> = (0..=24).map(variable).collect();
    let spec =
        json!({"variables": variables, "mutations": [apply("Object{spec: Object.spec{a: variables.v24}}")]});
    let status = mutate(&bound(spec), &mut pod(json!({})), &mut AdmissionNotes::default()).unwrap_err();
    let expected = "policy 'pol' with binding 'bind' denied request: the value is too large";
    assert_eq!(status.message, expected);
}
