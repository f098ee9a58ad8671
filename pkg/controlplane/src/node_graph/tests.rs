//! Tests of node access to objects of its pods: from binding until deletion.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use apimachinery::user_info::UserInfo;
use authorization::node::decide;
use authorization::{Attributes, Decision, Mode};
use component_base::features::Effective;
use jsontree::{Value, json};

use super::*;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

const PODS: &str = "/api/v1/namespaces/default/pods";
const SECRET: &str = "/api/v1/namespaces/default/secrets/s";

#[tokio::test]
async fn node_reads_secret_while_pod_uses_it() {
    let change = |config: &mut crate::config::Config| {
        config.authorization = crate::config::AuthorizationConfig::of_modes(&[Mode::Node, Mode::Rbac]);
        config.admission.disabled.push("ServiceAccount".to_owned());
        let tokens = config.authentication.token_file.as_ref().unwrap();
        let mut lines = std::fs::read_to_string(tokens).unwrap();
        for node in ["n1", "n2"] {
            lines.push_str(&format!("{node}-token,system:node:{node},{node},\"system:nodes\"\n"));
        }
        std::fs::write(tokens, lines).unwrap();
    };
    let server = TestServer::start_with(change).await.unwrap();
    let node = |token| Client::of(&server).with_token(token);
    let admin = Client::of(&server);
    let own = node("n1-token");
    let other = node("n2-token");
    let secret = json!({"metadata": {"name": "s"}});
    admin.ok("POST", "/api/v1/namespaces/default/secrets", secret).await;
    let refused = own.send("GET", SECRET, Value::Null).await;
    assert_eq!(refused.0, 403);
    let reason = "no relationship found between node 'n1' and this object";
    assert!(refused.1["message"].as_str().unwrap().ends_with(reason), "{}", refused.1);
    let pod = json!({
        "metadata": {"name": "p"},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "secret": {"secretName": "s"}}],
        },
    });
    admin.ok("POST", PODS, pod).await;
    own.eventually(SECRET, 200).await;
    assert_eq!(other.send("GET", SECRET, Value::Null).await.0, 403);
    own.get(&format!("{PODS}/p")).await;
    let (_, metrics) = admin.text("GET", "/metrics").await;
    assert!(metrics.contains("node_authorizer_graph_actions_duration_seconds_count{operation=\"AddPod\"}"));
    admin.ok("DELETE", &format!("{PODS}/p?gracePeriodSeconds=0"), Value::Null).await;
    own.eventually(SECRET, 403).await;
    server.stop().await;
}

#[test]
fn gates_add_rules_for_all_nodes() {
    let check = |gates: &[(&str, bool)], resource: &str, expected: bool| {
        let gates = Gates::new(Effective::default(), gates.iter().copied()).unwrap();
        let policy = policy(gates).unwrap();
        let found = policy.rules.iter().any(|rule| rule.resources.iter().any(|name| name == resource));
        assert_eq!(found, expected, "{resource}");
    };
    check(&[], "services", true);
    check(&[], "clustertrustbundles", true);
    let disabled = [("ClusterTrustBundle", false), ("ClusterTrustBundleProjection", false)];
    check(&disabled, "clustertrustbundles", false);
}

/// Permissions of all nodes that do not depend on objects: one line per resource.
const OF_ALL_NODES: &str = "\
/endpoints: get
/events: create update patch
/nodes/status: update patch
/nodes: create update patch
/pods/eviction: create
/pods/status: update patch
/pods: create delete
/services: get list watch
authentication.k8s.io/tokenreviews: create
authorization.k8s.io/localsubjectaccessreviews: create
authorization.k8s.io/subjectaccessreviews: create
certificates.k8s.io/certificatesigningrequests: create get list watch
certificates.k8s.io/clustertrustbundles: get list watch
certificates.k8s.io/podcertificaterequests: create
events.k8s.io/events: create update patch
node.k8s.io/runtimeclasses: get list watch
resource.k8s.io/resourceslices: create
storage.k8s.io/csidrivers: get list watch
storage.k8s.io/csinodes: create
";

#[test]
fn node_rules_match_expected_list() {
    let policy = policy(Gates::default()).unwrap();
    let groups = vec!["system:nodes".to_owned(), "system:authenticated".to_owned()];
    let user = UserInfo { name: "system:node:n1".to_owned(), groups, ..UserInfo::default() };
    let mut actual = BTreeSet::new();
    for row in resources::all() {
        let verbs = ["create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"];
        let allowed = verbs.into_iter().filter(|verb| {
            let named = !row.subresource.is_empty() || matches!(*verb, "get" | "update" | "patch" | "delete");
            let attributes = Attributes {
                verb,
                resource_request: true,
                group: row.group,
                version: row.version,
                resource: row.plural,
                subresource: row.subresource,
                namespace: if row.namespaced { "default" } else { "" },
                name: if named { "another" } else { "" },
                ..Attributes::of_user(&user)
            };
            matches!(decide(&Graph::default(), &policy, &attributes), Decision::Allow(_))
        });
        let allowed: Vec<&str> = allowed.collect();
        let slash = if row.subresource.is_empty() { "" } else { "/" };
        let resource = format!("{}/{}{slash}{}", row.group, row.plural, row.subresource);
        if !allowed.is_empty() {
            actual.insert(format!("{resource}: {}\n", allowed.join(" ")));
        }
    }
    assert_eq!(actual.into_iter().collect::<String>(), OF_ALL_NODES);
}
