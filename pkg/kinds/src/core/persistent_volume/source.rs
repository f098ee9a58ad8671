//! Source of a persistent volume.

use super::Context;
use crate::validation::value::{dns_label, dns_subdomain, no_backsteps};
use crate::validation::volume_source as shared;
use api::tree::{child, is_set, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

/// Volume kinds in upstream's order. The other two names are the path step in errors about the volume, and in
/// errors about an excess volume.
const KINDS: &[(&str, &str, &str)] = &[
    ("hostPath", "hostPath", "hostPath"),
    ("gcePersistentDisk", "persistentDisk", "gcePersistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore"),
    ("glusterfs", "glusterfs", "glusterfs"),
    ("flocker", "flocker", "flocker"),
    ("nfs", "nfs", "nfs"),
    ("rbd", "rbd", "rbd"),
    ("quobyte", "quobyte", "quobyte"),
    ("cephfs", "cephfs", "cephFS"),
    ("iscsi", "iscsi", "iscsi"),
    ("cinder", "cinder", "cinder"),
    ("fc", "fc", "fc"),
    ("flexVolume", "flexVolume", "flexVolume"),
    ("azureFile", "azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk", "azureDisk"),
    ("scaleIO", "scaleIO", "scaleIO"),
    ("local", "local", "local"),
    ("storageos", "storageos", "storageos"),
    ("csi", "csi", "csi"),
];

/// Length limit in bytes of a volume's name, a colon and an iSCSI portal.
const ISCSI_INTERFACE_BYTES_MAX: usize = 64;

const BAD_ISCSI_NAME: &str = "must be valid format";

/// Checks that a spec has exactly one source, and validates it. `path` is that of the spec.
pub(super) fn source(path: &Path<'_>, spec: &Object, context: Context<'_>, errors: &mut ErrorList) {
    let mut found = false;
    for (kind, step, step_of_another) in KINDS {
        let Some(volume) = child(spec, kind) else { continue };
        // A FlexVolume is validated even if it is in excess.
        if found && *kind != "flexVolume" {
            let detail = "may not specify more than 1 volume type";
            errors.push(Error::forbidden(&path.child(step_of_another), detail));
            continue;
        }
        found = true;
        one(&path.child(step), kind, volume, context, errors);
        let affine = is_set(spec, "nodeAffinity") && matches!(context, Context::Volume { .. });
        if *kind == "local" && !affine {
            let detail = "Local volume requires node affinity";
            errors.push(Error::required(&path.child("nodeAffinity"), detail));
        }
    }
    if !found {
        errors.push(Error::required(path, "must specify a volume type"));
    }
    let root = child(spec, "hostPath").is_some_and(|volume| is_root(text(volume, "path")));
    if root && text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(Error::forbidden(&path.child("persistentVolumeReclaimPolicy"), detail));
    }
}

/// True if a path, after cleaning, is `/`.
fn is_root(path: &str) -> bool {
    let depth = path.split('/').fold(0_usize, |depth, segment| match segment {
        "" | "." => depth,
        ".." => depth.saturating_sub(1),
        _ => depth + 1,
    });
    path.starts_with('/') && depth == 0
}

fn one(path: &Path<'_>, kind: &str, volume: &Object, context: Context<'_>, errors: &mut ErrorList) {
    let required: &[&str] = match kind {
        "hostPath" => return shared::host_path(path, volume, errors),
        "gcePersistentDisk" => return shared::partitioned_disk(path, volume, "pdName", errors),
        "awsElasticBlockStore" => return shared::partitioned_disk(path, volume, "volumeID", errors),
        "glusterfs" => return glusterfs(path, volume, errors),
        "flocker" => return shared::flocker(path, volume, errors),
        "nfs" => return shared::nfs(path, volume, errors),
        "quobyte" => return shared::quobyte(path, volume, errors),
        "iscsi" => return iscsi(path, volume, context, errors),
        "fc" => return shared::fibre_channel(path, volume, errors),
        "flexVolume" => return shared::flex(path, volume, errors),
        "azureDisk" => return shared::azure_disk(path, volume, errors),
        "storageos" => return shared::storage_os(path, volume, &["name", "namespace"], errors),
        "csi" => return csi(path, volume, errors),
        "rbd" => &["monitors", "image"],
        "cephfs" => &["monitors"],
        "azureFile" => &["secretName", "shareName"],
        "vsphereVolume" => &["volumePath"],
        "photonPersistentDisk" => &["pdID"],
        "cinder" | "portworxVolume" => &["volumeID"],
        "scaleIO" => &["gateway", "system", "volumeName"],
        _ => &["path"],
    };
    shared::required(path, volume, required, errors);
    match kind {
        "azureFile" if maybe_text(volume, "secretNamespace") == Some("") => {
            errors.push(Error::required(&path.child("secretNamespace"), ""));
        }
        "cinder" => shared::secret_ref(path, volume, &["name", "namespace"], errors),
        "local" => no_backsteps(&path.child("path"), text(volume, "path"), errors),
        _ => {}
    }
}

fn glusterfs(path: &Path<'_>, volume: &Object, errors: &mut ErrorList) {
    shared::required(path, volume, &["endpoints", "path"], errors);
    let path = path.child("endpointsNamespace");
    match maybe_text(volume, "endpointsNamespace") {
        None => {}
        Some("") => {
            let detail = "if the endpointnamespace is set, it must be a valid namespace name";
            errors.push(Error::invalid(&path, "", detail));
        }
        Some(namespace) => dns_label(&path, namespace, errors),
    }
}

fn iscsi(path: &Path<'_>, volume: &Object, context: Context<'_>, errors: &mut ErrorList) {
    let name = match context {
        Context::Volume { name, .. } => name,
        Context::Inline => "",
    };
    let portal = text(volume, "targetPortal");
    if is_set(volume, "initiatorName") && name.len() + 1 + portal.len() > ISCSI_INTERFACE_BYTES_MAX {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
            iscsi.initiatorName is specified.";
        errors.push(Error::invalid(&path.child("targetportal"), portal, detail));
    }
    shared::iscsi(path, volume, BAD_ISCSI_NAME, errors);
    shared::secret_ref(path, volume, &["name"], errors);
    shared::iscsi_initiator(path, volume, BAD_ISCSI_NAME, errors);
}

fn csi(path: &Path<'_>, volume: &Object, errors: &mut ErrorList) {
    shared::csi_driver(&path.child("driver"), text(volume, "driver"), errors);
    shared::required(path, volume, &["volumeHandle"], errors);
    let secrets = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for member in secrets {
        let Some(secret) = child(volume, member) else { continue };
        let path = path.child(member);
        shared::required(&path, secret, &["name"], errors);
        if !text(secret, "name").is_empty() {
            dns_subdomain(&path.child("name"), text(secret, "name"), errors);
        }
        shared::required(&path, secret, &["namespace"], errors);
        if !text(secret, "namespace").is_empty() {
            dns_label(&path.child("namespace"), text(secret, "namespace"), errors);
        }
    }
}
