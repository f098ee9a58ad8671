//! Tests of webhooks and policies from manifests.
#![allow(clippy::unwrap_used)]

use std::fs;

use component_base::metrics::MetricsRegistry;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use jsontree::{Value, json};

use super::*;
use crate::process::Monitoring;

fn hook(name: &str, client: Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": client,
            "rules": [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}],
        }],
    })
}

fn by_url(name: &str) -> Value {
    hook(name, json!({"url": "https://localhost/a"}))
}

fn source(directory: &Path) -> Result<Arc<Source<ValidatingHooks>>, ConfigurationError> {
    watched_source(directory, &WeakenedDecisions::default())
}

fn watched_source(
    directory: &Path,
    weakened: &WeakenedDecisions,
) -> Result<Arc<Source<ValidatingHooks>>, ConfigurationError> {
    let monitoring = Monitoring { metrics: &MetricsRegistry::default(), weakened };
    Source::new(directory, Gates::default(), Arc::new(ManifestMetrics::new(monitoring))).map(Arc::new)
}

/// Returns true if a manifest with these objects is accepted, or the error.
fn accepts(objects: &[Value]) -> Result<bool, ConfigurationError> {
    let directory = tempfile::tempdir().unwrap();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    fs::write(directory.path().join("a.json"), list.to_string()).unwrap();
    source(directory.path()).map(|source| !source.current().0.is_empty())
}

#[test]
fn objects_in_lists_are_read() {
    assert!(accepts(&[by_url("a.static.k8s.io"), by_url("b.static.k8s.io")]).unwrap());
}

#[test]
fn manifests_with_api_dependencies_or_names_are_rejected() {
    let check = |objects: &[Value], why: &str| {
        let error = accepts(objects).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let service = json!({"service": {"namespace": "n", "name": "s"}});
    check(&[hook("a.static.k8s.io", service)], "clientConfig.service is not supported for static manifests");
    check(&[by_url("a")], ".static.k8s.io");
    check(&[by_url("a.static.k8s.io"), by_url("a.static.k8s.io")], "duplicate");
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
    check(&[pod], "no kind \"Pod\" is registered");
}

#[test]
fn invalid_reload_keeps_previous_manifests() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.yaml");
    fs::write(&file, by_url("a.static.k8s.io").to_string()).unwrap();
    let weakened = WeakenedDecisions::default();
    let source = watched_source(directory.path(), &weakened).unwrap();
    source.reload_if_changed();
    assert_eq!(weakened.recent(), []);
    fs::write(&file, "{").unwrap();
    source.reload_if_changed();
    source.reload_if_changed();
    assert!(!source.current().0.is_empty());
    assert_eq!(weakened.count(WeakenedKind::StaleConfiguration), 2);
    assert_eq!(weakened.recent()[0].name, directory.path().display().to_string());
    fs::remove_file(&file).unwrap();
    source.reload_if_changed();
    assert!(source.current().0.is_empty());
}
