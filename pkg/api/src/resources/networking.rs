//! Resources of `networking.k8s.io`.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_NETWORKING_V1_INGRESS, IO_K8S_API_NETWORKING_V1_INGRESSCLASS,
    IO_K8S_API_NETWORKING_V1_INGRESSCLASSLIST, IO_K8S_API_NETWORKING_V1_INGRESSLIST,
    IO_K8S_API_NETWORKING_V1_IPADDRESS, IO_K8S_API_NETWORKING_V1_IPADDRESSLIST,
    IO_K8S_API_NETWORKING_V1_NETWORKPOLICY, IO_K8S_API_NETWORKING_V1_NETWORKPOLICYLIST,
    IO_K8S_API_NETWORKING_V1_SERVICECIDR, IO_K8S_API_NETWORKING_V1_SERVICECIDRLIST,
    IO_K8S_API_NETWORKING_V1BETA1_IPADDRESS, IO_K8S_API_NETWORKING_V1BETA1_IPADDRESSLIST,
    IO_K8S_API_NETWORKING_V1BETA1_SERVICECIDR, IO_K8S_API_NETWORKING_V1BETA1_SERVICECIDRLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, SPEC, STATUS, protobuf, since, subresource_of};

kinds! { in "networking.k8s.io":
    IPAddress: networking::ip_address, NONE;
    Ingress: networking::ingress, ingress::CONVERSION;
    IngressClass: networking::ingress_class, NONE;
    NetworkPolicy: networking::network_policy, NONE;
    ServiceCIDR: networking::service_cidr, NONE;
}

