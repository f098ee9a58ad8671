//! Fields of pod groups behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, gated_by, gated_path, unsupported};
use component_base::features::Gate;

/// Spec of pod groups and of their templates in workloads.
const POD_GROUP_SPEC: &[GatedFields] = &[
    // TopologyAwareWorkloadScheduling
    unsupported(&[&["schedulingConstraints"]]),
    gated_by(Gate::DRAWorkloadResourceClaims, &[&["resourceClaims"]]),
    // WorkloadAwarePreemption
    unsupported(&[&["disruptionMode"]]),
    unsupported(&[&["priorityClassName"]]),
    unsupported(&[&["priority"]]),
];

pub(super) const POD_GROUP: &[GatedPath] = &[gated_path(&["spec"], POD_GROUP_SPEC)];

pub(super) const WORKLOAD: &[GatedPath] = &[gated_path(&["spec", "podGroupTemplates", EACH], POD_GROUP_SPEC)];
