//! Resources of `admissionregistration.k8s.io`.

use schema::builtin::{
    IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICY,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDING,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDINGLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGWEBHOOKCONFIGURATION,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGWEBHOOKCONFIGURATIONLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICY,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYBINDING,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYBINDINGLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGWEBHOOKCONFIGURATION,
    IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGWEBHOOKCONFIGURATIONLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICY,
    IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICYBINDING,
    IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICYBINDINGLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICYLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICY,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICYBINDING,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICYBINDINGLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICYLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICY,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICYBINDING,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICYBINDINGLIST,
    IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICYLIST,
};

use super::{Builtin, METADATA_AND_SPEC, RESOURCE, Resource, STATUS, protobuf, since, subresource_of};

kinds! { in "admissionregistration.k8s.io":
    MutatingAdmissionPolicy: admissionregistration::mutating_admission_policy, NONE;
    MutatingAdmissionPolicyBinding: admissionregistration::mutating_admission_policy_binding, NONE;
    MutatingWebhookConfiguration: admissionregistration::mutating_webhook_configuration, NONE;
    ValidatingAdmissionPolicy: admissionregistration::validating_admission_policy, NONE;
    ValidatingAdmissionPolicyBinding: admissionregistration::validating_admission_policy_binding, NONE;
    ValidatingWebhookConfiguration: admissionregistration::validating_webhook_configuration, NONE;
}

