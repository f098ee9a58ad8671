//! Volumes of a container: mounted file systems and block devices.

use crate::validation::value::{has_backsteps, local_relative_path, supported_value};
use api::tree::{child, children, flag, is_set, list, maybe_flag, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

type Volumes<'a> = BTreeMap<&'a str, &'a Object>;

/// Validates the mounts. Paths lack the index of a mount where upstream's do.
pub(super) fn mounts(container: &Object, volumes: &Volumes<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    let devices = by_name(container, "volumeDevices", "devicePath");
    let device_points: BTreeSet<&str> = devices.values().copied().collect();
    let mut points = BTreeSet::new();
    for (index, mount) in children(container, "volumeMounts").enumerate() {
        let item = path.index(index);
        let name = text(mount, "name");
        let point = text(mount, "mountPath");
        if name.is_empty() {
            errors.push(Error::required(&item.child("name"), ""));
        }
        if !volumes.contains_key(name) {
            errors.push(Error::not_found(&item.child("name"), name));
        }
        if point.is_empty() {
            errors.push(Error::required(&item.child("mountPath"), ""));
        }
        if !points.insert(point) {
            errors.push(Error::invalid(&item.child("mountPath"), point, "must be unique"));
        }
        if devices.contains_key(name) {
            let detail = "must not already exist in volumeDevices";
            errors.push(Error::invalid(&item.child("name"), name, detail));
        }
        if device_points.contains(point) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.push(Error::invalid(&item.child("mountPath"), point, detail));
        }
        sub_paths(mount, path, &item, errors);
        propagation(container, mount, &path.child("mountPropagation"), errors);
        recursive_read_only(mount, &path.child("recursiveReadOnly"), errors);
        bind_options(mount, volumes.get(name).copied(), &item.child("bindMountOptions"), errors);
    }
}

pub(super) fn devices(container: &Object, volumes: &Volumes<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    let mounts = by_name(container, "volumeMounts", "mountPath");
    let mount_points: BTreeSet<&str> = mounts.values().copied().collect();
    let mut names = BTreeSet::new();
    let mut points = BTreeSet::new();
    for (index, device) in children(container, "volumeDevices").enumerate() {
        let path = path.index(index);
        let name = text(device, "name");
        let point = text(device, "devicePath");
        device_name(name, &mut names, volumes, &path.child("name"), errors);
        let point_path = path.child("devicePath");
        if point.is_empty() {
            errors.push(Error::required(&point_path, ""));
        }
        if points.contains(point) {
            errors.push(Error::invalid(&point_path, point, "must be unique"));
        }
        if has_backsteps(point) {
            errors.push(Error::invalid(&point_path, point, "can not contain backsteps ('..')"));
        } else {
            points.insert(point);
        }
        if mounts.contains_key(name) {
            let detail = "must not already exist in volumeMounts";
            errors.push(Error::invalid(&path.child("name"), name, detail));
        }
        if mount_points.contains(point) {
            let detail = "must not already exist as a path in volumeMounts";
            errors.push(Error::invalid(&point_path, point, detail));
        }
    }
}

/// Checks that a device's name is unique and refers to a volume that can be a device: a claim.
fn device_name<'o>(
    name: &'o str,
    names: &mut BTreeSet<&'o str>,
    volumes: &Volumes<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if name.is_empty() {
        errors.push(Error::required(path, ""));
    } else if !names.insert(name) {
        errors.push(Error::invalid(path, name, "must be unique"));
    }
    match volumes.get(name) {
        None => errors.push(Error::not_found(path, name)),
        Some(volume) if is_set(volume, "persistentVolumeClaim") || is_set(volume, "ephemeral") => {}
        Some(_) => {
            let detail =
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            errors.push(Error::invalid(path, name, detail));
        }
    }
}

/// Returns the paths of mounts or devices by volume name; the last one wins.
fn by_name<'o>(container: &'o Object, list: &str, path: &str) -> BTreeMap<&'o str, &'o str> {
    children(container, list).map(|item| (text(item, "name"), text(item, path))).collect()
}

fn sub_paths(mount: &Object, path: &Path<'_>, item: &Path<'_>, errors: &mut ErrorList) {
    let plain = text(mount, "subPath");
    let expression = text(mount, "subPathExpr");
    if !plain.is_empty() {
        local_relative_path(&path.child("subPath"), plain, errors);
    }
    if expression.is_empty() {
        return;
    }
    if !plain.is_empty() {
        let detail = "subPathExpr and subPath are mutually exclusive";
        errors.push(Error::invalid(&item.child("subPathExpr"), expression, detail));
    }
    local_relative_path(&path.child("subPathExpr"), expression, errors);
}

fn propagation(container: &Object, mount: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let Some(propagation) = maybe_text(mount, "mountPropagation") else { return };
    supported_value(path, propagation, &["Bidirectional", "HostToContainer", "None"], errors);
    let context = child(container, "securityContext");
    let privileged = context.and_then(|context| maybe_flag(context, "privileged")) == Some(true);
    if propagation == "Bidirectional" && !privileged {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(Error::forbidden(path, detail));
    }
}

/// Validates the options of a bind mount. `path` is that of the options.
fn bind_options(mount: &Object, volume: Option<&Object>, path: &Path<'_>, errors: &mut ErrorList) {
    let options = list(mount, "bindMountOptions");
    let mut seen = BTreeSet::new();
    for (index, option) in options.iter().filter_map(Value::as_str).enumerate() {
        let path = path.index(index);
        supported_value(&path, option, &["nodev", "noexec", "nosuid"], errors);
        if !seen.insert(option) {
            errors.push(Error::duplicate(&path, option));
        }
    }
    if !options.is_empty() && volume.is_some_and(|volume| is_set(volume, "image")) {
        let value = mount.get("bindMountOptions").unwrap_or(&Value::Null);
        errors.push(Error::invalid(path, value, "bindMountOptions may not be used with image volumes"));
    }
}

fn recursive_read_only(mount: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let Some(mode) = maybe_text(mount, "recursiveReadOnly") else { return };
    supported_value(path, mode, &["Disabled", "Enabled", "IfPossible"], errors);
    if !matches!(mode, "Enabled" | "IfPossible") {
        return;
    }
    if !flag(mount, "readOnly") {
        errors.push(Error::forbidden(path, "may only be specified when readOnly is true"));
    }
    if maybe_text(mount, "mountPropagation").is_some_and(|propagation| propagation != "None") {
        let detail = "may only be specified when mountPropagation is None or not specified";
        errors.push(Error::forbidden(path, detail));
    }
}