/// Properties that all `networking.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "networking.k8s.io",
    version: "v1",
    group_version: "networking.k8s.io/v1",
    kind_group_version: "networking.k8s.io/v1",
    namespaced: false,
    lifecycle: since(19),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `networking.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "networking.k8s.io",
    version: "v1beta1",
    group_version: "networking.k8s.io/v1beta1",
    kind_group_version: "networking.k8s.io/v1beta1",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(31).deprecated(34).removed(37),
    ..RESOURCE
};

const V1BETA1_SUB: Resource = subresource_of(V1BETA1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "ingressclasses",
        builtin: Some(Builtin::IngressClass),
        kind: "IngressClass",
        singular: "ingressclass",
        message: &IO_K8S_API_NETWORKING_V1_INGRESSCLASS,
        list_message: Some(&IO_K8S_API_NETWORKING_V1_INGRESSCLASSLIST),
        storage: protobuf(
            "networking.k8s.io/v1",
            "IngressClass",
            &IO_K8S_API_NETWORKING_V1_INGRESSCLASS,
            "ingressclasses",
        ),
        storage_version_hash: "l/iqIbDgFyQ=",
        sets_generation: true,
        ..V1
    },
    Resource {
        plural: "ingresses",
        builtin: Some(Builtin::Ingress),
        kind: "Ingress",
        singular: "ingress",
        short_names: &["ing"],
        namespaced: true,
        message: &IO_K8S_API_NETWORKING_V1_INGRESS,
        list_message: Some(&IO_K8S_API_NETWORKING_V1_INGRESSLIST),
        storage: protobuf("networking.k8s.io/v1", "Ingress", &IO_K8S_API_NETWORKING_V1_INGRESS, "ingress"),
        storage_version_hash: "39NQlfNR+bo=",
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "ingresses",
        builtin: Some(Builtin::Ingress),
        subresource: "status",
        kind: "Ingress",
        namespaced: true,
        message: &IO_K8S_API_NETWORKING_V1_INGRESS,
        reset_fields: SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "ipaddresses",
        builtin: Some(Builtin::IPAddress),
        kind: "IPAddress",
        singular: "ipaddress",
        short_names: &["ip"],
        message: &IO_K8S_API_NETWORKING_V1_IPADDRESS,
        list_message: Some(&IO_K8S_API_NETWORKING_V1_IPADDRESSLIST),
        storage: protobuf(
            "networking.k8s.io/v1",
            "IPAddress",
            &IO_K8S_API_NETWORKING_V1_IPADDRESS,
            "ipaddresses",
        ),
        storage_version_hash: "3f/plJFChNE=",
        lifecycle: since(33),
        ..V1
    },
    Resource {
        plural: "networkpolicies",
        builtin: Some(Builtin::NetworkPolicy),
        kind: "NetworkPolicy",
        singular: "networkpolicy",
        short_names: &["netpol"],
        namespaced: true,
        message: &IO_K8S_API_NETWORKING_V1_NETWORKPOLICY,
        list_message: Some(&IO_K8S_API_NETWORKING_V1_NETWORKPOLICYLIST),
        storage: protobuf(
            "networking.k8s.io/v1",
            "NetworkPolicy",
            &IO_K8S_API_NETWORKING_V1_NETWORKPOLICY,
            "networkpolicies",
        ),
        storage_version_hash: "YpfwF18m1G8=",
        sets_generation: true,
        lifecycle: since(7),
        ..V1
    },
    Resource {
        plural: "servicecidrs",
        builtin: Some(Builtin::ServiceCIDR),
        kind: "ServiceCIDR",
        singular: "servicecidr",
        message: &IO_K8S_API_NETWORKING_V1_SERVICECIDR,
        list_message: Some(&IO_K8S_API_NETWORKING_V1_SERVICECIDRLIST),
        storage: protobuf(
            "networking.k8s.io/v1",
            "ServiceCIDR",
            &IO_K8S_API_NETWORKING_V1_SERVICECIDR,
            "servicecidrs",
        ),
        storage_version_hash: "gNLvruQhW2g=",
        reset_fields: STATUS,
        reset_gate: Some(Gate::ServiceCIDRStatusFieldWiping),
        lifecycle: since(33),
        ..V1
    },
    Resource {
        plural: "servicecidrs",
        builtin: Some(Builtin::ServiceCIDR),
        subresource: "status",
        kind: "ServiceCIDR",
        message: &IO_K8S_API_NETWORKING_V1_SERVICECIDR,
        reset_fields: METADATA_AND_SPEC,
        lifecycle: since(33),
        ..V1_SUB
    },
    Resource {
        plural: "ipaddresses",
        builtin: Some(Builtin::IPAddress),
        kind: "IPAddress",
        singular: "ipaddress",
        short_names: &["ip"],
        message: &IO_K8S_API_NETWORKING_V1BETA1_IPADDRESS,
        list_message: Some(&IO_K8S_API_NETWORKING_V1BETA1_IPADDRESSLIST),
        storage: protobuf(
            "networking.k8s.io/v1",
            "IPAddress",
            &IO_K8S_API_NETWORKING_V1_IPADDRESS,
            "ipaddresses",
        ),
        storage_version_hash: "3f/plJFChNE=",
        ..V1BETA1
    },
    Resource {
        plural: "servicecidrs",
        builtin: Some(Builtin::ServiceCIDR),
        kind: "ServiceCIDR",
        singular: "servicecidr",
        message: &IO_K8S_API_NETWORKING_V1BETA1_SERVICECIDR,
        list_message: Some(&IO_K8S_API_NETWORKING_V1BETA1_SERVICECIDRLIST),
        storage: protobuf(
            "networking.k8s.io/v1",
            "ServiceCIDR",
            &IO_K8S_API_NETWORKING_V1_SERVICECIDR,
            "servicecidrs",
        ),
        storage_version_hash: "gNLvruQhW2g=",
        reset_fields: STATUS,
        reset_gate: Some(Gate::ServiceCIDRStatusFieldWiping),
        ..V1BETA1
    },
    Resource {
        plural: "servicecidrs",
        builtin: Some(Builtin::ServiceCIDR),
        subresource: "status",
        kind: "ServiceCIDR",
        message: &IO_K8S_API_NETWORKING_V1BETA1_SERVICECIDR,
        reset_fields: METADATA_AND_SPEC,
        ..V1BETA1_SUB
    },
];
