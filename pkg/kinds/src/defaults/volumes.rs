//! Volumes of pods, and the sources that persistent volumes share with them.

use super::field_ref::field_ref;
use super::fill::{default_struct, each, if_nil, if_present, if_zero, text};
use super::image;
use super::object::Object;
use super::resource_list::{round, round_requirements};
use component_base::features::Gate;
use jsontree::json;

/// All volume sources: the fields of `VolumeSource`.
const SOURCES: &[&str] = &[
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
];

/// Default mode of files in a volume: `0644`.
const FILE_MODE: i64 = 0o644;

/// Lifetime of a projected service account token in seconds.
const TOKEN_SECONDS: i64 = 3600;

/// Sets the defaults of a pod volume. A volume without a source is an empty directory.
pub(crate) fn volume(volume: &mut Object) {
    let mut has_source = false;
    volume.structs(|name, source| {
        if !SOURCES.contains(&name) {
            return;
        }
        has_source = true;
        match name {
            "secret" | "configMap" => if_nil(source, "defaultMode", FILE_MODE),
            "downwardAPI" => {
                if_nil(source, "defaultMode", FILE_MODE);
                each(source, "items", field_ref);
            }
            "projected" => projected(source),
            "ephemeral" => if_present(source, "volumeClaimTemplate", |template| {
                default_struct(template, "spec", claim_spec)
            }),
            "image" if source.enabled(Gate::ImageVolume) => {
                let policy = image::pull_policy(text(source, "reference"));
                if_zero(source, "pullPolicy", policy);
            }
            name => shared_source(name, source),
        }
    });
    if !has_source {
        volume.set("emptyDir", json!({}));
    }
}

/// Sets the defaults of a persistent volume's spec, also inside a volume attachment: source and capacity.
pub(crate) fn persistent_source(spec: &mut Object) {
    round(spec, "capacity");
    spec.structs(shared_source);
}

pub(crate) fn claim_spec(spec: &mut Object) {
    if_nil(spec, "volumeMode", "Filesystem");
    if_present(spec, "resources", round_requirements);
}

/// Sets the defaults of a source that pods and persistent volumes share.
fn shared_source(name: &str, source: &mut Object) {
    match name {
        // The empty type disables the check before the mount.
        "hostPath" => if_nil(source, "type", ""),
        "iscsi" => if_zero(source, "iscsiInterface", "default"),
        "rbd" => {
            if_zero(source, "pool", "rbd");
            if_zero(source, "user", "admin");
            if_zero(source, "keyring", "/etc/ceph/keyring");
        }
        "azureDisk" => {
            if_nil(source, "cachingMode", "ReadWrite");
            if_nil(source, "fsType", "ext4");
            if_nil(source, "readOnly", false);
            if_nil(source, "kind", "Shared");
        }
        "scaleIO" => {
            if_zero(source, "storageMode", "ThinProvisioned");
            if_zero(source, "fsType", "xfs");
        }
        _ => {}
    }
}

fn projected(source: &mut Object) {
    if_nil(source, "defaultMode", FILE_MODE);
    each(source, "sources", |part| {
        if_present(part, "downwardAPI", |api| each(api, "items", field_ref));
        if_present(part, "serviceAccountToken", |token| if_nil(token, "expirationSeconds", TOKEN_SECONDS));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_match_the_schema() {
        let volume = schema::builtin::message("io.k8s.api.core.v1.Volume").unwrap();
        let mut members: Vec<&str> = volume.members.iter().map(|member| member.name).collect();
        members.retain(|name| *name != "name");
        members.sort_unstable();
        assert_eq!(SOURCES, members);
    }
}
