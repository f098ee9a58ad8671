//! Rows of storage classes and CSI drivers.

use super::format::{UNSET, age, or_none};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "csidrivers" => csi_driver,
        "csinodes" => csi_node,
        "storageclasses" => storage_class,
        "volumeattachments" => volume_attachment,
        "volumeattributesclasses" => volume_attributes_class,
        // Upstream has a printer for capacities, but does not use it.
        _ => return None,
    })
}

fn csi_driver(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let requests = spec.get("tokenRequests");
    let audiences: Vec<&str> = requests.items().map(|request| request.get("audience").text()).collect();
    vec![
        object.name(),
        spec.get("attachRequired").flag_or(true).into(),
        spec.get("podInfoOnMount").flag().into(),
        spec.get("storageCapacity").flag().into(),
        if requests.exists() { audiences.join(",") } else { UNSET.to_owned() }.into(),
        spec.get("requiresRepublish").flag().into(),
        or_none(spec.get("volumeLifecycleModes").texts().join(",")).into(),
        age(object, now),
    ]
}

fn csi_node(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.at("spec.drivers").count(), age(object, now)]
}

fn storage_class(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    const IS_DEFAULT: [&str; 2] =
        ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
    let annotations = object.at("metadata.annotations");
    let is_default = IS_DEFAULT.iter().any(|name| annotations.get(name).text() == "true");
    let suffix = if is_default { " (default)" } else { "" };
    vec![
        format!("{}{suffix}", object.at("metadata.name").text()).into(),
        object.get("provisioner").into(),
        object.get("reclaimPolicy").text_or("Delete").into(),
        object.get("volumeBindingMode").text_or("Immediate").into(),
        object.get("allowVolumeExpansion").flag().into(),
        age(object, now),
    ]
}

fn volume_attachment(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    vec![
        object.name(),
        spec.get("attacher").into(),
        spec.at("source.persistentVolumeName").into(),
        spec.get("nodeName").into(),
        object.at("status.attached").flag().into(),
        age(object, now),
    ]
}

fn volume_attributes_class(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.get("driverName").into(), age(object, now)]
}
