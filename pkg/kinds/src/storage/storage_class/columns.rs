//! Table columns of storage classes.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::name_of_class;

pub(super) static COLUMNS: &[Column] = &[
    NAME.filled_by(|object, _| name_of_class(object, &IS_DEFAULT)),
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

const IS_DEFAULT: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
