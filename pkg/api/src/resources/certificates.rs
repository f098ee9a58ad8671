//! Resources of `certificates.k8s.io`.

use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUEST,
    IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUESTLIST, IO_K8S_API_CERTIFICATES_V1_CLUSTERTRUSTBUNDLE,
    IO_K8S_API_CERTIFICATES_V1_CLUSTERTRUSTBUNDLELIST, IO_K8S_API_CERTIFICATES_V1_PODCERTIFICATEREQUEST,
    IO_K8S_API_CERTIFICATES_V1_PODCERTIFICATEREQUESTLIST,
    IO_K8S_API_CERTIFICATES_V1ALPHA1_CLUSTERTRUSTBUNDLE,
    IO_K8S_API_CERTIFICATES_V1ALPHA1_CLUSTERTRUSTBUNDLELIST,
    IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLE,
    IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLELIST,
    IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUEST,
    IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUESTLIST,
};

use super::{
    Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, label_equal_to_path, protobuf, since,
    subresource_of,
};

kinds! { in "certificates.k8s.io":
    CertificateSigningRequest: certificates::certificate_signing_request, certificate_signing_request::CONVERSION;
    ClusterTrustBundle: certificates::cluster_trust_bundle, NONE;
    PodCertificateRequest: certificates::pod_certificate_request, pod_certificate_request::CONVERSION;
}

/// Properties that all `certificates.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "certificates.k8s.io",
    version: "v1",
    group_version: "certificates.k8s.io/v1",
    kind_group_version: "certificates.k8s.io/v1",
    namespaced: false,
    lifecycle: since(19),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `certificates.k8s.io/v1alpha1` resources share.
const V1ALPHA1: Resource = Resource {
    group: "certificates.k8s.io",
    version: "v1alpha1",
    group_version: "certificates.k8s.io/v1alpha1",
    kind_group_version: "certificates.k8s.io/v1alpha1",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(26).deprecated(34).removed(37),
    ..RESOURCE
};

/// Properties that all `certificates.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "certificates.k8s.io",
    version: "v1beta1",
    group_version: "certificates.k8s.io/v1beta1",
    kind_group_version: "certificates.k8s.io/v1beta1",
    off_by_default: true,
    lifecycle: since(35)
        .deprecated(37)
        .removed(40)
        .replaced_by("certificates.k8s.io/v1 PodCertificateRequest"),
    ..RESOURCE
};

