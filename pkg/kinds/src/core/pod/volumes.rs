//! The volumes of a pod: each has a name and one source.

mod files;
mod projected;
mod resize;

use crate::validation::claim_spec::validate_claim_template;
use crate::validation::resources::quantity;
use crate::validation::value::{dns_label, required_one_of};
use crate::validation::volume_source as source;
use api::tree::{child, children, is_set, maybe_integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use apimachinery::names;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

use super::PodOptions;
pub(super) use projected::{has_nonlocal_token_path, no_projected_tokens};
pub(super) use resize::resized;

const ISCSI_TARGET_BYTES_MAX: usize = 64;
/// Limit of an empty directory's permissions, with the sticky bit.
const DIRECTORY_MODE_MAX: i64 = 0o1777;
const UNKNOWN_FORMAT: &str = "must be valid format starting with iqn, eui, or naa";
const NAME: &[&str] = &["name"];

/// Context for the rules of a source.
#[derive(Clone, Copy)]
struct Owner<'a> {
    volume: &'a str,
    /// Name of the pod; empty in a template.
    pod: &'a str,
    options: &'a PodOptions,
}

/// Rule for a source; appends errors.
type Rule = fn(path: &Path<'_>, source: &Object, owner: Owner<'_>, errors: &mut ErrorList);

