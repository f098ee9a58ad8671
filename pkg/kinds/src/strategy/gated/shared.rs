//! Gated fields that several kinds share.

use crate::defaults::pod_spec::CONTAINER_LISTS;
use crate::strategy::gated::fields::{
    EACH, EXCEPT_ALWAYS, EXCEPT_DEFAULT, GatedFields, GatedPath, always_dropped, gated_by, gated_path,
};
use api::tree::{child_mut, children, children_mut, text};
use component_base::features::Gate;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

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
    gated_by(
        Gate::ContainerRestartRules,
        &[
            &["initContainers", EACH, "restartPolicy", EXCEPT_ALWAYS],
            &["initContainers", EACH, "restartPolicyRules"],
            &["containers", EACH, "restartPolicy"],
            &["containers", EACH, "restartPolicyRules"],
            &["ephemeralContainers", EACH, "restartPolicy"],
            &["ephemeralContainers", EACH, "restartPolicyRules"],
        ],
    )
    .used_by(&[
        &["initContainers", EACH, "restartPolicy", EXCEPT_ALWAYS],
        &["initContainers", EACH, "restartPolicyRules"],
        &["containers", EACH, "restartPolicy"],
    ]),
    gated_by(
        Gate::ProcMountType,
        &[
            &["containers", EACH, "securityContext", "procMount", EXCEPT_DEFAULT],
            &["initContainers", EACH, "securityContext", "procMount", EXCEPT_DEFAULT],
            &["ephemeralContainers", EACH, "securityContext", "procMount", EXCEPT_DEFAULT],
        ],
    )
    .dropped_by(reset_proc_mounts),
    gated_by(Gate::ImageVolume, &[&["volumes", EACH, "image"]]).dropped_by(drop_image_volumes),
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

/// Sets the default instead of no value, because objects of old releases have it.
fn reset_proc_mounts(spec: &mut Object) {
    for containers in CONTAINER_LISTS {
        for container in children_mut(spec, containers) {
            let context = child_mut(container, "securityContext");
            if let Some(context) = context.filter(|context| context.contains_key("procMount")) {
                context.insert("procMount", "Default".into());
            }
        }
    }
}

/// Removes image volumes and their mounts (KEP-4639).
fn drop_image_volumes(spec: &mut Object) {
    let images = children(spec, "volumes").filter(|volume| volume.contains_key("image"));
    let names: BTreeSet<String> = images.map(|volume| text(volume, "name").to_owned()).collect();
    if names.is_empty() {
        return;
    }
    let has_image = |volume: &Value| volume.as_object().is_some_and(|volume| volume.contains_key("image"));
    retain(spec, "volumes", |volume| !has_image(volume));
    let is_of_image =
        |mount: &Value| mount.as_object().is_some_and(|mount| names.contains(text(mount, "name")));
    for containers in CONTAINER_LISTS {
        for container in children_mut(spec, containers) {
            retain(container, "volumeMounts", |mount| !is_of_image(mount));
        }
    }
}

/// Keeps some items of a list, which is removed if none remains.
fn retain(object: &mut Object, member: &str, keep: impl Fn(&Value) -> bool) {
    let Some(items) = object.get_mut(member).and_then(Value::as_array_mut) else { return };
    items.retain(keep);
    if items.is_empty() {
        object.remove(member);
    }
}

/// Annotations that declared init containers and their statuses before v1.8.
const INIT_CONTAINER_ANNOTATIONS: [&str; 4] = [
    "pod.beta.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
    "pod.alpha.kubernetes.io/init-container-statuses",
];

/// Annotations of pods and of their templates that every write drops. Their managers keep the fields, because they are
/// recorded before.
pub(crate) const OLD_ANNOTATIONS: &[GatedFields] = &[always_dropped(&[]).dropped_by(drop_init_containers)];

/// Removes the annotations of init containers from an object with metadata.
pub fn drop_init_containers(object: &mut Object) {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let annotations =
        metadata.and_then(|metadata| metadata.get_mut("annotations")).and_then(Value::as_object_mut);
    if let Some(annotations) = annotations {
        annotations.retain(|name, _| !INIT_CONTAINER_ANNOTATIONS.contains(&name.as_str()));
    }
}

pub(crate) const TEMPLATE_ANNOTATIONS: GatedPath = gated_path(&["spec", "template"], OLD_ANNOTATIONS);

pub(crate) const TEMPLATE: GatedPath = gated_path(&["spec", "template", "spec"], POD_SPEC);

pub(crate) const TERMINATING: GatedPath = gated_path(
    &["status"],
    &[gated_by(Gate::DeploymentReplicaSetTerminatingReplicas, &[&["terminatingReplicas"]])],
);
