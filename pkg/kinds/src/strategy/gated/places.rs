//! Gated fields by kind, with their gates.

use component_base::features::Gate;

use super::GatedFields;

/// Member names, one per step.
pub(crate) type Path = &'static [&'static str];

/// Step into every item of a list, or every value of a map.
pub(crate) const EACH: &str = "*";

/// Gated fields below one path of an object. [`EACH`] in this path pairs the items of the new and the old
/// object by position.
pub(crate) struct GatedPath {
    pub(crate) at: Path,
    pub(crate) fields: &'static [GatedFields],
    /// Subresource whose writes do not drop these fields, although it writes them.
    pub(crate) not_through: Option<&'static str>,
}

const fn place(at: Path, fields: &'static [GatedFields]) -> GatedPath {
    GatedPath { at, fields, not_through: None }
}

const fn behind(gate: Gate, fields: &'static [Path]) -> GatedFields {
    GatedFields { gate: Some(gate), fields, used_by: &[], with_empty_parent: false }
}

/// Fields that are dropped whatever the gates are.
const fn never(fields: &'static [Path]) -> GatedFields {
    GatedFields { gate: None, fields, used_by: &[], with_empty_parent: false }
}

/// Fields of an unsupported gate: their values have no validation yet.
const fn unsupported(fields: &'static [Path]) -> GatedFields {
    never(fields)
}

impl GatedFields {
    const fn used_by(self, used_by: &'static [Path]) -> Self {
        GatedFields { used_by, ..self }
    }

    const fn with_empty_parent(self) -> Self {
        GatedFields { with_empty_parent: true, ..self }
    }
}

const POD_SPEC: &[GatedFields] = &[
    behind(Gate::UserNamespacesSupport, &[&["hostUsers"]]),
    behind(Gate::SupplementalGroupsPolicy, &[&["securityContext", "supplementalGroupsPolicy"]]),
    behind(Gate::SELinuxChangePolicy, &[&["securityContext", "seLinuxChangePolicy"]]),
    behind(Gate::PodLevelResources, &[&["resources"]])
        .used_by(&[&["resources", "requests", EACH], &["resources", "limits", EACH]]),
    behind(
        Gate::MatchLabelKeysInPodTopologySpread,
        &[&["topologySpreadConstraints", EACH, "matchLabelKeys"]],
    ),
    behind(
        Gate::DynamicResourceAllocation,
        &[
            &["containers", EACH, "resources", "claims"],
            &["initContainers", EACH, "resources", "claims"],
            &["ephemeralContainers", EACH, "resources", "claims"],
            &["resourceClaims"],
        ],
    )
    .used_by(&[&["resourceClaims"]]),
    behind(
        Gate::ClusterTrustBundleProjection,
        &[&["volumes", EACH, "projected", "sources", EACH, "clusterTrustBundle"]],
    ),
    behind(
        Gate::PodCertificateRequest,
        &[&["volumes", EACH, "projected", "sources", EACH, "podCertificate"]],
    ),
    behind(Gate::GenericWorkload, &[&["schedulingGroup"]]),
    behind(
        Gate::InPlacePodVerticalScaling,
        &[
            &["containers", EACH, "resizePolicy"],
            &["initContainers", EACH, "resizePolicy"],
            &["ephemeralContainers", EACH, "resizePolicy"],
        ],
    )
    .used_by(&[&["containers", EACH, "resizePolicy"], &["initContainers", EACH, "resizePolicy"]]),
    behind(Gate::HostnameOverride, &[&["hostnameOverride"]]),
    behind(
        Gate::EnvFiles,
        &[
            &["containers", EACH, "env", EACH, "valueFrom", "fileKeyRef"],
            &["initContainers", EACH, "env", EACH, "valueFrom", "fileKeyRef"],
            &["ephemeralContainers", EACH, "env", EACH, "valueFrom", "fileKeyRef"],
        ],
    ),
    behind(
        Gate::PodLifecycleSleepAction,
        &[
            &["containers", EACH, "lifecycle", "preStop", "sleep"],
            &["containers", EACH, "lifecycle", "postStart", "sleep"],
            &["initContainers", EACH, "lifecycle", "preStop", "sleep"],
            &["initContainers", EACH, "lifecycle", "postStart", "sleep"],
            &["ephemeralContainers", EACH, "lifecycle", "preStop", "sleep"],
            &["ephemeralContainers", EACH, "lifecycle", "postStart", "sleep"],
        ],
    )
    .with_empty_parent(),
    behind(
        Gate::ContainerStopSignals,
        &[
            &["containers", EACH, "lifecycle", "stopSignal"],
            &["initContainers", EACH, "lifecycle", "stopSignal"],
            &["ephemeralContainers", EACH, "lifecycle", "stopSignal"],
        ],
    )
    .with_empty_parent(),
];

