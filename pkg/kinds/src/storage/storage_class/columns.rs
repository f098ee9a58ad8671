//! Table columns of storage classes.

use crate::printers::column::{AGE, Column, NAME};

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Provisioner", |object, _| object.get("provisioner").into())
        .with_description_of("io.k8s.api.storage.v1.StorageClass", "provisioner"),
    Column::text("ReclaimPolicy", |object, _| object.get("reclaimPolicy").text_or("Delete").into())
        .with_description_of("io.k8s.api.storage.v1.StorageClass", "reclaimPolicy"),
    Column::text("VolumeBindingMode", |object, _| {
        object.get("volumeBindingMode").text_or("Immediate").into()
    })
    .with_description_of("io.k8s.api.storage.v1.StorageClass", "volumeBindingMode"),
    Column::text("AllowVolumeExpansion", |object, _| object.get("allowVolumeExpansion").flag().into())
        .with_description_of("io.k8s.api.storage.v1.StorageClass", "allowVolumeExpansion"),
    AGE,
];
