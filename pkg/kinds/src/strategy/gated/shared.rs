//! Gated fields that several kinds share.

use crate::strategy::gated::fields::{EACH, GatedFields, GatedPath, gated_by, gated_path};
use component_base::features::Gate;

pub(crate) const POD_SPEC: &[GatedFields] = &[
    gated_by(Gate::UserNamespacesSupport, &[&["hostUsers"]]),
    gated_by(Gate::SupplementalGroupsPolicy, &[&["securityContext", "supplementalGroupsPolicy"]]),
    gated_by(Gate::SELinuxChangePolicy, &[&["securityContext", "seLinuxChangePolicy"]]),
    gated_by(Gate::PodLevelResources, &[&["resources"]])
        .used_by(&[&["resources", "requests", EACH], &["resources", "limits", EACH]]),
    gated_by(
        Gate::MatchLabelKeysInPodTopologySpread,
        &[&["topologySpreadConstraints", EACH, "matchLabelKeys"]],
    ),
    gated_by(
        Gate::DynamicResourceAllocation,
        &[
            &["containers", EACH, "resources", "claims"],
            &["initContainers", EACH, "resources", "claims"],
            &["ephemeralContainers", EACH, "resources", "claims"],
            &["resourceClaims"],
        ],
    )
    .used_by(&[&["resourceClaims"]]),
    gated_by(
        Gate::ClusterTrustBundleProjection,
        &[&["volumes", EACH, "projected", "sources", EACH, "clusterTrustBundle"]],
    ),
    gated_by(
        Gate::PodCertificateRequest,
        &[&["volumes", EACH, "projected", "sources", EACH, "podCertificate"]],
    ),
    gated_by(Gate::GenericWorkload, &[&["schedulingGroup"]]),
    gated_by(
        Gate::InPlacePodVerticalScaling,
        &[
            &["containers", EACH, "resizePolicy"],
            &["initContainers", EACH, "resizePolicy"],
            &["ephemeralContainers", EACH, "resizePolicy"],
        ],
    )
    .used_by(&[&["containers", EACH, "resizePolicy"], &["initContainers", EACH, "resizePolicy"]]),
    gated_by(Gate::HostnameOverride, &[&["hostnameOverride"]]),
    gated_by(
        Gate::EnvFiles,
        &[
            &["containers", EACH, "env", EACH, "valueFrom", "fileKeyRef"],
            &["initContainers", EACH, "env", EACH, "valueFrom", "fileKeyRef"],
            &["ephemeralContainers", EACH, "env", EACH, "valueFrom", "fileKeyRef"],
        ],
    ),
    gated_by(
        Gate::ContainerStopSignals,
        &[
            &["containers", EACH, "lifecycle", "stopSignal"],
            &["initContainers", EACH, "lifecycle", "stopSignal"],
            &["ephemeralContainers", EACH, "lifecycle", "stopSignal"],
        ],
    )
    .with_empty_parent(),
];

pub(crate) const TEMPLATE: GatedPath = gated_path(&["spec", "template", "spec"], POD_SPEC);

pub(crate) const TERMINATING: GatedPath = gated_path(
    &["status"],
    &[gated_by(Gate::DeploymentReplicaSetTerminatingReplicas, &[&["terminatingReplicas"]])],
);
