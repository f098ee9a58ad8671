//! Tests of warnings about services, their endpoints, ingresses and network policies: address spellings, and ignored
//! or deprecated fields (`pkg/api/service/warnings.go`, `pkg/registry/{core,discovery,networking}`).

use crate::warnings::testing::{created, status_updated, updated};
use jsontree::{Value, json};

const ZEROS: &str = "non-standard IP address \"01.2.3.4\" is invalid: use \"1.2.3.4\"";

fn service(spec: Value, expected: &[&str]) {
    let service = json!({"spec": spec});
    created("", "services", service.clone(), expected);
    updated("", "services", service.clone(), service, expected);
}

#[test]
fn deprecated_service_fields_warn() {
    let usual = json!({"type": "ClusterIP", "clusterIP": "1.2.3.4", "clusterIPs": ["1.2.3.4"], "sessionAffinity": "None"});
    service(usual, &[]);
    let deprecated = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
    service(json!({"type": "NodePort", "externalIPs": ["1.2.3.4"]}), &[deprecated]);
    service(
        json!({"type": "ClusterIP", "trafficDistribution": "PreferClose"}),
        &["spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""],
    );
    let annotations = json!({"service.kubernetes.io/topology-aware-hints": "auto"});
    created(
        "",
        "services",
        json!({"metadata": {"annotations": annotations}}),
        &["annotation service.kubernetes.io/topology-aware-hints is deprecated, please use \
           service.kubernetes.io/topology-mode instead"],
    );
}

#[test]
fn ignored_service_fields_warn() {
    service(
        json!({
            "type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"], "loadBalancerIP": "1.2.3.4",
            "externalIPs": ["1.2.3.4"], "sessionAffinity": "ClientIP", "externalName": "x",
        }),
        &[
            "spec.loadBalancerIP is ignored for headless services",
            "spec.externalIPs is ignored for headless services",
            "spec.SessionAffinity is ignored for headless services",
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
        ],
    );
    service(
        json!({"type": "ExternalName", "externalName": "x", "externalIPs": ["1.2.3.4"]}),
        &["spec.externalIPs is ignored when spec.type is \"ExternalName\""],
    );
}

#[test]
fn services_have_addresses() {
    service(
        json!({
            "type": "LoadBalancer", "clusterIP": "01.2.3.4", "clusterIPs": ["01.2.3.4"],
            "externalIPs": ["01.2.3.4"], "loadBalancerIP": "01.2.3.4",
            "loadBalancerSourceRanges": ["1.0.0.0/8", "01.0.0.0/8"],
        }),
        &[
            &format!("spec.clusterIPs[0]: {ZEROS}"),
            &format!("spec.externalIPs[0]: {ZEROS}"),
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
            &format!("spec.loadBalancerIP: {ZEROS}"),
            "spec.loadBalancerSourceRanges[1]: non-standard CIDR value \"01.0.0.0/8\" is invalid: use \
             \"1.0.0.0/8\"",
        ],
    );
}

#[test]
fn statuses_have_addresses() {
    let ingress = json!([null, {"ip": "01.2.3.4"}]);
    let balanced = json!({"status": {"loadBalancer": {"ingress": ingress}}});
    let expected = format!("status.loadBalancer.ingress[1]: {ZEROS}");
    status_updated("", "services", balanced.clone(), &[&expected]);
    status_updated("networking.k8s.io", "ingresses", balanced, &[&expected]);
    let pod = json!({"status": {"podIPs": [{"ip": "01.2.3.4"}], "hostIPs": [{"ip": "01.2.3.4"}]}});
    let expected = [format!("status.podIPs[0].ip: {ZEROS}"), format!("status.hostIPs[0].ip: {ZEROS}")];
    status_updated("", "pods", pod.clone(), &[&expected[0], &expected[1]]);
    updated("", "pods", pod.clone(), pod, &[]);
}

#[test]
fn controller_managed_endpoints_do_not_warn() {
    let object = |labels: Value| {
        json!({
            "metadata": {"labels": labels},
            "subsets": [{"addresses": [{"ip": "01.2.3.4"}], "notReadyAddresses": [{"ip": "01.2.3.4"}]}],
            "endpoints": [{"addresses": ["1.2.3.4", "01.2.3.4"]}],
        })
    };
    let ready = format!("subsets[0].addresses[0].ip: {ZEROS}");
    let not_ready = format!("subsets[0].notReadyAddresses[0].ip: {ZEROS}");
    let sliced = format!("endpoints[0].addresses[1]: {ZEROS}");
    let plain = object(json!({"endpoints.kubernetes.io/managed-by": "me"}));
    created("", "endpoints", plain.clone(), &[&ready, &not_ready]);
    created("discovery.k8s.io", "endpointslices", plain.clone(), &[&sliced]);
    updated("discovery.k8s.io", "endpointslices", plain.clone(), plain, &[&sliced]);
    let managed = object(json!({"endpoints.kubernetes.io/managed-by": "endpoint-controller"}));
    created("", "endpoints", managed, &[]);
    for controller in ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"] {
        let managed = object(json!({"endpointslice.kubernetes.io/managed-by": controller}));
        created("discovery.k8s.io", "endpointslices", managed, &[]);
    }
}

#[test]
fn fqdn_endpoint_slices_warn() {
    let slice = json!({"addressType": "FQDN", "endpoints": [{"addresses": ["example.com"]}]});
    let expected = ["spec.addressType: FQDN endpoints are deprecated"];
    created("discovery.k8s.io", "endpointslices", slice.clone(), &expected);
    updated("discovery.k8s.io", "endpointslices", slice.clone(), slice, &[]);
}

#[test]
fn ingress_class_annotation_warns() {
    let ingress = |spec: Value| json!({"metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}}, "spec": spec});
    let expected = ["annotation \"kubernetes.io/ingress.class\" is deprecated, please use \
                     'spec.ingressClassName' instead"];
    created("networking.k8s.io", "ingresses", ingress(json!({})), &expected);
    updated("networking.k8s.io", "ingresses", ingress(json!({})), ingress(json!({})), &[]);
    created("networking.k8s.io", "ingresses", ingress(json!({"ingressClassName": "a"})), &[]);
}

#[test]
fn network_policies_have_ranges() {
    let block = json!({"ipBlock": {"cidr": "01.0.0.0/8", "except": ["1.2.0.0/16", "1.02.0.0/16"]}});
    let policy = json!({"spec": {"ingress": [null, {"from": [{}, block]}], "egress": [{"to": [block]}]}});
    let expected = |path: &str| {
        [
            format!(
                "{path}.ipBlock.cidr: non-standard CIDR value \"01.0.0.0/8\" is invalid: use \"1.0.0.0/8\""
            ),
            format!(
                "{path}.ipBlock.except[1]: non-standard CIDR value \"1.02.0.0/16\" is invalid: use \"1.2.0.0/16\""
            ),
        ]
    };
    let ingress = expected("spec.ingress[1].from[1]");
    let egress = expected("spec.egress[0].to[0]");
    let expected: Vec<&str> = ingress.iter().chain(&egress).map(String::as_str).collect();
    created("networking.k8s.io", "networkpolicies", policy.clone(), &expected);
    updated("networking.k8s.io", "networkpolicies", policy.clone(), policy, &expected);
}
