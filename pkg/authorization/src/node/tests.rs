//! Tests of the node authorizer.
#![allow(clippy::unwrap_used)]

mod random;

use api::references::Kind;
use apimachinery::selectors::{FieldRequirements, Requirements, Selectors};

use super::*;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

/// Graph with a pod on `n1` that uses one object of each kind, and a pod on `n2` that uses only the claim.
fn graph() -> Graph {
    let mut graph = Graph::default();
    let references = [
        (Kind::ConfigMap, "used"),
        (Kind::Secret, "used"),
        (Kind::Claim, "used"),
        (Kind::ResourceClaim, "used"),
        (Kind::ServiceAccount, "used"),
    ];
    graph.set_pod("ns", "p1", Some(PodUse { node: "n1", references: &references }));
    graph.set_pod("ns", "p2", Some(PodUse { node: "n2", references: &[(Kind::Claim, "used")] }));
    let secrets = [("storage", "used")];
    graph.set_volume("v", Some(VolumeUse { claim: ("ns", "used"), secrets: &secrets }));
    for owned in [NodeOwnedKind::VolumeAttachment, NodeOwnedKind::ResourceSlice] {
        graph.set_owned(owned, "", "o", Some("n1"));
    }
    graph.set_owned(NodeOwnedKind::PodCertificateRequest, "ns", "o", Some("n1"));
    graph
}

const ALL: Features = Features { service_accounts: true, pod_certificates: true, volume_health: true };
const NONE: Features = Features { service_accounts: false, pod_certificates: false, volume_health: false };

/// Decides about `verb group/resource[/subresource] namespace/name [field selector]` for node `n1`.
fn decide_request(request: &str, features: Features) -> Result<(), String> {
    let mut words = request.split(' ');
    let mut word = || words.next().unwrap_or("");
    let verb = word();
    let group_and_resource = word();
    let object = word();
    let fields = word();
    let (group, resource) = group_and_resource.split_once('/').unwrap();
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    let (namespace, name) = object.split_once('/').unwrap_or(("", object));
    let user = user("system:node:n1", &["system:nodes"]);
    let selectors = Selectors { fields: FieldRequirements::parse(fields), labels: Requirements::NONE };
    let attributes = Attributes {
        verb,
        resource_request: true,
        namespace,
        group,
        resource,
        subresource,
        name,
        selectors: &selectors,
        ..Attributes::of_user(&user)
    };
    let rule = |verb: &str, resource: &str| Rule {
        verbs: vec![verb.to_owned()],
        groups: vec![String::new()],
        resources: vec![resource.to_owned()],
        ..Rule::default()
    };
    let policy = Policy { rules: vec![rule("list", "services"), rule("list", "pods")], features };
    match decide(&graph(), &policy, &attributes) {
        Decision::Allow(reason) if reason.is_empty() => Ok(()),
        Decision::NoOpinion(reason) => Err(reason),
        other => panic!("{other:?}"),
    }
}

fn allowed(request: &str) {
    assert_eq!(decide_request(request, ALL), Ok(()), "{request}");
}

fn refused(request: &str, reason: &str) {
    assert_eq!(decide_request(request, ALL), Err(reason.to_owned()), "{request}");
}

const UNRELATED: &str = "no relationship found between node 'n1' and this object";

#[test]
fn other_users_get_no_opinion() {
    let check = |user: UserInfo, expected: &str| {
        let decided =
            decide(&graph(), &Policy { rules: Vec::new(), features: ALL }, &Attributes::of_user(&user));
        assert_eq!(decided, Decision::NoOpinion(expected.to_owned()), "{user:?}");
    };
    check(user("ann", &["system:nodes"]), "");
    check(user("system:node:n1", &["others"]), "");
    check(user("system:node:", &["system:nodes"]), "unknown node for user \"system:node:\"");
}

#[test]
fn node_reads_objects_of_its_pods() {
    for resource in ["/secrets", "/configmaps", "/serviceaccounts", "resource.k8s.io/resourceclaims"] {
        allowed(&format!("get {resource} ns/used"));
        refused(&format!("get {resource} ns/other"), UNRELATED);
        refused(&format!("get {resource} other/used"), UNRELATED);
    }
    allowed("list /secrets ns/used");
    allowed("watch /configmaps ns/used");
    allowed("get /secrets storage/used");
    refused("list /secrets ns/", "No Object name found");
    refused("list /secrets ", "can only read namespaced object of this type");
    refused("delete /secrets ns/used", "can only read resources of this type");
    refused("get /secrets/x ns/used", "cannot read subresource");
    allowed("get /persistentvolumeclaims ns/used");
    allowed("get /persistentvolumes v");
    refused("get /persistentvolumes w", UNRELATED);
    refused("list /persistentvolumes v", "can only get individual resources of this type");
    refused("get /persistentvolumes/status v", "cannot get subresource");
    allowed("update /persistentvolumeclaims/status ns/used");
    refused("get /persistentvolumeclaims/status ns/used", "can only get/update/patch this type");
    allowed("get storage.k8s.io/volumeattachments o");
    refused("get storage.k8s.io/volumeattachments p", UNRELATED);
}

