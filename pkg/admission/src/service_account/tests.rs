//! Tests of pods and their service accounts.
#![allow(clippy::unwrap_used)]

use jsontree::json;

use super::*;
use crate::testing::{Store, Write};

fn plugin(store: &Arc<Store>) -> ServiceAccount {
    ServiceAccount::new(Arc::clone(store) as _, Arc::clone(store) as _).unwrap()
}

fn account(name: &str, rest: Value) -> (&'static str, Value) {
    let mut account = json!({"metadata": {"name": name, "namespace": "ns"}});
    let members = account.as_object_mut().unwrap();
    for (key, value) in rest.as_object().unwrap() {
        match key.as_str() {
            "annotations" => {
                drop(members["metadata"].as_object_mut().unwrap().insert(key.clone(), value.clone()))
            }
            _ => drop(members.insert(key.clone(), value.clone())),
        }
    }
    ("serviceaccounts", account)
}

fn pod(spec: Value) -> Value {
    json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": spec})
}

#[test]
fn pod_without_account_gets_default_account() {
    let store = Store::of([account("default", json!({"imagePullSecrets": [{"name": "pull"}]}))]);
    let got = Write::default().mutated(&plugin(&store), pod(json!({"containers": [{"name": "c"}]}))).unwrap();
    let spec = &got["spec"];
    assert_eq!(
        (&spec["serviceAccountName"], &spec["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    assert_eq!(spec["imagePullSecrets"], json!([{"name": "pull"}]));
    let volume = &spec["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(name.starts_with("kube-api-access-") && name.len() == "kube-api-access-".len() + 5, "{name}");
    assert_eq!(volume["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"], 3607);
    assert_eq!(volume["projected"]["sources"].as_array().unwrap().len(), 3);
    let mount =
        json!({"name": name, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
    assert_eq!(spec["containers"][0]["volumeMounts"], json!([mount]));
}

#[test]
fn pod_then_account_can_disable_token_mount() {
    let check = |of_pod: Option<bool>, of_account: Option<bool>, expected: bool| {
        let rest = of_account.map_or(json!({}), |on| json!({"automountServiceAccountToken": on}));
        let store = Store::of([account("default", rest)]);
        let mut spec = json!({"containers": [{"name": "c"}]});
        if let Some(on) = of_pod {
            spec["automountServiceAccountToken"] = json!(on);
        }
        let got = Write::default().mutated(&plugin(&store), pod(spec)).unwrap();
        assert_eq!(got["spec"]["volumes"].is_array(), expected, "{of_pod:?} {of_account:?}");
    };
    check(None, None, true);
    check(None, Some(false), false);
    check(Some(true), Some(false), true);
    check(Some(false), Some(true), false);
}

#[test]
fn existing_mount_at_token_path_is_kept() {
    let store = Store::of([account("default", json!({}))]);
    let mount = json!({"name": "mine", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
    let spec = json!({"containers": [{"name": "c", "volumeMounts": [mount]}], "initContainers": [{"name": "i"}],
        "volumes": [{"name": "kube-api-access-own"}]});
    let got = Write::default().mutated(&plugin(&store), pod(spec)).unwrap();
    assert_eq!(got["spec"]["containers"][0]["volumeMounts"], json!([mount]));
    assert_eq!(got["spec"]["initContainers"][0]["volumeMounts"][0]["name"], "kube-api-access-own");
    assert_eq!(got["spec"]["volumes"].as_array().unwrap().len(), 1);
}

#[test]
fn missing_account_is_rejected_after_default_retries() {
    let check = |name: &str, pauses: usize| {
        let store = Store::of([]);
        let refused = Write::default().mutated(&plugin(&store), pod(json!({"serviceAccountName": name})));
        let expected = format!(
            "pods \"p\" is forbidden: error looking up service account ns/{name}: serviceaccount \"{name}\" not found"
        );
        assert_eq!(refused, Err(expected));
        assert_eq!(store.pauses.lock().unwrap().len(), pauses);
    };
    check("x", 0);
    check("default", 9);
}

#[test]
fn uncached_account_is_found() {
    let store = Store::of([]);
    let (plural, new) = account("x", json!({}));
    store.put_new(plural, new);
    assert!(Write::default().mutated(&plugin(&store), pod(json!({"serviceAccountName": "x"}))).is_ok());
}

#[test]
fn account_can_restrict_secrets() {
    let enforcing = json!({"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"},
        "secrets": [{"name": "listed"}], "imagePullSecrets": [{"name": "pull"}]});
    let store = Store::of([account("sa", enforcing)]);
    let check = |member: &str, value: Value, expected: Option<&str>| {
        let mut spec = json!({"serviceAccountName": "sa"});
        spec[member] = value;
        let got = Write::default().validated(&plugin(&store), pod(spec)).err();
        let expected = expected.map(|cause| {
            format!("pods \"p\" is forbidden: {cause} because service account sa does not reference that")
        });
        let got = got.map(|message| message.rsplit_once(' ').unwrap().0.to_owned());
        assert_eq!(got, expected);
    };
    check("volumes", json!([{"secret": {"secretName": "listed"}}]), None);
    let volume = json!([{"secret": {"secretName": "u"}}]);
    check("volumes", volume, Some("volume with secret.secretName=\"u\" is not allowed"));
    check("imagePullSecrets", json!([{"name": "pull"}]), None);
    check("imagePullSecrets", json!([{"name": "q"}]), Some("imagePullSecrets[0].name=\"q\" is not allowed"));
    let env = json!([{"name": "c", "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "u"}}}]}]);
    let env_message = "c with envVar E referencing secret.secretName=\"u\" is not allowed";
    check("containers", env.clone(), Some(&format!("container {env_message}")));
    check("initContainers", env, Some(&format!("init container {env_message}")));
    let env_from = json!([{"name": "c", "envFrom": [{"secretRef": {"name": "u"}}]}]);
    let env_from_message = "container c with envFrom referencing secret.secretName=\"u\" is not allowed";
    check("containers", env_from, Some(env_from_message));
}

#[test]
fn mirror_pod_cannot_reference_server_objects() {
    let store = Store::of([]);
    let check = |spec: Value, expected: Option<&str>| {
        let annotations = json!({"kubernetes.io/config.mirror": "x"});
        let pod = json!({"metadata": {"name": "m", "annotations": annotations}, "spec": spec});
        let expected = expected.map(|cause| format!("pods \"m\" is forbidden: a mirror pod may not {cause}"));
        assert_eq!(Write::default().mutated(&plugin(&store), pod).err(), expected);
    };
    check(json!({}), None);
    check(json!({"serviceAccountName": "a"}), Some("reference service accounts"));
    for volume in [
        json!({"secret": {"secretName": "s"}}),
        json!({"csi": {"nodePublishSecretRef": {"name": "s"}}}),
        json!({"projected": {"sources": [{"secret": {"name": "s"}}]}}),
    ] {
        check(json!({"volumes": [volume]}), Some("reference secrets"));
    }
    let token = json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}});
    check(json!({"volumes": [token]}), Some("use ServiceAccountToken volume projections"));
}