const V1BETA1_SUB: Resource = subresource_of(V1BETA1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "certificatesigningrequests",
        builtin: Some(Builtin::CertificateSigningRequest),
        kind: "CertificateSigningRequest",
        singular: "certificatesigningrequest",
        short_names: &["csr"],
        message: &IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUEST,
        list_message: Some(&IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUESTLIST),
        storage: protobuf(
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
            &IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUEST,
            "certificatesigningrequests",
        ),
        storage_version_hash: "95fRKMXA+00=",
        field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("spec.signerName")],
        reset_fields: &[".spec", ".status"],
        ..V1
    },
    Resource {
        plural: "certificatesigningrequests",
        builtin: Some(Builtin::CertificateSigningRequest),
        subresource: "approval",
        kind: "CertificateSigningRequest",
        message: &IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUEST,
        reset_fields: &[".spec", ".status.certificate"],
        ..V1_SUB
    },
    Resource {
        plural: "certificatesigningrequests",
        builtin: Some(Builtin::CertificateSigningRequest),
        subresource: "status",
        kind: "CertificateSigningRequest",
        message: &IO_K8S_API_CERTIFICATES_V1_CERTIFICATESIGNINGREQUEST,
        reset_fields: &[".spec", ".status.conditions"],
        ..V1_SUB
    },
    Resource {
        plural: "clustertrustbundles",
        pinned_storage: true,
        gate: Some(Gate::ClusterTrustBundle),
        builtin: Some(Builtin::ClusterTrustBundle),
        kind: "ClusterTrustBundle",
        singular: "clustertrustbundle",
        message: &IO_K8S_API_CERTIFICATES_V1_CLUSTERTRUSTBUNDLE,
        list_message: Some(&IO_K8S_API_CERTIFICATES_V1_CLUSTERTRUSTBUNDLELIST),
        storage: protobuf(
            "certificates.k8s.io/v1beta1",
            "ClusterTrustBundle",
            &IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLE,
            "clustertrustbundles",
        ),
        storage_version_hash: "v5yhuVertL4=",
        allow_unconditional_update: false,
        field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("spec.signerName")],
        lifecycle: since(37),
        ..V1
    },
    Resource {
        plural: "podcertificaterequests",
        pinned_storage: true,
        gate: Some(Gate::PodCertificateRequest),
        builtin: Some(Builtin::PodCertificateRequest),
        kind: "PodCertificateRequest",
        namespaced: true,
        singular: "podcertificaterequest",
        message: &IO_K8S_API_CERTIFICATES_V1_PODCERTIFICATEREQUEST,
        list_message: Some(&IO_K8S_API_CERTIFICATES_V1_PODCERTIFICATEREQUESTLIST),
        storage: protobuf(
            "certificates.k8s.io/v1beta1",
            "PodCertificateRequest",
            &IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUEST,
            "podcertificaterequests",
        ),
        storage_version_hash: "wYA9yXQH8fg=",
        allow_unconditional_update: false,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("spec.nodeName"),
            label_equal_to_path("spec.podName"),
            label_equal_to_path("spec.signerName"),
        ],
        reset_fields: STATUS,
        lifecycle: since(37),
        ..V1
    },
    Resource {
        plural: "podcertificaterequests",
        gate: Some(Gate::PodCertificateRequest),
        builtin: Some(Builtin::PodCertificateRequest),
        subresource: "status",
        kind: "PodCertificateRequest",
        namespaced: true,
        message: &IO_K8S_API_CERTIFICATES_V1_PODCERTIFICATEREQUEST,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        lifecycle: since(37),
        ..V1_SUB
    },
    Resource {
        plural: "clustertrustbundles",
        pinned_storage: true,
        gate: Some(Gate::ClusterTrustBundle),
        builtin: Some(Builtin::ClusterTrustBundle),
        kind: "ClusterTrustBundle",
        singular: "clustertrustbundle",
        message: &IO_K8S_API_CERTIFICATES_V1ALPHA1_CLUSTERTRUSTBUNDLE,
        list_message: Some(&IO_K8S_API_CERTIFICATES_V1ALPHA1_CLUSTERTRUSTBUNDLELIST),
        storage: protobuf(
            "certificates.k8s.io/v1beta1",
            "ClusterTrustBundle",
            &IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLE,
            "clustertrustbundles",
        ),
        storage_version_hash: "v5yhuVertL4=",
        allow_unconditional_update: false,
        field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("spec.signerName")],
        ..V1ALPHA1
    },
    Resource {
        plural: "clustertrustbundles",
        pinned_storage: true,
        gate: Some(Gate::ClusterTrustBundle),
        builtin: Some(Builtin::ClusterTrustBundle),
        kind: "ClusterTrustBundle",
        singular: "clustertrustbundle",
        namespaced: false,
        message: &IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLE,
        list_message: Some(&IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLELIST),
        storage: protobuf(
            "certificates.k8s.io/v1beta1",
            "ClusterTrustBundle",
            &IO_K8S_API_CERTIFICATES_V1BETA1_CLUSTERTRUSTBUNDLE,
            "clustertrustbundles",
        ),
        storage_version_hash: "v5yhuVertL4=",
        allow_unconditional_update: false,
        field_selectors: &[label_equal_to_path("metadata.name"), label_equal_to_path("spec.signerName")],
        lifecycle: since(33)
            .deprecated(37)
            .removed(40)
            .replaced_by("certificates.k8s.io/v1 ClusterTrustBundle"),
        ..V1BETA1
    },
    Resource {
        plural: "podcertificaterequests",
        pinned_storage: true,
        gate: Some(Gate::PodCertificateRequest),
        builtin: Some(Builtin::PodCertificateRequest),
        kind: "PodCertificateRequest",
        singular: "podcertificaterequest",
        message: &IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUEST,
        list_message: Some(&IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUESTLIST),
        storage: protobuf(
            "certificates.k8s.io/v1beta1",
            "PodCertificateRequest",
            &IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUEST,
            "podcertificaterequests",
        ),
        storage_version_hash: "wYA9yXQH8fg=",
        allow_unconditional_update: false,
        field_selectors: &[
            label_equal_to_path("metadata.name"),
            label_equal_to_path("spec.nodeName"),
            label_equal_to_path("spec.podName"),
            label_equal_to_path("spec.signerName"),
        ],
        reset_fields: STATUS,
        ..V1BETA1
    },
    Resource {
        plural: "podcertificaterequests",
        gate: Some(Gate::PodCertificateRequest),
        builtin: Some(Builtin::PodCertificateRequest),
        subresource: "status",
        kind: "PodCertificateRequest",
        message: &IO_K8S_API_CERTIFICATES_V1BETA1_PODCERTIFICATEREQUEST,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1BETA1_SUB
    },
];