#[test]
fn node_creates_tokens_for_its_pods_accounts() {
    allowed("create /serviceaccounts/token ns/used");
    refused("create /serviceaccounts/token ns/other", UNRELATED);
    refused("create /serviceaccounts ns/used", "can only create token subresource of serviceaccount");
    refused("create /serviceaccounts/token ns/", "can only create tokens for individual service accounts");
    refused("list /serviceaccounts ns/", "can only create tokens for individual service accounts");
    let none = decide_request("get /serviceaccounts ns/used", NONE);
    assert_eq!(none, Err("not allowed to get service accounts".to_owned()));
}

#[test]
fn node_manages_own_lease_csi_node_and_slices() {
    allowed("get coordination.k8s.io/leases kube-node-lease/n1");
    allowed("create coordination.k8s.io/leases kube-node-lease/");
    refused(
        "get coordination.k8s.io/leases kube-node-lease/n2",
        "can only access node lease with the same name as the requesting node",
    );
    refused(
        "get coordination.k8s.io/leases ns/n1",
        "can only access leases in the \"kube-node-lease\" system namespace",
    );
    refused(
        "list coordination.k8s.io/leases kube-node-lease/",
        "can only get, create, update, patch, or delete a node lease",
    );
    allowed("delete storage.k8s.io/csinodes n1");
    refused(
        "get storage.k8s.io/csinodes n2",
        "can only access CSINode with the same name as the requesting node",
    );
    refused("watch storage.k8s.io/csinodes n1", "can only get, create, update, patch, or delete a CSINode");
    allowed("patch storage.k8s.io/csinodes/status n1");
    refused("delete storage.k8s.io/csinodes/status n1", "can only get, update, or patch CSINode status");
    refused(
        "get storage.k8s.io/csinodes/status n2",
        "can only access CSINode with the same name as the requesting node",
    );
    assert_eq!(
        decide_request("get storage.k8s.io/csinodes/status n1", NONE),
        Err("CSINode status access requires CSIVolumeHealth feature".to_owned())
    );
    allowed("create resource.k8s.io/resourceslices ");
    allowed("delete resource.k8s.io/resourceslices o");
    refused("delete resource.k8s.io/resourceslices p", UNRELATED);
    allowed("deletecollection resource.k8s.io/resourceslices  spec.nodeName=n1");
    let text = "can only list/watch/deletecollection resourceslices with nodeName field selector";
    refused("list resource.k8s.io/resourceslices  spec.nodeName=n2", text);
    refused("list resource.k8s.io/resourceslices  spec.nodeName!=n1", text);
}

#[test]
fn node_reads_itself_and_its_pods() {
    allowed("get /nodes n1");
    allowed("update /nodes/status n2");
    refused("get /nodes n2", "node 'n1' cannot read 'n2', only its own Node object");
    refused("list /nodes ", "node 'n1' cannot read all nodes, only its own Node object");
    refused("delete /nodes n1", "");
    allowed("get /pods ns/p1");
    allowed("watch /pods ns/p1");
    refused("get /pods ns/p2", UNRELATED);
    allowed("list /pods / spec.nodeName=n1");
    refused("list /pods /", "can only list/watch pods with spec.nodeName field selector");
    allowed("create /pods/eviction ns/p1");
    refused("patch /pods ns/p1", "");
}

#[test]
fn node_reads_certificate_requests_of_its_pods() {
    allowed("create certificates.k8s.io/podcertificaterequests ns/");
    allowed("get certificates.k8s.io/podcertificaterequests ns/o");
    refused("get certificates.k8s.io/podcertificaterequests ns/p", UNRELATED);
    allowed("list certificates.k8s.io/podcertificaterequests ns/ spec.nodeName=n1");
    refused(
        "update certificates.k8s.io/podcertificaterequests ns/o",
        "nodes may not update podcertificaterequests",
    );
    refused(
        "get certificates.k8s.io/podcertificaterequests/status ns/o",
        "nodes may not access the status subresource of PodCertificateRequests",
    );
    assert_eq!(
        decide_request("get certificates.k8s.io/podcertificaterequests ns/o", NONE),
        Err(String::new())
    );
}

#[test]
fn other_resources_use_common_node_rules() {
    allowed("list /services ");
    refused("delete /services ns/a", "");
}
