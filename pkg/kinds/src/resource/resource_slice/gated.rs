//! Fields of resource slices behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedPath, Path, behind, place, unsupported};
use component_base::features::Gate;

pub(super) const GATED: &[GatedPath] = &[place(
    &["spec"],
    &[
        behind(Gate::DRADeviceTaints, &[&["devices", EACH, "taints"]]),
        behind(
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
        behind(Gate::DRADeviceBindingConditions, BINDING_CONDITIONS),
        behind(Gate::DRAResourceClaimDeviceStatus, BINDING_CONDITIONS),
        behind(
            Gate::DRAConsumableCapacity,
            &[
                &["devices", EACH, "allowMultipleAllocations"],
                &["devices", EACH, "capacity", EACH, "requestPolicy"],
            ],
        ),
        // DRANodeAllocatableResources
        unsupported(&[&["devices", EACH, "nodeAllocatableResourceMappings"]]),
        behind(
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
