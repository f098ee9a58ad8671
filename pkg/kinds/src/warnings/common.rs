//! Warnings and accessors that several kinds share.

use crate::warnings::collector::Warnings;
use api::tree::{child, children, text};
use component_base::features::Gate;
use schema::object::{Object, get_i64, get_str};

pub(crate) fn generation_changed(new: &Object, old: &Object) -> bool {
    generation(new) != generation(old)
}

/// As [`static_name`], but where manifests on the server's disk are read, validation refuses their names.
pub(crate) fn new_manifest_kind(new: &Object, out: &mut Warnings) {
    if !out.enabled(Gate::ManifestBasedAdmissionControlConfig) {
        static_name(new, out);
    }
}

/// Warns about names that are reserved for static manifests of admission objects.
pub(crate) fn static_name(new: &Object, out: &mut Warnings) {
    if let Some(why) = crate::validation::rules::static_name(name(new)) {
        out.add(format_args!("metadata.name: {why}"));
    }
}

pub(crate) fn name(object: &Object) -> &str {
    child(object, "metadata").map_or("", |meta| text(meta, "name"))
}

pub(crate) fn generation(object: &Object) -> i64 {
    get_i64(object, &["metadata", "generation"]).unwrap_or_default()
}

pub(crate) fn annotation<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    get_str(object, &["metadata", "annotations", key])
}

/// Container lists in upstream's order.
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Iterates over the containers of a pod spec, with their list and index.
pub(super) fn each(spec: &Object) -> impl Iterator<Item = (&'static str, usize, &Object)> {
    LISTS.into_iter().flat_map(move |list| {
        children(spec, list).enumerate().map(move |(index, container)| (list, index, container))
    })
}
