//! networking.k8s.io: policies, ingresses and their classes.

use super::Rule;
use super::fill::{each, if_nil, if_present, is_zero, within};
use super::object::Object;
use jsontree::json;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1", "NetworkPolicy") => network_policy,
        ("v1", "IngressClass") => ingress_class,
        // In v1 the path type is required.
        ("v1beta1", "Ingress") => ingress_v1beta1,
        _ => return None,
    })
}

/// Sets the policy types: ingress, and also egress if the policy has egress rules.
pub(super) fn policy_types(spec: &mut Object) {
    if is_zero(spec, "policyTypes") {
        let types = if is_zero(spec, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        spec.set("policyTypes", types);
    }
}

fn network_policy(policy: &mut Object) {
    within(policy, "spec", |spec| {
        policy_types(spec);
        for direction in ["ingress", "egress"] {
            each(spec, direction, |rule| each(rule, "ports", |port| if_nil(port, "protocol", "TCP")));
        }
    });
}

fn ingress_class(class: &mut Object) {
    if_present(class, "spec", |spec| {
        if_present(spec, "parameters", |reference| if_nil(reference, "scope", "Cluster"))
    });
}

pub(super) fn ingress_v1beta1(ingress: &mut Object) {
    if_present(ingress, "spec", |spec| {
        each(spec, "rules", |rule| {
            if_present(rule, "http", |http| {
                each(http, "paths", |path| if_nil(path, "pathType", "ImplementationSpecific"));
            });
        });
    });
}
