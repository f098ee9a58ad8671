//! Fields of resource slices behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedPath, Path, gated_by, gated_path};
use component_base::features::Gate;

pub(super) const GATED: &[GatedPath] = &[gated_path(
    &["spec"],
    &[
        gated_by(Gate::DRADeviceTaints, &[&["devices", EACH, "taints"]]),
        gated_by(
            Gate::DRAPartitionableDevices,
            &[
                &["sharedCounters"],
                &["perDeviceNodeSelection"],
                &["devices", EACH, "consumesCounters"],
                &["devices", EACH, "nodeName"],
                &["devices", EACH, "nodeSelector"],
                &["devices", EACH, "allNodes"],
            ],
        ),
        // These fields need both gates.
        gated_by(Gate::DRADeviceBindingConditions, BINDING_CONDITIONS),
        gated_by(Gate::DRAResourceClaimDeviceStatus, BINDING_CONDITIONS),
        gated_by(
            Gate::DRAConsumableCapacity,
            &[
                &["devices", EACH, "allowMultipleAllocations"],
                &["devices", EACH, "capacity", EACH, "requestPolicy"],
            ],
        ),
        gated_by(Gate::DRANodeAllocatableResources, &[&["devices", EACH, "nodeAllocatableResources"]]),
        gated_by(
            Gate::DRADeviceCompatibilityGroups,
            &[&["devices", EACH, "consumesCounters", EACH, "compatibilityGroups"]],
        ),
        gated_by(Gate::DRAPartitionableDevicesType, &[&["partitionTypeAttribute"]]),
        gated_by(Gate::DRAOptionalNodeOperations, &[&["skipNodeOperations"]]),
        gated_by(
            Gate::DRAListTypeAttributes,
            &[
                &["devices", EACH, "attributes", EACH, "bools"],
                &["devices", EACH, "attributes", EACH, "ints"],
                &["devices", EACH, "attributes", EACH, "strings"],
                &["devices", EACH, "attributes", EACH, "versions"],
            ],
        ),
    ],
)];

const BINDING_CONDITIONS: &[Path] = &[
    &["devices", EACH, "bindingConditions"],
    &["devices", EACH, "bindingFailureConditions"],
    &["devices", EACH, "bindsToNode"],
];
