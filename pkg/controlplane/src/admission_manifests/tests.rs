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

#[test]
fn reloads_are_counted_by_status() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.yaml");
    let write = |manifest: &str| fs::write(&file, manifest).unwrap();
    let metrics = MetricsRegistry::default();
    let weakened = WeakenedDecisions::default();
    let monitoring = Monitoring { metrics: &metrics, weakened: &weakened };
    let counters = Arc::new(ManifestMetrics::new(monitoring));
    write(&by_url("a.static.k8s.io").to_string());
    let source = Source::<ValidatingHooks>::new(directory.path(), Gates::default(), counters).unwrap();
    // Values of the series of this plugin, with their last label.
    let series = |name: &str| {
        let page = metrics.to_string();
        let prefix = format!("apiserver_manifest_admission_config_controller_{name}{{");
        let lines = page.lines().filter(|line| line.starts_with(&prefix));
        lines.map(|line| line.rsplit_once("plugin=").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    let plugin = "\"ValidatingAdmissionWebhook\"";
    let hash = || metrics.to_string().split(",hash=\"sha256:").nth(1).map(|hash| hash[..64].to_owned());
    let first = hash().unwrap();
    assert_eq!(series("automatic_reloads_total"), [format!("{plugin},status=\"success\"}} 1")]);
    write("{");
    source.reload_if_changed();
    assert_eq!(
        series("automatic_reloads_total"),
        [format!("{plugin},status=\"failure\"}} 1"), format!("{plugin},status=\"success\"}} 1")]
    );
    assert_eq!(hash(), Some(first.clone()));
    write(&by_url("b.static.k8s.io").to_string());
    source.reload_if_changed();
    source.reload_if_changed();
    assert_eq!(series("automatic_reloads_total")[1], format!("{plugin},status=\"success\"}} 2"));
    assert_eq!(series("last_config_info"), [format!("{plugin}}} 1")]);
    assert_ne!(hash(), Some(first));
}

#[tokio::test(start_paused = true)]
async fn changed_files_become_active_while_running() {
    let directory = tempfile::tempdir().unwrap();
    let source = source(directory.path()).unwrap();
    let watching = tokio::spawn(Arc::clone(&source).run());
    let until = async |loaded: bool| {
        let changed = async {
            while source.current().0.is_empty() == loaded {
                sleep(CHECK_INTERVAL).await;
            }
        };
        tokio::time::timeout(RELOAD_INTERVAL * 2, changed).await.unwrap();
    };
    let file = directory.path().join("a.yaml");
    fs::write(&file, by_url("a.static.k8s.io").to_string()).unwrap();
    until(true).await;
    fs::remove_file(&file).unwrap();
    until(false).await;
    watching.abort();
}
