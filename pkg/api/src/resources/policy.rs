//! Resources of `policy`.

use schema::builtin::{
    IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGET, IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGETLIST,
};

use super::{Builtin, RESOURCE, Resource, SPEC, STATUS, protobuf, since, subresource_of};

kinds! { in "policy":
    PodDisruptionBudget: policy::pod_disruption_budget, pod_disruption_budget::CONVERSION;
}

/// Properties that all `policy/v1` resources share.
const V1: Resource = Resource {
    group: "policy",
    version: "v1",
    group_version: "policy/v1",
    kind_group_version: "policy/v1",
    lifecycle: since(21),
    ..RESOURCE
};

const V1_SUB: Resource = subresource_of(V1);

/// Sorted by version, plural and subresource.
pub(super) static ROWS: &[Resource] = &[
    Resource {
        plural: "poddisruptionbudgets",
        builtin: Some(Builtin::PodDisruptionBudget),
        kind: "PodDisruptionBudget",
        singular: "poddisruptionbudget",
        short_names: &["pdb"],
        message: &IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGET,
        list_message: Some(&IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGETLIST),
        storage: protobuf(
            "policy/v1",
            "PodDisruptionBudget",
            &IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGET,
            "poddisruptionbudgets",
        ),
        storage_version_hash: "EVWiDmWqyJw=",
        allow_unconditional_update: false,
        sets_generation: true,
        reset_fields: STATUS,
        ..V1
    },
    Resource {
        plural: "poddisruptionbudgets",
        builtin: Some(Builtin::PodDisruptionBudget),
        subresource: "status",
        kind: "PodDisruptionBudget",
        message: &IO_K8S_API_POLICY_V1_PODDISRUPTIONBUDGET,
        allow_unconditional_update: false,
        reset_fields: SPEC,
        ..V1_SUB
    },
];