/// Kind of source: its member, its name in upstream's error about a second source, its name in all other
/// paths, and its rule.
struct Kind(&'static str, &'static str, &'static str, Rule);

impl Kind {
    const fn new(member: &'static str, rule: Rule) -> Self {
        Self(member, member, member, rule)
    }
}

/// Source kinds in upstream's order: the first one in a volume is its source, others are errors.
const KINDS: &[Kind] = &[
    Kind::new("emptyDir", empty_dir),
    Kind::new("hostPath", |path, s, _, errors| source::host_path(path, s, errors)),
    Kind::new("gitRepo", files::git_repo),
    Kind("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", |path, s, _, errors| {
        source::partitioned_disk(path, s, "pdName", errors);
    }),
    Kind::new("awsElasticBlockStore", |path, s, _, errors| {
        source::partitioned_disk(path, s, "volumeID", errors);
    }),
    Kind::new("secret", |path, s, _, errors| files::keys(path, s, "secretName", errors)),
    Kind::new("nfs", |path, s, _, errors| source::nfs(path, s, errors)),
    Kind::new("iscsi", |path, s, _, errors| {
        source::iscsi(path, s, UNKNOWN_FORMAT, errors);
        source::iscsi_initiator(path, s, UNKNOWN_FORMAT, errors);
    }),
    Kind::new("glusterfs", |path, s, _, errors| source::required(path, s, &["endpoints", "path"], errors)),
    Kind::new("flocker", |path, s, _, errors| source::flocker(path, s, errors)),
    Kind::new("persistentVolumeClaim", |path, s, _, errors| {
        source::required(path, s, &["claimName"], errors);
    }),
    Kind::new("rbd", |path, s, _, errors| source::required(path, s, &["monitors", "image"], errors)),
    Kind::new("cinder", |path, s, _, errors| {
        source::required(path, s, &["volumeID"], errors);
        source::secret_ref(path, s, NAME, errors);
    }),
    Kind("cephfs", "cephFS", "cephfs", |path, s, _, errors| {
        source::required(path, s, &["monitors"], errors);
    }),
    Kind::new("quobyte", |path, s, _, errors| source::quobyte(path, s, errors)),
    Kind("downwardAPI", "downwarAPI", "downwardAPI", |path, s, _, errors| files::downward(path, s, errors)),
    Kind::new("fc", |path, s, _, errors| source::fibre_channel(path, s, errors)),
    Kind::new("flexVolume", |path, s, _, errors| source::flex(path, s, errors)),
    Kind::new("configMap", |path, s, _, errors| files::keys(path, s, "name", errors)),
    Kind::new("azureFile", |path, s, _, errors| {
        source::required(path, s, &["secretName", "shareName"], errors);
    }),
    Kind::new("vsphereVolume", |path, s, _, errors| source::required(path, s, &["volumePath"], errors)),
    Kind::new("photonPersistentDisk", |path, s, _, errors| source::required(path, s, &["pdID"], errors)),
    Kind::new("portworxVolume", |path, s, _, errors| source::required(path, s, &["volumeID"], errors)),
    Kind::new("azureDisk", |path, s, _, errors| source::azure_disk(path, s, errors)),
    Kind::new("storageos", |path, s, _, errors| source::storage_os(path, s, NAME, errors)),
    Kind::new("projected", |path, s, owner, errors| projected::projected(path, s, owner.options, errors)),
    Kind::new("scaleIO", |path, s, _, errors| {
        source::required(path, s, &["gateway", "system", "volumeName"], errors);
    }),
    Kind::new("csi", |path, s, _, errors| source::inline_csi(path, s, errors)),
    Kind::new("ephemeral", ephemeral),
    Kind::new("image", image),
];

/// Validates the volumes of a pod spec and returns the valid ones by name. `path` is that of the list; `pod`
/// is the name of the pod, empty in a template.
pub(super) fn volumes<'o>(
    path: &Path<'_>,
    spec: &'o Object,
    pod: &str,
    options: &PodOptions,
    errors: &mut ErrorList,
) -> BTreeMap<&'o str, &'o Object> {
    let generated =
        |volume: &Object| is_set(volume, "ephemeral").then(|| format!("{pod}-{}", text(volume, "name")));
    let made_claims: BTreeSet<String> = match pod {
        "" => BTreeSet::new(),
        _ => children(spec, "volumes").filter_map(generated).collect(),
    };
    let mut good = BTreeMap::new();
    for (index, volume) in children(spec, "volumes").enumerate() {
        let path = path.index(index);
        let name = text(volume, "name");
        let before = errors.len();
        volume_source(&path, volume, Owner { volume: name, pod, options }, errors);
        match name {
            "" => errors.push(Error::required(&path.child("name"), "")),
            name => dns_label(&path.child("name"), name, errors),
        }
        if good.contains_key(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
        if errors.len() == before {
            good.insert(name, volume);
        }
        let claim = child(volume, "persistentVolumeClaim").map_or("", |claim| text(claim, "claimName"));
        if made_claims.contains(claim) {
            let path = path.child("persistentVolumeClaim");
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            errors.push(Error::invalid(&path.child("claimName"), claim, detail));
        }
    }
    good
}

fn volume_source(path: &Path<'_>, volume: &Object, owner: Owner<'_>, errors: &mut ErrorList) {
    let mut first = true;
    for Kind(member, as_second, step, rule) in KINDS {
        let Some(source) = child(volume, member) else { continue };
        if first {
            rule(&path.child(step), source, owner, errors)
        } else {
            let detail = "may not specify more than 1 volume type";
            errors.push(Error::forbidden(&path.child(as_second), detail));
        }
        let target = owner.volume.len() + 1 + text(source, "targetPortal").len();
        if *member == "iscsi" && is_set(source, "initiatorName") && target > ISCSI_TARGET_BYTES_MAX {
            let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
            errors.push(Error::invalid(&path.child("name"), owner.volume, detail));
        }
        if *member == "ephemeral" && first {
            claim_name(path, owner, errors);
        }
        first = false;
    }
    if first {
        errors.push(Error::required(path, "must specify a volume type"));
    }
}

fn empty_dir(path: &Path<'_>, source: &Object, _: Owner<'_>, errors: &mut ErrorList) {
    if quantity(source.get("sizeLimit")).sign().is_lt() {
        let detail = "SizeLimit field must be a valid resource quantity";
        errors.push(Error::forbidden(&path.child("sizeLimit"), detail));
    }
    if let Some(mode) = maybe_integer(source, "mode").filter(|mode| !(0..=DIRECTORY_MODE_MAX).contains(mode))
    {
        let detail = "must be a number between 0 and 01777 (octal), both inclusive";
        errors.push(Error::invalid(&path.child("mode"), mode, detail));
    }
}

fn ephemeral(path: &Path<'_>, source: &Object, _: Owner<'_>, errors: &mut ErrorList) {
    let path = path.child("volumeClaimTemplate");
    match child(source, "volumeClaimTemplate") {
        None => errors.push(Error::required(&path, "")),
        Some(template) => validate_claim_template(&path, template, errors),
    }
}

/// Checks the future name of an ephemeral volume's claim. `path` is that of the volume.
fn claim_name(path: &Path<'_>, owner: Owner<'_>, errors: &mut ErrorList) {
    if owner.pod.is_empty() || owner.volume.is_empty() {
        return;
    }
    let name = format!("{}-{}", owner.pod, owner.volume);
    for message in names::is_dns1123_subdomain(&name) {
        let detail = format!("PVC name {}: {message}", quote(&name));
        errors.push(Error::invalid(&path.child("name"), owner.volume, detail));
    }
}

fn image(path: &Path<'_>, source: &Object, owner: Owner<'_>, errors: &mut ErrorList) {
    if !owner.options.empty_image_references {
        source::required(path, source, &["reference"], errors);
    }
    let policies = &["Always", "IfNotPresent", "Never"];
    required_one_of(&path.child("pullPolicy"), text(source, "pullPolicy"), policies, errors);
}

/// True if a pod spec has an image volume without a reference.
pub(super) fn has_empty_image_reference(spec: &Object) -> bool {
    let images = children(spec, "volumes").filter_map(|volume| child(volume, "image"));
    images.into_iter().any(|image| text(image, "reference").is_empty())
}

/// Checks that variables from files (KEP-3721) refer to a volume of kind `emptyDir`. `path` is that of the
/// pod spec.
pub(super) fn volumes_of_file_keys(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    super::visit_containers(path, spec, |container, path| {
        let path = path.child("env");
        for (index, variable) in children(container, "env").enumerate() {
            let key = child(variable, "valueFrom").and_then(|from| child(from, "fileKeyRef"));
            let Some(name) = key.map(|key| text(key, "volumeName")) else { continue };
            let path = path.index(index);
            let path = path.child("valueFrom.fileKeyRef.volumeName");
            let named = children(spec, "volumes").filter(|volume| text(volume, "name") == name);
            match named.last() {
                None => errors.push(Error::not_found(&path, name)),
                Some(volume) if !is_set(volume, "emptyDir") => {
                    let detail = "referenced volume must be of type emptyDir";
                    errors.push(Error::invalid(&path, name, detail));
                }
                Some(_) => {}
            }
        }
    });
}
