//! Rows of storage classes and CSI drivers.

use super::column::{AGE, Column, NAME, boolean, integer, text};
use super::format::{UNSET, name_of_class, or_none};
use super::view::View;

pub(super) static CSI_DRIVER: &[Column] = &[
    NAME,
    boolean("AttachRequired", |object, _| object.at("spec.attachRequired").flag_or(true).into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "attachRequired"),
    boolean("PodInfoOnMount", |object, _| object.at("spec.podInfoOnMount").flag().into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "podInfoOnMount"),
    boolean("StorageCapacity", |object, _| object.at("spec.storageCapacity").flag().into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "storageCapacity"),
    text("TokenRequests", |object, _| token_audiences(object).into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "tokenRequests"),
    boolean("RequiresRepublish", |object, _| object.at("spec.requiresRepublish").flag().into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "requiresRepublish"),
    text("Modes", |object, _| or_none(object.at("spec.volumeLifecycleModes").texts().join(",")).into())
        .described_as("io.k8s.api.storage.v1.CSIDriverSpec", "volumeLifecycleModes"),
    AGE,
];

pub(super) static CSI_NODE: &[Column] = &[
    NAME,
    integer("Drivers", |object, _| object.at("spec.drivers").count())
        .described("Drivers indicates the number of CSI drivers registered on the node"),
    AGE,
];

pub(super) static STORAGE_CLASS: &[Column] = &[
    NAME.filled_by(|object, _| name_of_class(object, &IS_DEFAULT)),
    text("Provisioner", |object, _| object.get("provisioner").into())
        .described_as("io.k8s.api.storage.v1.StorageClass", "provisioner"),
    text("ReclaimPolicy", |object, _| object.get("reclaimPolicy").text_or("Delete").into())
        .described_as("io.k8s.api.storage.v1.StorageClass", "reclaimPolicy"),
    text("VolumeBindingMode", |object, _| object.get("volumeBindingMode").text_or("Immediate").into())
        .described_as("io.k8s.api.storage.v1.StorageClass", "volumeBindingMode"),
    text("AllowVolumeExpansion", |object, _| object.get("allowVolumeExpansion").flag().into())
        .described_as("io.k8s.api.storage.v1.StorageClass", "allowVolumeExpansion"),
    AGE,
];

pub(super) static VOLUME_ATTACHMENT: &[Column] = &[
    NAME,
    text("Attacher", |object, _| object.at("spec.attacher").into())
        .described_as("io.k8s.api.storage.v1.VolumeAttachmentSpec", "attacher")
        .format("name"),
    text("PV", |object, _| object.at("spec.source.persistentVolumeName").into())
        .described_as("io.k8s.api.storage.v1.VolumeAttachmentSource", "persistentVolumeName"),
    text("Node", |object, _| object.at("spec.nodeName").into())
        .described_as("io.k8s.api.storage.v1.VolumeAttachmentSpec", "nodeName"),
    boolean("Attached", |object, _| object.at("status.attached").flag().into())
        .described_as("io.k8s.api.storage.v1.VolumeAttachmentStatus", "attached"),
    AGE,
];

pub(super) static VOLUME_ATTRIBUTES_CLASS: &[Column] = &[
    NAME,
    text("DriverName", |object, _| object.get("driverName").into())
        .described_as("io.k8s.api.storage.v1.VolumeAttributesClass", "driverName"),
    AGE,
];

const IS_DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

fn token_audiences(driver: View<'_>) -> String {
    let requests = driver.at("spec.tokenRequests");
    if !requests.exists() {
        return UNSET.to_owned();
    }
    let audiences: Vec<&str> = requests.items().map(|request| request.get("audience").text()).collect();
    audiences.join(",")
}
