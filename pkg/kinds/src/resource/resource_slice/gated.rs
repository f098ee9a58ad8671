//! Fields of resource slices behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedPath, Path, gated_by, gated_path, unsupported};
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
        // DRANodeAllocatableResources
        unsupported(&[&["devices", EACH, "nodeAllocatableResourceMappings"]]),
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
