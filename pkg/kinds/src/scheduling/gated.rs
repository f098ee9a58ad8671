//! Fields of pod groups and workloads behind feature gates.

use crate::strategy::gated::fields::{EACH, EACH_NAMED, GatedFields, GatedPath, gated_by, gated_path};
use component_base::features::Gate;

/// Spec of pod groups.
const GROUP_SPEC: &[GatedFields] = &[
    gated_by(Gate::TopologyAwareWorkloadScheduling, &[&["schedulingConstraints"]]),
    gated_by(Gate::DRAWorkloadResourceClaims, &[&["resourceClaims"]]),
    gated_by(Gate::PodGroupPreemptionPolicy, &[&["preemptionPolicy"]]),
    gated_by(Gate::CompositePodGroup, &[&["parentCompositePodGroupName"]]),
];

/// Templates of pod groups.
const TEMPLATE: &[GatedFields] = &[
    gated_by(Gate::TopologyAwareWorkloadScheduling, &[&["schedulingConstraints"]]),
    gated_by(Gate::DRAWorkloadResourceClaims, &[&["resourceClaims"]]),
    gated_by(Gate::PodGroupPreemptionPolicy, &[&["preemptionPolicy"]]),
];

const COMPOSITE_SPEC: &[GatedFields] = &[gated_by(Gate::PodGroupPreemptionPolicy, &[&["preemptionPolicy"]])];

/// Templates of composite pod groups.
const COMPOSITE_TEMPLATE: &[GatedFields] = &[
    gated_by(Gate::PodGroupPreemptionPolicy, &[&["preemptionPolicy"]]),
    gated_by(Gate::CompositePodGroup, &[&["compositePodGroupTemplates"]]),
];

const WORKLOAD_SPEC: &[GatedFields] =
    &[gated_by(Gate::CompositePodGroup, &[&["compositePodGroupTemplates"]])];

pub(super) const POD_GROUP: &[GatedPath] = &[gated_path(&["spec"], GROUP_SPEC)];

pub(super) const COMPOSITE_POD_GROUP: &[GatedPath] = &[gated_path(&["spec"], COMPOSITE_SPEC)];

const GROUPS: &str = "podGroupTemplates";
const COMPOSITES: &str = "compositePodGroupTemplates";

/// Templates nest at most four levels deep.
pub(super) const WORKLOAD: &[GatedPath] = &[
    gated_path(&["spec", GROUPS, EACH], TEMPLATE),
    gated_path(&["spec"], WORKLOAD_SPEC),
    gated_path(&["spec", COMPOSITES, EACH_NAMED], COMPOSITE_TEMPLATE),
    gated_path(&["spec", COMPOSITES, EACH_NAMED, GROUPS, EACH], TEMPLATE),
    gated_path(&["spec", COMPOSITES, EACH_NAMED, COMPOSITES, EACH_NAMED], COMPOSITE_TEMPLATE),
    gated_path(&["spec", COMPOSITES, EACH_NAMED, COMPOSITES, EACH_NAMED, GROUPS, EACH], TEMPLATE),
    gated_path(
        &["spec", COMPOSITES, EACH_NAMED, COMPOSITES, EACH_NAMED, COMPOSITES, EACH_NAMED],
        COMPOSITE_TEMPLATE,
    ),
    gated_path(
        &["spec", COMPOSITES, EACH_NAMED, COMPOSITES, EACH_NAMED, COMPOSITES, EACH_NAMED, GROUPS, EACH],
        TEMPLATE,
    ),
];
