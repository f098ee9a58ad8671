//! Tests of warnings about nodes and node selectors (`pkg/api/node/util.go`).

use crate::warnings::testing::{created, updated};
use jsontree::json;

#[test]
fn nodes_have_fields_that_are_gone() {
    let node = json!({"spec": {
        "configSource": {}, "externalID": "x", "podCIDRs": ["10.0.0.0/24", "10.00.1.0/24"],
    }});
    let expected = [
        "spec.configSource: the feature is removed",
        "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        "spec.podCIDRs[1]: non-standard CIDR value \"10.00.1.0/24\" is invalid: use \"10.0.1.0/24\"",
    ];
    created("", "nodes", node.clone(), &expected);
    updated("", "nodes", node.clone(), node, &expected);
    created("", "nodes", json!({"spec": {"podCIDRs": ["10.0.0.0/24"]}}), &[]);
}

#[test]
fn runtime_classes_may_select_old_labels() {
    let class = json!({"scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "linux", "a": "b"}}});
    let expected = ["scheduling.nodeSelector: deprecated since v1.14; use \"kubernetes.io/os\" instead"];
    created("node.k8s.io", "runtimeclasses", class.clone(), &expected);
    updated("node.k8s.io", "runtimeclasses", class.clone(), class, &expected);
}
