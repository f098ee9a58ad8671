//! Tests of ingresses.

use super::*;
use crate::validation::rules::Settings;
use jsontree::{Value, json};

fn ingress(spec: &Value) -> Object {
    let object = json!({"metadata": {"name": "i", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
    object.as_object().cloned().unwrap_or_default()
}

fn check(spec: Value, expected: &[&str]) {
    let errors = create(&ingress(&spec), &ValidationContext::default());
    assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{spec}");
}

fn route(host: &str, kind: Value, path: &str) -> Value {
    let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
    json!({"rules": [{"host": host, "http": {"paths": [{"path": path, "pathType": kind, "backend": backend}]}}]})
}

#[test]
fn paths_are_absolute_and_plain() {
    check(route("a.b", json!("Exact"), "/a"), &[]);
    check(route("a.b", json!("ImplementationSpecific"), ""), &[]);
    let path = "spec.rules[0].http.paths[0].path";
    check(route("a.b", json!("Prefix"), ""), &[path]);
    check(route("a.b", json!("Prefix"), "/a//b/./c/.."), &[path, path, path]);
    check(route("a.b", json!("ImplementationSpecific"), "a"), &[path]);
    check(route("a.b", Value::Null, "/"), &["spec.rules[0].http.paths[0].pathType"]);
    check(route("a.b", json!("x"), "a"), &["spec.rules[0].http.paths[0].pathType"]);
}

#[test]
fn hosts_are_names() {
    check(route("*.a.b", json!("Exact"), "/"), &[]);
    check(route("1.2.3.4", json!("Exact"), "/"), &["spec.rules[0].host"]);
    check(route("a.*", json!("Exact"), "/"), &["spec.rules[0].host"]);
    let mut tls = route("", json!("Exact"), "/");
    tls["tls"] = json!([{"hosts": ["*", "a"], "secretName": "A"}]);
    check(tls.clone(), &["spec.tls[0].hosts[0]", "spec.tls[0].secretName"]);
    // An existing bad name is allowed.
    let errors = update("", &ingress(&tls), &ingress(&tls), &ValidationContext::default());
    assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["spec.tls[0].hosts[0]"]);
}

#[test]
fn a_backend_is_a_service_or_a_resource() {
    let backend = |backend: Value| json!({"defaultBackend": backend});
    check(json!({}), &["spec"]);
    check(backend(json!({})), &["spec.defaultBackend"]);
    check(backend(json!({"resource": {"kind": "a", "name": "b"}})), &[]);
    check(
        backend(json!({"resource": {"kind": "a/b"}})),
        &["spec.defaultBackend.resource.kind", "spec.defaultBackend.resource.name"],
    );
    check(backend(json!({"resource": {}, "service": {}})), &["spec.defaultBackend"]);
    check(
        backend(json!({"service": {"name": "A"}})),
        &["spec.defaultBackend.service.name", "spec.defaultBackend"],
    );
    let port = json!({"service": {"name": "a", "port": {"number": 70000}}});
    check(backend(port), &["spec.defaultBackend.service.port.number"]);
    let port = json!({"service": {"name": "a", "port": {"number": 1, "name": "a"}}});
    check(backend(port), &["spec.defaultBackend"]);
}

#[test]
fn older_releases_need_letters_in_service_names() {
    let backend = |name: &str| json!({"defaultBackend": {"service": {"name": name, "port": {"number": 80}}}});
    let gates = Gates::default().with(Gate::RelaxedServiceNameValidation, false);
    let settings = Settings { gates, ..Settings::default() };
    let context = ValidationContext { settings, ..ValidationContext::default() };
    let digit = ingress(&backend("1a"));
    assert_eq!(create(&digit, &context).iter().count(), 1);
    assert_eq!(update("", &digit, &ingress(&backend("a")), &context).iter().count(), 1);
    assert_eq!(update("", &digit, &digit, &context).iter().count(), 0);
    check(backend("1a"), &[]);
}
