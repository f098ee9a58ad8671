//! Fields of pod groups behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, behind, place, unsupported};
use component_base::features::Gate;

/// Spec of pod groups and of their templates in workloads.
const POD_GROUP_SPEC: &[GatedFields] = &[
    // TopologyAwareWorkloadScheduling
    unsupported(&[&["schedulingConstraints"]]),
    behind(Gate::DRAWorkloadResourceClaims, &[&["resourceClaims"]]),
    // WorkloadAwarePreemption
    unsupported(&[&["disruptionMode"]]),
    unsupported(&[&["priorityClassName"]]),
    unsupported(&[&["priority"]]),
];

pub(super) const POD_GROUP: &[GatedPath] = &[place(&["spec"], POD_GROUP_SPEC)];

pub(super) const WORKLOAD: &[GatedPath] = &[place(&["spec", "podGroupTemplates", EACH], POD_GROUP_SPEC)];
