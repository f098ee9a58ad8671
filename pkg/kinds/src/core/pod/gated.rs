//! Fields of pods behind feature gates.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, gated_by, gated_path};
use crate::strategy::gated::shared::{OLD_ANNOTATIONS, POD_SPEC};
use component_base::features::Gate;

/// Gated fields of a pod's status, relative to the pod, because some count as in use if the spec uses the
/// feature.
const POD_STATUS: &[GatedFields] = &[
    gated_by(
        Gate::InPlacePodLevelResourcesVerticalScaling,
        &[&["status", "resources"], &["status", "allocatedResources"]],
    ),
    gated_by(
        Gate::InPlacePodVerticalScaling,
        &[
            &["status", "containerStatuses", EACH, "resources"],
            &["status", "containerStatuses", EACH, "allocatedResources"],
            &["status", "initContainerStatuses", EACH, "resources"],
            &["status", "initContainerStatuses", EACH, "allocatedResources"],
            &["status", "ephemeralContainerStatuses", EACH, "resources"],
            &["status", "ephemeralContainerStatuses", EACH, "allocatedResources"],
        ],
    )
    .used_by(&[
        &["spec", "containers", EACH, "resizePolicy"],
        &["spec", "initContainers", EACH, "resizePolicy"],
    ]),
    gated_by(Gate::DynamicResourceAllocation, &[&["status", "resourceClaimStatuses"]])
        .used_by(&[&["spec", "resourceClaims"]]),
    gated_by(Gate::DRAExtendedResource, &[&["status", "extendedResourceClaimStatus"]]),
    gated_by(
        Gate::ResourceHealthStatus,
        &[
            &["status", "containerStatuses", EACH, "allocatedResourcesStatus"],
            &["status", "initContainerStatuses", EACH, "allocatedResourcesStatus"],
            &["status", "ephemeralContainerStatuses", EACH, "allocatedResourcesStatus"],
        ],
    ),
    gated_by(
        Gate::ResourceHealthStatusMessage,
        &[
            &[
                "status",
                "containerStatuses",
                EACH,
                "allocatedResourcesStatus",
                EACH,
                "resources",
                EACH,
                "message",
            ],
            &[
                "status",
                "initContainerStatuses",
                EACH,
                "allocatedResourcesStatus",
                EACH,
                "resources",
                EACH,
                "message",
            ],
            &[
                "status",
                "ephemeralContainerStatuses",
                EACH,
                "allocatedResourcesStatus",
                EACH,
                "resources",
                EACH,
                "message",
            ],
        ],
    ),
    gated_by(
        Gate::SupplementalGroupsPolicy,
        &[
            &["status", "containerStatuses", EACH, "user"],
            &["status", "initContainerStatuses", EACH, "user"],
            &["status", "ephemeralContainerStatuses", EACH, "user"],
        ],
    )
    .used_by(&[&["spec", "securityContext", "supplementalGroupsPolicy"]]),
    gated_by(
        Gate::PodObservedGenerationTracking,
        &[&["status", "observedGeneration"], &["status", "conditions", EACH, "observedGeneration"]],
    ),
    gated_by(
        Gate::ImageVolumeWithDigest,
        &[
            &["status", "containerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
            &["status", "initContainerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
            &["status", "ephemeralContainerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
        ],
    ),
    gated_by(Gate::DRANodeAllocatableResources, &[&["status", "nodeAllocatableResourceClaimStatuses"]]),
    gated_by(Gate::CSIVolumeHealth, &[&["status", "volumeHealth"]]),
];

pub(super) const GATED: &[GatedPath] =
    &[gated_path(&[], OLD_ANNOTATIONS), gated_path(&["spec"], POD_SPEC), gated_path(&[], POD_STATUS)];
