//! Tests of the warnings of all kinds, through the dispatch.

mod core;
mod networking;
mod node;
mod storage;
mod workload;

use crate::warnings::testing::{created, created_with, status_updated, updated};
use component_base::features::{Gate, Gates};
use jsontree::json;

const RESERVED: &str = "metadata.name: names ending with \".static.k8s.io\" are reserved for static \
    manifest-based configurations and cannot be managed via the API";

#[test]
fn names_of_static_manifests_are_reserved() {
    let object = json!({"metadata": {"name": "a.static.k8s.io"}});
    let closed = Gates::default().with(Gate::ManifestBasedAdmissionControlConfig, false);
    for plural in ["validatingadmissionpolicies", "mutatingwebhookconfigurations"] {
        let group = "admissionregistration.k8s.io";
        let other = json!({"metadata": {"name": "a.k8s.io"}});
        created_with(closed, group, plural, object.clone(), &[RESERVED]);
        updated(group, plural, object.clone(), object.clone(), &[RESERVED]);
        created(group, plural, other, &[]);
    }
    let group = "admissionregistration.k8s.io";
    let open = Gates::default().with(Gate::ManifestBasedAdmissionControlConfig, true);
    created_with(open, group, "validatingadmissionpolicies", object.clone(), &[]);
    status_updated(group, "validatingadmissionpolicies", object, &[RESERVED]);
}

#[test]
fn drivers_of_devices_have_lower_case_names() {
    let slice = |driver: &str| json!({"spec": {"driver": driver}});
    let warning =
        "spec.driver: driver names should be lowercase; \"Dra.Example.com\" contains uppercase characters";
    created("resource.k8s.io", "resourceslices", slice("Dra.Example.com"), &[warning]);
    updated("resource.k8s.io", "resourceslices", slice("Dra.Example.com"), slice("a"), &[warning]);
    created("resource.k8s.io", "resourceslices", slice("dra.example.com"), &[]);
}

#[test]
fn most_kinds_have_no_warnings() {
    let object = json!({"metadata": {"name": "A.B"}, "data": {"k": "v"}});
    created("", "configmaps", object.clone(), &[]);
    updated("", "configmaps", object.clone(), object.clone(), &[]);
    status_updated("", "nodes", json!({"spec": {"externalID": "x"}}), &[]);
}