/// Properties that all `admissionregistration.k8s.io/v1` resources share.
const V1: Resource = Resource {
    group: "admissionregistration.k8s.io",
    version: "v1",
    group_version: "admissionregistration.k8s.io/v1",
    kind_group_version: "admissionregistration.k8s.io/v1",
    namespaced: false,
    lifecycle: since(30),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Properties that all `admissionregistration.k8s.io/v1alpha1` resources share.
const V1ALPHA1: Resource = Resource {
    group: "admissionregistration.k8s.io",
    version: "v1alpha1",
    group_version: "admissionregistration.k8s.io/v1alpha1",
    kind_group_version: "admissionregistration.k8s.io/v1alpha1",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(32).deprecated(35).removed(38),
    ..RESOURCE
};

/// Properties that all `admissionregistration.k8s.io/v1beta1` resources share.
const V1BETA1: Resource = Resource {
    group: "admissionregistration.k8s.io",
    version: "v1beta1",
    group_version: "admissionregistration.k8s.io/v1beta1",
    kind_group_version: "admissionregistration.k8s.io/v1beta1",
    namespaced: false,
    off_by_default: true,
    lifecycle: since(34)
        .deprecated(37)
        .removed(40)
        .replaced_by("admissionregistration.k8s.io/v1 MutatingAdmissionPolicy"),
    ..RESOURCE
};

/// Properties of its validating policies, which are still served when emulating 1.33.
const V1BETA1_VALIDATING: Resource = Resource { lifecycle: since(28).deprecated(31).removed(34), ..V1BETA1 };

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "mutatingadmissionpolicies",
        builtin: Some(Builtin::MutatingAdmissionPolicy),
        kind: "MutatingAdmissionPolicy",
        singular: "mutatingadmissionpolicy",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICY,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicy",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICY,
            "mutatingadmissionpolicies",
        ),
        storage_version_hash: "mHCkTKpUTrE=",
        allow_unconditional_update: false,
        sets_generation: true,
        lifecycle: since(36),
        ..V1
    },
    Resource {
        plural: "mutatingadmissionpolicybindings",
        builtin: Some(Builtin::MutatingAdmissionPolicyBinding),
        kind: "MutatingAdmissionPolicyBinding",
        singular: "mutatingadmissionpolicybinding",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDING,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDINGLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicyBinding",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDING,
            "mutatingadmissionpolicybindings",
        ),
        storage_version_hash: "ZKgZT1uTmZ0=",
        allow_unconditional_update: false,
        sets_generation: true,
        lifecycle: since(36),
        ..V1
    },
    Resource {
        plural: "mutatingwebhookconfigurations",
        builtin: Some(Builtin::MutatingWebhookConfiguration),
        kind: "MutatingWebhookConfiguration",
        singular: "mutatingwebhookconfiguration",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGWEBHOOKCONFIGURATION,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGWEBHOOKCONFIGURATIONLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGWEBHOOKCONFIGURATION,
            "mutatingwebhookconfigurations",
        ),
        storage_version_hash: "Sqi0GUgDaX0=",
        allow_unconditional_update: false,
        sets_generation: true,
        lifecycle: since(16),
        ..V1
    },
    Resource {
        plural: "validatingadmissionpolicies",
        builtin: Some(Builtin::ValidatingAdmissionPolicy),
        kind: "ValidatingAdmissionPolicy",
        singular: "validatingadmissionpolicy",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICY,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICY,
            "validatingadmissionpolicies",
        ),
        storage_version_hash: "6OxvlMmQ6is=",
        allow_unconditional_update: false,
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "validatingadmissionpolicies",
        builtin: Some(Builtin::ValidatingAdmissionPolicy),
        subresource: "status",
        kind: "ValidatingAdmissionPolicy",
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICY,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..V1_SUB
    },
    Resource {
        plural: "validatingadmissionpolicybindings",
        builtin: Some(Builtin::ValidatingAdmissionPolicyBinding),
        kind: "ValidatingAdmissionPolicyBinding",
        singular: "validatingadmissionpolicybinding",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYBINDING,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYBINDINGLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicyBinding",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYBINDING,
            "validatingadmissionpolicybindings",
        ),
        storage_version_hash: "v9715VZqakg=",
        allow_unconditional_update: false,
        sets_generation: true,
        ..V1
    },
    Resource {
        plural: "validatingwebhookconfigurations",
        builtin: Some(Builtin::ValidatingWebhookConfiguration),
        kind: "ValidatingWebhookConfiguration",
        singular: "validatingwebhookconfiguration",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGWEBHOOKCONFIGURATION,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGWEBHOOKCONFIGURATIONLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGWEBHOOKCONFIGURATION,
            "validatingwebhookconfigurations",
        ),
        storage_version_hash: "B0wHjQmsGNk=",
        allow_unconditional_update: false,
        sets_generation: true,
        lifecycle: since(16),
        ..V1
    },
    Resource {
        plural: "mutatingadmissionpolicies",
        builtin: Some(Builtin::MutatingAdmissionPolicy),
        kind: "MutatingAdmissionPolicy",
        singular: "mutatingadmissionpolicy",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICY,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICYLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicy",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICY,
            "mutatingadmissionpolicies",
        ),
        storage_version_hash: "mHCkTKpUTrE=",
        allow_unconditional_update: false,
        sets_generation: true,
        ..V1ALPHA1
    },
    Resource {
        plural: "mutatingadmissionpolicybindings",
        builtin: Some(Builtin::MutatingAdmissionPolicyBinding),
        kind: "MutatingAdmissionPolicyBinding",
        singular: "mutatingadmissionpolicybinding",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICYBINDING,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1ALPHA1_MUTATINGADMISSIONPOLICYBINDINGLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicyBinding",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDING,
            "mutatingadmissionpolicybindings",
        ),
        storage_version_hash: "ZKgZT1uTmZ0=",
        allow_unconditional_update: false,
        sets_generation: true,
        ..V1ALPHA1
    },
    Resource {
        plural: "mutatingadmissionpolicies",
        builtin: Some(Builtin::MutatingAdmissionPolicy),
        kind: "MutatingAdmissionPolicy",
        singular: "mutatingadmissionpolicy",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICY,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICYLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicy",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICY,
            "mutatingadmissionpolicies",
        ),
        storage_version_hash: "mHCkTKpUTrE=",
        allow_unconditional_update: false,
        sets_generation: true,
        ..V1BETA1
    },
    Resource {
        plural: "mutatingadmissionpolicybindings",
        builtin: Some(Builtin::MutatingAdmissionPolicyBinding),
        kind: "MutatingAdmissionPolicyBinding",
        singular: "mutatingadmissionpolicybinding",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICYBINDING,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_MUTATINGADMISSIONPOLICYBINDINGLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "MutatingAdmissionPolicyBinding",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_MUTATINGADMISSIONPOLICYBINDING,
            "mutatingadmissionpolicybindings",
        ),
        storage_version_hash: "ZKgZT1uTmZ0=",
        allow_unconditional_update: false,
        sets_generation: true,
        lifecycle: since(34)
            .deprecated(37)
            .removed(40)
            .replaced_by("admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding"),
        ..V1BETA1
    },
    Resource {
        plural: "validatingadmissionpolicies",
        builtin: Some(Builtin::ValidatingAdmissionPolicy),
        kind: "ValidatingAdmissionPolicy",
        singular: "validatingadmissionpolicy",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICY,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICYLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICY,
            "validatingadmissionpolicies",
        ),
        storage_version_hash: "6OxvlMmQ6is=",
        allow_unconditional_update: false,
        sets_generation: true,
        reset_fields: STATUS,
        ..V1BETA1_VALIDATING
    },
    Resource {
        plural: "validatingadmissionpolicies",
        builtin: Some(Builtin::ValidatingAdmissionPolicy),
        subresource: "status",
        kind: "ValidatingAdmissionPolicy",
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICY,
        allow_unconditional_update: false,
        reset_fields: METADATA_AND_SPEC,
        ..subresource_of(V1BETA1_VALIDATING)
    },
    Resource {
        plural: "validatingadmissionpolicybindings",
        builtin: Some(Builtin::ValidatingAdmissionPolicyBinding),
        kind: "ValidatingAdmissionPolicyBinding",
        singular: "validatingadmissionpolicybinding",
        categories: &["api-extensions"],
        message: &IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICYBINDING,
        list_message: Some(&IO_K8S_API_ADMISSIONREGISTRATION_V1BETA1_VALIDATINGADMISSIONPOLICYBINDINGLIST),
        storage: protobuf(
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicyBinding",
            &IO_K8S_API_ADMISSIONREGISTRATION_V1_VALIDATINGADMISSIONPOLICYBINDING,
            "validatingadmissionpolicybindings",
        ),
        storage_version_hash: "v9715VZqakg=",
        allow_unconditional_update: false,
        sets_generation: true,
        ..V1BETA1_VALIDATING
    },
];
