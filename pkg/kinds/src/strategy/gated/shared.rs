//! Gated fields that several kinds share.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, behind, place};
use component_base::features::Gate;

pub(crate) const POD_SPEC: &[GatedFields] = &[
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

pub(crate) const TEMPLATE: GatedPath = place(&["spec", "template", "spec"], POD_SPEC);

pub(crate) const TERMINATING: GatedPath =
    place(&["status"], &[behind(Gate::DeploymentReplicaSetTerminatingReplicas, &[&["terminatingReplicas"]])]);
