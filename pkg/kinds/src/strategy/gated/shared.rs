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
    gated_by(Gate::EmptyDirVolumeMode, &[&["volumes", EACH, "emptyDir", "mode"]]),
    gated_by(
        Gate::VolumeBindMountOptions,
        &[
            &["containers", EACH, "volumeMounts", EACH, "bindMountOptions"],
            &["initContainers", EACH, "volumeMounts", EACH, "bindMountOptions"],
            &["ephemeralContainers", EACH, "volumeMounts", EACH, "bindMountOptions"],
        ],
    ),
    gated_by(
        Gate::AtomicWriteVolumeUserFields,
        &[
            &["volumes", EACH, "secret", "defaultUser"],
            &["volumes", EACH, "secret", "items", EACH, "user"],
            &["volumes", EACH, "configMap", "defaultUser"],
            &["volumes", EACH, "configMap", "items", EACH, "user"],
            &["volumes", EACH, "downwardAPI", "defaultUser"],
            &["volumes", EACH, "downwardAPI", "items", EACH, "user"],
            &["volumes", EACH, "projected", "defaultUser"],
            &["volumes", EACH, "projected", "sources", EACH, "secret", "items", EACH, "user"],
            &["volumes", EACH, "projected", "sources", EACH, "downwardAPI", "items", EACH, "user"],
            &["volumes", EACH, "projected", "sources", EACH, "configMap", "items", EACH, "user"],
            &["volumes", EACH, "projected", "sources", EACH, "serviceAccountToken", "user"],
            &["volumes", EACH, "projected", "sources", EACH, "clusterTrustBundle", "user"],
            &["volumes", EACH, "projected", "sources", EACH, "podCertificate", "user"],
        ],
    ),
    gated_by(
        Gate::GRPCContainerProbeTLS,
        &[
            &["containers", EACH, "livenessProbe", "grpc", "mode"],
            &["containers", EACH, "readinessProbe", "grpc", "mode"],
            &["containers", EACH, "startupProbe", "grpc", "mode"],
            &["initContainers", EACH, "livenessProbe", "grpc", "mode"],
            &["initContainers", EACH, "readinessProbe", "grpc", "mode"],
            &["initContainers", EACH, "startupProbe", "grpc", "mode"],
            &["ephemeralContainers", EACH, "livenessProbe", "grpc", "mode"],
            &["ephemeralContainers", EACH, "readinessProbe", "grpc", "mode"],
            &["ephemeralContainers", EACH, "startupProbe", "grpc", "mode"],
        ],
    ),
    gated_by(Gate::EvictionRequestAPI, &[&["evictionResponders"]]),
    gated_by(
        Gate::H2CContainerProbe,
        &[
            &["containers", EACH, "livenessProbe", "httpGet", "protocol"],
            &["containers", EACH, "readinessProbe", "httpGet", "protocol"],
            &["containers", EACH, "startupProbe", "httpGet", "protocol"],
            &["initContainers", EACH, "livenessProbe", "httpGet", "protocol"],
            &["initContainers", EACH, "readinessProbe", "httpGet", "protocol"],
            &["initContainers", EACH, "startupProbe", "httpGet", "protocol"],
            &["ephemeralContainers", EACH, "livenessProbe", "httpGet", "protocol"],
            &["ephemeralContainers", EACH, "readinessProbe", "httpGet", "protocol"],
            &["ephemeralContainers", EACH, "startupProbe", "httpGet", "protocol"],
            &["containers", EACH, "lifecycle", "postStart", "httpGet", "protocol"],
            &["containers", EACH, "lifecycle", "preStop", "httpGet", "protocol"],
            &["initContainers", EACH, "lifecycle", "postStart", "httpGet", "protocol"],
            &["initContainers", EACH, "lifecycle", "preStop", "httpGet", "protocol"],
            &["ephemeralContainers", EACH, "lifecycle", "postStart", "httpGet", "protocol"],
            &["ephemeralContainers", EACH, "lifecycle", "preStop", "httpGet", "protocol"],
        ],
    ),
];

pub(crate) const TEMPLATE: GatedPath = gated_path(&["spec", "template", "spec"], POD_SPEC);

pub(crate) const TERMINATING: GatedPath = gated_path(
    &["status"],
    &[gated_by(Gate::DeploymentReplicaSetTerminatingReplicas, &[&["terminatingReplicas"]])],
);
