//! Attachments of volumes to nodes.

mod defaults;

use crate::core::persistent_volume::{Context, validate_volume_spec};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata};
use crate::validation::value::dns_subdomain;
use crate::validation::volume_source::csi_driver;
use api::tree::{child, maybe_integer, maybe_text, pairs, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use component_base::features::Gate;
use schema::builtin::IO_K8S_API_STORAGE_V1_VOLUMEATTACHMENT as VOLUME_ATTACHMENT_MESSAGE;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        // Upstream also has a rule for v1alpha1 but never registers it.
        Version::with_defaults("storage.k8s.io/v1", defaults::volume_attachment),
        Version::with_defaults("storage.k8s.io/v1beta1", defaults::volume_attachment),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::text("Attacher", |object, _| object.get_path("spec.attacher").into())
            .with_description_of("io.k8s.api.storage.v1.VolumeAttachmentSpec", "attacher")
            .format("name"),
        Column::text("PV", |object, _| object.get_path("spec.source.persistentVolumeName").into())
            .with_description_of("io.k8s.api.storage.v1.VolumeAttachmentSource", "persistentVolumeName"),
        Column::text("Node", |object, _| object.get_path("spec.nodeName").into())
            .with_description_of("io.k8s.api.storage.v1.VolumeAttachmentSpec", "nodeName"),
        Column::boolean("Attached", |object, _| object.get_path("status.attached").flag().into())
            .with_description_of("io.k8s.api.storage.v1.VolumeAttachmentStatus", "attached"),
        AGE,
    ]),
    gated: &[gated_path(
        &["status"],
        &[
            gated_by(Gate::MutableCSINodeAllocatableCount, &[&["attachError", "errorCode"]]),
            gated_by(Gate::MutableCSINodeAllocatableCount, &[&["detachError", "errorCode"]]),
        ],
    )],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

/// Size limit of an attachment's driver metadata, keys and values together, in bytes.
const METADATA_BYTES_MAX: usize = 256 * 1024;
const MESSAGE_BYTES_MAX: usize = 1024;

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    csi_driver(&path.child("attacher"), text(spec, "attacher"), &mut errors);
    let source_of = child(spec, "source").unwrap_or(&empty);
    source(&path.child("source"), source_of, &mut errors);
    dns_subdomain(&path.child("nodeName"), text(spec, "nodeName"), &mut errors);
    status(child(new, "status").unwrap_or(&empty), &mut errors);
    if let Some(name) = maybe_text(source_of, "persistentVolumeName") {
        dns_subdomain(&path.child("source.persistentVolumeName"), name, &mut errors);
    }
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = create(new);
    immutable(&Path::root("spec"), &VOLUME_ATTACHMENT_MESSAGE, "spec", new, old, &mut errors);
    errors
}

fn source(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    let detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (child(source, "inlineVolumeSpec"), maybe_text(source, "persistentVolumeName")) {
        (None, None) => errors.push(Error::required(path, detail)),
        (Some(_), Some(_)) => errors.push(Error::forbidden(path, detail)),
        (None, Some("")) => {
            let detail = "must specify non empty persistentVolumeName";
            errors.push(Error::required(&path.child("persistentVolumeName"), detail));
        }
        (None, Some(_)) => {}
        (Some(spec), None) => {
            validate_volume_spec(&path.child("inlineVolumeSpec"), spec, Context::Inline, errors);
        }
    }
}

fn status(status: &Object, errors: &mut ErrorList) {
    let path = Path::root("status");
    let bytes: usize = pairs(status, "attachmentMetadata").map(|(key, value)| key.len() + value.len()).sum();
    if bytes > METADATA_BYTES_MAX {
        errors.push(Error::too_long(&path.child("attachmentMetadata"), Some(METADATA_BYTES_MAX)));
    }
    for member in ["attachError", "detachError"] {
        let Some(error) = child(status, member) else { continue };
        let path = path.child(member);
        if text(error, "message").len() > MESSAGE_BYTES_MAX {
            errors.push(Error::too_long(&path.child("message"), Some(MESSAGE_BYTES_MAX)));
        }
        if let Some(code) = maybe_integer(error, "errorCode").filter(|code| *code < 0) {
            let detail = names::inclusive_range_error(0, i32::MAX.into());
            errors.push(Error::invalid(&path.child("errorCode"), code, detail));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn attachment(source: &Value, rest: &Value) -> Object {
        let object = json!({"metadata": {"name": "a", "resourceVersion": "1"}, "status": rest,
            "spec": {"attacher": "d", "nodeName": "n", "source": source}});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(source: Value, status: Value, expected: &[&str]) {
        let errors = create(&attachment(&source, &status));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{source}");
    }

    #[test]
    fn attachment_has_exactly_one_source() {
        check(json!({"persistentVolumeName": "a"}), json!({}), &[]);
        check(json!({}), json!({}), &["spec.source"]);
        check(json!({"persistentVolumeName": "a", "inlineVolumeSpec": {}}), json!({}), &["spec.source"]);
        let name = "spec.source.persistentVolumeName";
        check(json!({"persistentVolumeName": ""}), json!({}), &[name, name]);
        let csi = json!({"accessModes": ["ReadWriteOnce"], "csi": {"driver": "d", "volumeHandle": "h"}});
        check(json!({"inlineVolumeSpec": csi}), json!({}), &[]);
    }

    #[test]
    fn messages_are_short() {
        let status = json!({"attachError": {"message": "x".repeat(1025), "errorCode": -1}});
        let path = |step: &str| format!("status.attachError.{step}");
        check(json!({"persistentVolumeName": "a"}), status, &[&path("message"), &path("errorCode")]);
    }

    #[test]
    fn attachment_spec_is_immutable() {
        let with = |name: &str| attachment(&json!({"persistentVolumeName": name}), &json!({}));
        let errors = update("", &with("a"), &with("b"));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["spec"]);
    }
}