/// Gated fields of a pod's status, relative to the pod, because some count as in use if the spec uses the
/// feature.
const POD_STATUS: &[GatedFields] = &[
    behind(
        Gate::InPlacePodLevelResourcesVerticalScaling,
        &[&["status", "resources"], &["status", "allocatedResources"]],
    ),
    behind(
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
    behind(Gate::DynamicResourceAllocation, &[&["status", "resourceClaimStatuses"]])
        .used_by(&[&["spec", "resourceClaims"]]),
    behind(Gate::DRAExtendedResource, &[&["status", "extendedResourceClaimStatus"]]),
    behind(
        Gate::ResourceHealthStatus,
        &[
            &["status", "containerStatuses", EACH, "allocatedResourcesStatus"],
            &["status", "initContainerStatuses", EACH, "allocatedResourcesStatus"],
            &["status", "ephemeralContainerStatuses", EACH, "allocatedResourcesStatus"],
        ],
    ),
    behind(
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
    behind(
        Gate::SupplementalGroupsPolicy,
        &[
            &["status", "containerStatuses", EACH, "user"],
            &["status", "initContainerStatuses", EACH, "user"],
            &["status", "ephemeralContainerStatuses", EACH, "user"],
        ],
    )
    .used_by(&[&["spec", "securityContext", "supplementalGroupsPolicy"]]),
    behind(
        Gate::PodObservedGenerationTracking,
        &[&["status", "observedGeneration"], &["status", "conditions", EACH, "observedGeneration"]],
    ),
    // ImageVolumeWithDigest
    unsupported(&[
        &["status", "containerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
        &["status", "initContainerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
        &["status", "ephemeralContainerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
    ]),
    // DRANodeAllocatableResources
    unsupported(&[&["status", "nodeAllocatableResourceClaimStatuses"]]),
];

pub(crate) const POD: &[GatedPath] = &[place(&["spec"], POD_SPEC), place(&[], POD_STATUS)];

pub(crate) const TEMPLATE: GatedPath = place(&["spec", "template", "spec"], POD_SPEC);

pub(crate) const TERMINATING: GatedPath =
    place(&["status"], &[behind(Gate::DeploymentReplicaSetTerminatingReplicas, &[&["terminatingReplicas"]])]);

pub(crate) const STATEFUL_SET: &[GatedPath] = &[
    TEMPLATE,
    place(
        &["spec", "updateStrategy", "rollingUpdate"],
        &[behind(Gate::MaxUnavailableStatefulSet, &[&["maxUnavailable"]])],
    ),
];

pub(crate) const CRON_JOB: &[GatedPath] =
    &[place(&["spec", "jobTemplate", "spec", "template", "spec"], POD_SPEC)];

pub(crate) const POD_TEMPLATE: &[GatedPath] = &[place(&["template", "spec"], POD_SPEC)];

pub(crate) const NODE: &[GatedPath] = &[
    // Fields without a gate, which are dropped the same way.
    place(&["spec"], &[never(&[&["configSource"]])]),
    place(&["status"], &[never(&[&["config"]])]),
    GatedPath {
        at: &["status"],
        fields: &[
            behind(Gate::SupplementalGroupsPolicy, &[&["features"]]),
            behind(Gate::NodeDeclaredFeatures, &[&["declaredFeatures"]]),
        ],
        not_through: Some("status"),
    },
];

pub(crate) const VOLUME: &[GatedPath] =
    &[place(&["spec"], &[behind(Gate::VolumeAttributesClass, &[&["volumeAttributesClassName"]])])];

pub(crate) const CLAIM_OF_VOLUME: &[GatedPath] = &[
    place(&["spec"], &[behind(Gate::VolumeAttributesClass, &[&["volumeAttributesClassName"]])]),
    place(
        &["status"],
        &[
            behind(Gate::VolumeAttributesClass, &[&["currentVolumeAttributesClassName"]]),
            behind(Gate::VolumeAttributesClass, &[&["modifyVolumeStatus"]]),
            behind(Gate::RecoverVolumeExpansionFailure, &[&["allocatedResources"]]),
            behind(Gate::RecoverVolumeExpansionFailure, &[&["allocatedResourceStatuses"]]),
        ],
    ),
];

pub(crate) const AUTOSCALER: &[GatedPath] = &[place(
    &["spec", "behavior"],
    &[behind(Gate::HPAConfigurableTolerance, &[&["scaleDown", "tolerance"], &["scaleUp", "tolerance"]])],
)];

pub(crate) const ENDPOINT_SLICE: &[GatedPath] = &[place(
    &[],
    &[behind(Gate::PreferSameTrafficDistribution, &[&["endpoints", EACH, "hints", "forNodes"]])],
)];

pub(crate) const LEASE: &[GatedPath] = &[place(
    &["spec"],
    &[
        behind(Gate::CoordinatedLeaderElection, &[&["strategy"]]),
        behind(Gate::CoordinatedLeaderElection, &[&["preferredHolder"]]),
    ],
)];

pub(crate) const CSI_DRIVER: &[GatedPath] = &[place(
    &["spec"],
    &[
        behind(Gate::MutableCSINodeAllocatableCount, &[&["nodeAllocatableUpdatePeriodSeconds"]]),
        behind(Gate::CSIServiceAccountTokenSecrets, &[&["serviceAccountTokenInSecrets"]]),
        behind(Gate::VolumeLimitScaling, &[&["preventPodSchedulingIfMissing"]]),
    ],
)];

pub(crate) const VOLUME_ATTACHMENT: &[GatedPath] = &[place(
    &["status"],
    &[
        behind(Gate::MutableCSINodeAllocatableCount, &[&["attachError", "errorCode"]]),
        behind(Gate::MutableCSINodeAllocatableCount, &[&["detachError", "errorCode"]]),
    ],
)];

pub(crate) const DEVICE_CLASS: &[GatedPath] =
    &[place(&["spec"], &[behind(Gate::DRAExtendedResource, &[&["extendedResourceName"]])])];

pub(crate) const RESOURCE_SLICE: &[GatedPath] = &[place(
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

/// Spec of device claims and of their templates.
const RESOURCE_CLAIM_SPEC: &[GatedFields] = &[
    behind(Gate::DRAPrioritizedList, &[&["devices", "requests", EACH, "firstAvailable"]]),
    behind(
        Gate::DRADeviceTaints,
        &[
            &["devices", "requests", EACH, "exactly", "tolerations"],
            &["devices", "requests", EACH, "firstAvailable", EACH, "tolerations"],
        ],
    ),
    behind(Gate::DRAAdminAccess, &[&["devices", "requests", EACH, "exactly", "adminAccess"]]),
    behind(
        Gate::DRAConsumableCapacity,
        &[
            &["devices", "constraints", EACH, "distinctAttribute"],
            &["devices", "requests", EACH, "exactly", "capacity"],
            &["devices", "requests", EACH, "firstAvailable", EACH, "capacity"],
        ],
    ),
];

/// Gated fields of a claim's status, relative to the claim, because some count as in use if the spec uses the
/// feature.
const RESOURCE_CLAIM_STATUS: &[GatedFields] = &[
    behind(Gate::DRAResourceClaimDeviceStatus, &[&["status", "devices"]]),
    behind(Gate::DRAAdminAccess, &[&["status", "allocation", "devices", "results", EACH, "adminAccess"]])
        .used_by(&[
            &["spec", "devices", "requests", EACH, "exactly", "adminAccess"],
            &["status", "allocation", "devices", "results", EACH, "adminAccess"],
        ]),
    behind(
        Gate::DRAConsumableCapacity,
        &[
            &["status", "allocation", "devices", "results", EACH, "shareID"],
            &["status", "allocation", "devices", "results", EACH, "consumedCapacity"],
            &["status", "devices", EACH, "shareID"],
        ],
    )
    .used_by(&[
        &["spec", "devices", "constraints", EACH, "distinctAttribute"],
        &["spec", "devices", "requests", EACH, "exactly", "capacity"],
        &["spec", "devices", "requests", EACH, "firstAvailable", EACH, "capacity"],
        &["status", "allocation", "devices", "results", EACH, "shareID"],
        &["status", "allocation", "devices", "results", EACH, "consumedCapacity"],
        &["status", "devices", EACH, "shareID"],
    ]),
    behind(
        Gate::DRADeviceBindingConditions,
        &[
            &["status", "allocation", "devices", "results", EACH, "bindingConditions"],
            &["status", "allocation", "devices", "results", EACH, "bindingFailureConditions"],
        ],
    ),
];

pub(crate) const RESOURCE_CLAIM: &[GatedPath] =
    &[place(&["spec"], RESOURCE_CLAIM_SPEC), place(&[], RESOURCE_CLAIM_STATUS)];

pub(crate) const RESOURCE_CLAIM_TEMPLATE: &[GatedPath] = &[place(&["spec", "spec"], RESOURCE_CLAIM_SPEC)];

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

pub(crate) const POD_GROUP: &[GatedPath] = &[place(&["spec"], POD_GROUP_SPEC)];

pub(crate) const WORKLOAD: &[GatedPath] = &[place(&["spec", "podGroupTemplates", EACH], POD_GROUP_SPEC)];
