//! Manifests: kubeadm's, and the base for replicas.

use std::collections::BTreeSet;

use schema::patch::json_patch::JsonPatch;
use serde_json::Value;

use super::host::SimulatedHost;
use e2e::tools;

/// Written by kubeadm v1.36: `kubeadm init phase control-plane apiserver --dry-run`.
const KUBEADM: &str = include_str!("kube-apiserver.kubeadm.yaml");

/// Returns the first document of a YAML text.
fn yaml(text: &str) -> Value {
    serde_json::from_slice(&schema::yaml::to_json(text.as_bytes()).unwrap().json).unwrap()
}

/// Returns the flags of a pod's first container.
fn flags(pod: &Value) -> Vec<String> {
    let command = pod["spec"]["containers"][0]["command"].as_array().unwrap();
    let words: Vec<&str> = command.iter().map(|word| word.as_str().unwrap()).collect();
    let (program, flags) = words.split_first().unwrap();
    assert_eq!(*program, "kube-apiserver");
    flags.iter().map(|flag| flag.replace("$(POD_IP)", "10.0.0.10")).collect()
}

/// Returns kubeadm's flags.
pub(crate) fn kubeadm_flags() -> Vec<String> {
    flags(&yaml(KUBEADM))
}

/// Returns the paths of a container's probes.
fn probes(pod: &Value) -> Vec<&str> {
    let container = &pod["spec"]["containers"][0];
    let kinds = ["startupProbe", "readinessProbe", "livenessProbe"];
    kinds.iter().map(|kind| container[*kind]["httpGet"]["path"].as_str().unwrap()).collect()
}

#[test]
fn kubeadm_manifest_runs_unchanged() {
    let host = SimulatedHost::new();
    let pod = yaml(KUBEADM);
    let server = host.run(&flags(&pod));
    for path in probes(&pod) {
        assert_eq!(server.probe(path), "ok", "{path}");
    }
    let kubectl = server.kubectl();
    assert!(kubectl.ok("get --raw /livez?verbose").contains("[+]etcd ok"));
    kubectl.ok("create serviceaccount robot");
    // Issued and verified with the keys in kubeadm's layout.
    let token = kubectl.ok("create token robot");
    let reviewed = kubectl.ok_with(
        "create -o jsonpath={.status.user.username} -f -",
        &serde_json::json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token.trim()},
        })
        .to_string(),
    );
    assert_eq!(reviewed, "system:serviceaccount:default:robot");
}

#[test]
fn kubeadm_patches_match_its_container() {
    let pod = yaml(KUBEADM);
    for path in ["kubeadm", "kind"].map(|name| format!("deploy/{name}/patches/kube-apiserver+merge.yaml")) {
        let merge = yaml(&std::fs::read_to_string(tools::root().join(path)).unwrap());
        assert_eq!(merge["metadata"]["name"], pod["metadata"]["name"]);
        assert_eq!(merge["spec"]["securityContext"]["runAsUser"], 0);
    }
    let patch = tools::root().join("deploy/kubeadm/patches/kube-apiserver+json.yaml");
    let patch = yaml(&std::fs::read_to_string(patch).unwrap());
    for operation in patch.as_array().unwrap() {
        // An "add" at an existing path would replace kubeadm's value.
        let place = operation["path"].as_str().unwrap();
        let exists = pod.pointer(place).is_some();
        assert_eq!(exists, operation["op"] == "replace", "{place}");
    }
    let patch = patch.to_string();
    let before = pod.to_string();
    let (patch, _) = JsonPatch::parse(patch.as_bytes(), true).unwrap();
    let patched: Value = serde_json::from_slice(&patch.apply(before.as_bytes()).unwrap()).unwrap();
    let container = &patched["spec"]["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    let volumes = names(&patched["spec"]["volumes"]);
    assert!(names(&pod["spec"]["volumes"]).is_subset(&volumes));
    let mounts = names(&container["volumeMounts"]);
    assert!(mounts.contains("tmp") && mounts.is_subset(&volumes), "{mounts:?} of {volumes:?}");
}

/// Returns the names of a list's objects.
fn names(list: &Value) -> BTreeSet<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[test]
fn replica_base_is_admitted_and_runs() {
    let host = SimulatedHost::new();
    let base = tools::root().join("deploy/kustomize/base");
    let server = host.run(&flags(&yaml(KUBEADM)));
    let kubectl = server.kubectl();
    // Its namespace admits only restricted pods; the server warns about others.
    let applied = kubectl.run(&format!("apply -k {}", base.display()), "");
    assert!(applied.status.success() && applied.stderr.is_empty(), "{applied:?}");
    let deployment = kubectl.ok("-n control-plane get deployment kube-apiserver -o json");
    let deployment: Value = serde_json::from_str(&deployment).unwrap();
    assert_eq!(deployment["spec"]["replicas"], 3);
    drop(server);

    // Its secrets contain the files of kubeadm's directory, and those for etcd under the names of TLS
    // secrets.
    let etcd = host.path("/etc/kubernetes/etcd");
    std::fs::create_dir_all(&etcd).unwrap();
    for (from, to) in [
        ("etcd/ca.crt", "ca.crt"),
        ("apiserver-etcd-client.crt", "tls.crt"),
        ("apiserver-etcd-client.key", "tls.key"),
    ] {
        std::fs::copy(host.path("/etc/kubernetes/pki").join(from), etcd.join(to)).unwrap();
    }
    let pod = &deployment["spec"]["template"];
    let server = host.run(&flags(pod));
    for path in probes(pod) {
        assert_eq!(server.probe(path), "ok", "{path}");
    }
}
