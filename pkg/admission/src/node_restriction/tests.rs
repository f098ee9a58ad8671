//! Tests of each kind of write by a node.
#![allow(clippy::unwrap_used)]

use api::references::MIRROR_ANNOTATION as MIRROR;
use apimachinery::user_info::UserInfo;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use component_base::features::Effective;
use jsontree::{Value, json};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::*;
use crate::testing::{Permits, Store, Write};

/// Store with node `n1`, pod `p` on it and pod `q` on another node.
fn store() -> Arc<Store> {
    let on = |name: &str, node: &str, volumes: Value| {
        json!({
            "metadata": {"namespace": "ns", "name": name, "uid": format!("{name}-uid")},
            "spec": {"nodeName": node, "serviceAccountName": "account", "volumes": volumes},
        })
    };
    let projected = json!([
        {"name": "a", "projected": {"sources": [{"serviceAccountToken": {"audience": "vault"}},
            {"podCertificate": {"signerName": "example.com/mounted"}}]}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "c"}},
    ]);
    Store::of([
        ("nodes", json!({"metadata": {"name": "n1", "uid": "n1-uid"}})),
        ("pods", on("p", "n1", projected)),
        ("pods", on("q", "n2", json!([]))),
        ("pods", on("lost", "n1", json!([{"name": "b", "persistentVolumeClaim": {"claimName": "none"}}]))),
        (
            "serviceaccounts",
            json!({"metadata": {"namespace": "ns", "name": "account", "uid": "account-uid"}}),
        ),
        (
            "persistentvolumeclaims",
            json!({"metadata": {"namespace": "ns", "name": "c"}, "spec": {"volumeName": "v"}}),
        ),
        ("persistentvolumes", json!({"metadata": {"name": "v"}, "spec": {"csi": {"driver": "d"}}})),
        (
            "csidrivers",
            json!({"metadata": {"name": "d"}, "spec": {"tokenRequests": [{"audience": "store"}]}}),
        ),
    ])
}

fn plugin(gates: &[(&str, bool)]) -> NodeRestriction {
    let gates = Gates::new(Effective::default(), gates.iter().copied()).unwrap();
    let permits = Permits(&[
        "request-serviceaccounts-token-audience extra account",
        "request-serviceaccounts-podcertificate-signer example.com:extra account",
    ]);
    NodeRestriction::new(store(), Arc::new(permits), gates).unwrap()
}

fn by(user: &str, write: Write) -> Write {
    let user =
        UserInfo { name: user.to_owned(), groups: vec!["system:nodes".to_owned()], ..UserInfo::default() };
    Write { user, ..write }
}

/// Returns the rejection of a write by node `n1`, without the object's name.
fn rejection_cause(write: Write, object: Value) -> Option<String> {
    let message = by("system:node:n1", write).mutated(&plugin(&[]), object).err()?;
    Some(message.split_once(" is forbidden: ").map_or(message.clone(), |(_, cause)| cause.to_owned()))
}

fn pods() -> Write {
    Write::of("", "v1", "pods")
}

#[test]
fn only_nodes_are_restricted() {
    let pod = json!({"metadata": {"name": "p"}});
    let create_pod = |user: &str| by(user, pods()).mutated(&plugin(&[]), pod.clone());
    assert!(create_pod("ann").is_ok());
    let refusal = "pods \"p\" is forbidden: could not determine node from user \"system:node:\"";
    assert_eq!(create_pod("system:node:"), Err(refusal.to_owned()));
    let other =
        Write { user: UserInfo { name: "system:node:n1".to_owned(), ..UserInfo::default() }, ..pods() };
    assert!(other.mutated(&plugin(&[]), pod.clone()).is_ok(), "who is not in the group is no node");
}

