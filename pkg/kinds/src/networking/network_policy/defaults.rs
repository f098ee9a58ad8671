//! Defaults of network policies.

use crate::defaults::fill::{default_struct, each, if_nil, is_zero};
use crate::defaults::object::Object;
use jsontree::json;

/// Sets the policy types: ingress, and also egress if the policy has egress rules.
pub(super) fn policy_types(spec: &mut Object) {
    if is_zero(spec, "policyTypes") {
        let types = if is_zero(spec, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        spec.set("policyTypes", types);
    }
}

pub(super) fn network_policy(policy: &mut Object) {
    default_struct(policy, "spec", |spec| {
        policy_types(spec);
        for direction in ["ingress", "egress"] {
            each(spec, direction, |rule| each(rule, "ports", |port| if_nil(port, "protocol", "TCP")));
        }
    });
}