#[test]
fn node_creates_only_its_own_mirror_pods() {
    let owner =
        json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1-uid", "controller": true});
    let pod = json!({
        "metadata": {"name": "m", "annotations": {MIRROR: "x"}, "ownerReferences": [owner]},
        "spec": {"nodeName": "n1", "volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
    });
    let check = |change: &dyn Fn(&mut Value), expected: &str| {
        let mut pod = pod.clone();
        change(&mut pod);
        assert_eq!(rejection_cause(pods(), pod).as_deref(), Some(expected));
    };
    assert_eq!(rejection_cause(pods(), pod.clone()), None);
    check(
        &|pod| pod["metadata"]["annotations"] = json!({}),
        "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create mirror pods",
    );
    check(
        &|pod| pod["spec"]["nodeName"] = "n2".into(),
        "node \"n1\" can only create pods with spec.nodeName set to itself",
    );
    let itself = "node \"n1\" can only create pods with an owner reference set to itself";
    check(&|pod| pod["metadata"]["ownerReferences"] = json!([]), itself);
    check(&|pod| pod["metadata"]["ownerReferences"][0]["name"] = "n2".into(), itself);
    check(
        &|pod| pod["metadata"]["ownerReferences"] = json!([owner, owner]),
        "node \"n1\" can only create pods with a single owner reference set to itself",
    );
    check(
        &|pod| pod["metadata"]["ownerReferences"][0]["controller"] = false.into(),
        "node \"n1\" can only create pods with a controller owner reference set to itself",
    );
    check(
        &|pod| pod["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into(),
        "node \"n1\" must not set blockOwnerDeletion on an owner reference",
    );
    check(
        &|pod| pod["metadata"]["ownerReferences"][0]["uid"] = "x".into(),
        "node n1 UID mismatch: expected x got n1-uid",
    );
}

#[test]
fn a_mirror_pod_refers_to_nothing() {
    let owner =
        json!({"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1-uid", "controller": true});
    let check = |spec: Value, expected: &str| {
        let mut pod = json!({
            "metadata": {"name": "m", "annotations": {MIRROR: "x"}, "ownerReferences": [owner]},
            "spec": spec,
        });
        pod["spec"]["nodeName"] = "n1".into();
        assert_eq!(rejection_cause(pods(), pod), Some(expected.to_owned()));
    };
    let reference = |noun: &str| format!("node \"n1\" can not create pods that reference {noun}");
    let volume = |source: Value, noun: &str| check(json!({"volumes": [source]}), &reference(noun));
    check(json!({"serviceAccountName": "a"}), &reference("serviceaccounts"));
    check(json!({"imagePullSecrets": [{"name": "s"}]}), &reference("secrets"));
    check(json!({"resourceClaims": [{"name": "s"}]}), &reference("resourceclaims"));
    volume(json!({"configMap": {"name": "m"}}), "configmaps");
    volume(json!({"csi": {"driver": "d"}}), "csidrivers (via CSI volumes)");
    volume(json!({"persistentVolumeClaim": {"claimName": "c"}}), "persistentvolumeclaims");
    volume(json!({"projected": {"sources": [{"clusterTrustBundle": {"path": "p"}}]}}), "clustertrustbundles");
    let cause = "error checking mirror pod for API references: unknown volume type for volume  \"v\"";
    check(json!({"volumes": [{"name": "v", "new": {}}]}), cause);
}

#[test]
fn node_deletes_and_updates_only_its_pods() {
    let pod =
        |node: &str| json!({"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"nodeName": node}});
    let status = |old: Value, new: Value| rejection_cause(pods().over(old).through("status"), new);
    assert_eq!(status(pod("n1"), pod("n1")), None);
    let other = "node \"n1\" can only update pod status for pods with spec.nodeName set to itself";
    assert_eq!(status(pod("n2"), pod("n2")).as_deref(), Some(other));
    let mut changed = pod("n1");
    changed["metadata"]["labels"]["a"] = "c".into();
    let labels = "node \"n1\" cannot update labels through pod status";
    assert_eq!(status(pod("n1"), changed).as_deref(), Some(labels));
    let mut changed = pod("n1");
    changed["status"] = json!({"resourceClaimStatuses": [{"name": "a"}]});
    let claims = "node \"n1\" cannot update resource claim statues";
    assert_eq!(status(pod("n1"), changed).as_deref(), Some(claims));
    let update = "unexpected operation \"UPDATE\", node \"n1\" can only create and delete mirror pods";
    assert_eq!(rejection_cause(pods().over(pod("n1")), pod("n1")).as_deref(), Some(update));
    let binding = "unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed";
    assert_eq!(rejection_cause(pods().through("binding"), pod("n1")).as_deref(), Some(binding));

    let deleted = |name: &str| {
        by("system:node:n1", pods().with_operation(Operation::Delete)).deleted(&plugin(&[]), name)
    };
    assert_eq!(deleted("p"), Ok(()));
    let other = "node \"n1\" can only delete pods with spec.nodeName set to itself";
    assert_eq!(deleted("q"), Err(format!("pods \"q\" is forbidden: {other}")));
    let evicted =
        |name: &str| rejection_cause(pods().through("eviction"), json!({"metadata": {"name": name}}));
    assert_eq!(evicted("p"), None);
    let other = "node n1 can only evict pods with spec.nodeName set to itself";
    assert_eq!(evicted("q").as_deref(), Some(other));
    assert_eq!(evicted("none").as_deref(), Some("pod \"none\" not found"));
}

#[test]
fn node_cannot_change_taints_or_restricted_labels() {
    let nodes = || Write::of("", "v1", "nodes");
    let node = |labels: Value| json!({"metadata": {"name": "n1", "labels": labels}});
    let updated =
        |labels: Value| rejection_cause(nodes().over(node(json!({"old.k8s.io/a": "b"}))), node(labels));
    assert_eq!(
        rejection_cause(
            nodes(),
            node(json!({"kubernetes.io/hostname": "h", "mine": "", "x.node.kubernetes.io/y": ""}))
        ),
        None
    );
    let refusal = "node \"n1\" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x, kubernetes.io/role";
    let labels = json!({"kubernetes.io/role": "", "a.node-restriction.kubernetes.io/x": ""});
    assert_eq!(rejection_cause(nodes(), node(labels)).as_deref(), Some(refusal));
    assert_eq!(updated(json!({"old.k8s.io/a": "b", "mine": ""})), None);
    assert_eq!(updated(json!({})).as_deref(), Some("is not allowed to modify labels: old.k8s.io/a"));
    let other = "node \"n1\" is not allowed to modify node \"n2\"";
    assert_eq!(rejection_cause(nodes(), json!({"metadata": {"name": "n2"}})).as_deref(), Some(other));
    let changed = |member: &str, value: Value| {
        let mut new = node(json!({}));
        new[member] = value;
        new["metadata"]["name"] = "n1".into();
        rejection_cause(nodes().over(node(json!({}))), new)
    };
    let taints = changed("spec", json!({"taints": [{"key": "a", "effect": "NoSchedule"}]}));
    assert_eq!(taints.as_deref(), Some("node \"n1\" is not allowed to modify taints"));
    let owners = changed("metadata", json!({"ownerReferences": [{"name": "a"}]}));
    assert_eq!(owners.as_deref(), Some("node \"n1\" is not allowed to modify ownerReferences"));
}

#[test]
fn tokens_need_pod_on_node_and_audience() {
    let check = |bound: Value, audiences: &[&str], expected: Option<&str>| {
        let request = json!({"metadata": {"name": "account"}, "spec": {"boundObjectRef": bound, "audiences": audiences}});
        let write = Write::of("", "v1", "serviceaccounts").through("token");
        assert_eq!(rejection_cause(write, request).as_deref(), expected);
    };
    let pod =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": format!("{name}-uid")});
    check(pod("p"), &["vault"], None);
    check(pod("p"), &["store"], None);
    check(pod("p"), &["extra"], None);
    check(json!(null), &[], Some("node requested token not bound to a pod"));
    let without = json!({"apiVersion": "v1", "kind": "Pod", "name": "p"});
    check(without, &[], Some("node requested token with a pod binding without a uid"));
    check(pod("none"), &[], Some("pod \"none\" not found"));
    check(pod("q"), &[], Some("node requested token bound to a pod scheduled on a different node"));
    check(pod("p"), &["a", "b"], Some("node may only request 0 or 1 audiences"));
    let other = "system:node:n1 is not authorized to request tokens for audience \"other\"";
    check(pod("p"), &["other"], Some(other));
    let lost = "error validating audience \"other\": persistentvolumeclaim \"none\" not found";
    check(pod("lost"), &["other"], Some(lost));
}

#[test]
fn node_writes_leases_and_csi_nodes_by_name() {
    let lease = |name: &str| {
        rejection_cause(Write::of("coordination.k8s.io", "v1", "leases"), json!({"metadata": {"name": name}}))
    };
    let namespace = "can only access leases in the \"kube-node-lease\" system namespace";
    assert_eq!(lease("n1").as_deref(), Some(namespace));
    let csi = |name: &str| {
        rejection_cause(Write::of("storage.k8s.io", "v1", "csinodes"), json!({"metadata": {"name": name}}))
    };
    assert_eq!(csi("n1"), None);
    let other = "can only access CSINode with the same name as the requesting node";
    assert_eq!(csi("n2").as_deref(), Some(other));
    let status = |gate: bool, spec: Value| {
        let old = json!({"metadata": {"name": "n1"}, "spec": {"drivers": []}});
        let write = Write::of("storage.k8s.io", "v1", "csinodes").over(old).through("status");
        let new = json!({"metadata": {"name": "n1"}, "spec": spec});
        let plugin = plugin(&[("CSIVolumeHealth", gate)]);
        let message = by("system:node:n1", write).mutated(&plugin, new).err()?;
        message.split_once(" is forbidden: ").map(|(_, cause)| cause.to_owned())
    };
    assert_eq!(status(true, json!({})), None);
    let other = "node \"n1\" is not allowed to modify CSINode spec via status";
    assert_eq!(status(true, json!({"drivers": [{"name": "d", "nodeID": "n1"}]})).as_deref(), Some(other));
    assert_eq!(status(false, json!({})).as_deref(), Some("CSIVolumeHealth feature gate is disabled"));
    let slice = |node: Value| {
        let object = json!({"metadata": {"name": "s"}, "spec": {"nodeName": node}});
        rejection_cause(Write::of("resource.k8s.io", "v1", "resourceslices"), object)
    };
    assert_eq!(slice(json!("n1")), None);
    let other = "can only create ResourceSlice with the same NodeName as the requesting node";
    assert_eq!(slice(json!("n2")).as_deref(), Some(other));
    assert_eq!(slice(json!(null)).as_deref(), Some(other));
}

#[test]
fn node_updates_only_claim_size() {
    let claim = |status: Value| json!({"metadata": {"name": "c", "resourceVersion": "1"}, "status": status});
    let claims = || Write::of("", "v1", "persistentvolumeclaims");
    let status = |new: Value| rejection_cause(claims().over(claim(json!({}))).through("status"), new);
    assert_eq!(status(claim(json!({"capacity": {"storage": "1Gi"}}))), None);
    let refusal =
        "node \"n1\" is not allowed to update fields other than status.quantity and status.conditions";
    assert_eq!(status(claim(json!({"phase": "Bound"}))).as_deref(), Some(refusal));
    let full_update = rejection_cause(claims(), claim(json!({})));
    assert_eq!(full_update.as_deref(), Some("may only update PVC status"));
}

#[test]
fn kubelet_certificates_need_own_node_name() {
    let request = |name: &str| {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let signed = params.serialize_request(&KeyPair::generate().unwrap()).unwrap();
        STANDARD.encode(signed.pem().unwrap())
    };
    let rejection = |signer: &str, request: String| {
        let object = json!({"metadata": {"name": "r"}, "spec": {"signerName": signer, "request": request}});
        rejection_cause(Write::of("certificates.k8s.io", "v1", "certificatesigningrequests"), object)
    };
    let [serving, client] = KUBELET_SIGNERS;
    assert_eq!(rejection(serving, request("system:node:n1")), None);
    let other = "can only create a node CSR with CN=system:node:n1";
    assert_eq!(rejection(client, request("system:node:n2")).as_deref(), Some(other));
    assert_eq!(rejection("example.com/s", request("system:node:n2")), None);
    let broken = "unable to parse csr: PEM block type must be CERTIFICATE REQUEST";
    assert_eq!(rejection(client, STANDARD.encode("x")).as_deref(), Some(broken));
}

#[test]
fn pod_certificates_need_pod_on_node() {
    let spec = json!({
        "nodeName": "n1", "nodeUID": "n1-uid", "podName": "p", "podUID": "p-uid",
        "serviceAccountName": "account", "serviceAccountUID": "account-uid",
        "signerName": "example.com/mounted",
    });
    let check = |member: &str, value: &str, expected: &str| {
        let mut spec = spec.clone();
        spec[member] = value.into();
        let object = json!({"metadata": {"name": "r"}, "spec": spec});
        let write =
            by("system:node:n1", Write::of("certificates.k8s.io", "v1beta1", "podcertificaterequests"));
        let result = write.mutated(&plugin(&[("PodCertificateRequest", true)]), object);
        let message = result.err().unwrap_or_default();
        assert!(message.ends_with(expected) && message.is_empty() == expected.is_empty(), "{message}");
    };
    check("podName", "p", "");
    check("signerName", "example.com/extra", "");
    check(
        "signerName",
        "example.com/other",
        "pod \"ns/p\" does not mount a podCertificate projected volume for signer \"example.com/other\"",
    );
    check(
        "nodeName",
        "n2",
        "PodCertificateRequest.Spec.NodeName=\"n2\", which is not the requesting node \"n1\"",
    );
    check(
        "nodeUID",
        "x",
        "pod \"ns/p\" names node UID \"x\", inconsistent with the running node (\"n1-uid\")",
    );
    check(
        "podName",
        "none",
        "while retrieving pod \"ns/none\" named in the PodCertificateRequest: pod \"none\" not found",
    );
    check("podUID", "x", "contains pod UID (\"x\") which differs from running pod \"p-uid\"");
    check(
        "serviceAccountName",
        "x",
        "contains serviceAccountName (\"x\") that differs from running pod (\"account\")",
    );
    check(
        "serviceAccountUID",
        "x",
        "names service account UID \"x\", which differs from the running service account (\"account-uid\")",
    );
}
