//! Changes of volumes through `pods/resize`: the size of empty directories in memory (KEP-6030).

use crate::core::pod::PodOptions;
use crate::validation::resources::quantity;
use api::semantic;
use api::tree::{child, child_mut, children, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_CORE_V1_VOLUME as VOLUME;
use schema::object::Object;

/// Validates the volumes of a resized pod. `path` is that of the list.
pub(crate) fn resized(
    path: &Path<'_>,
    new: &Object,
    old: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let is_equal_length = list(new, "volumes").len() == list(old, "volumes").len();
    let mut pairs = children(new, "volumes").zip(children(old, "volumes"));
    if !options.memory_volume_resize {
        if !is_equal_length || !pairs.all(|(new, old)| semantic::equal(&VOLUME, new, old)) {
            let detail = "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes \
                          feature gate is disabled";
            errors.push(Error::forbidden(path, detail));
        }
        return;
    }
    if !is_equal_length {
        errors.push(Error::forbidden(path, "volumes may not be added or removed on resize"));
        return;
    }
    for (index, (new, old)) in pairs.enumerate() {
        volume(&path.index(index), new, old, errors);
    }
}

fn volume(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) {
    if text(new, "name") != text(old, "name") {
        let detail = "volumes may not be renamed or reordered on resize";
        errors.push(Error::forbidden(&path.child("name"), detail));
        return;
    }
    let new_directory = child(new, "emptyDir");
    let directories = new_directory.zip(child(old, "emptyDir"));
    let mut rest = new.clone();
    if let Some((_, old_directory)) = directories {
        restore_limit(&mut rest, old_directory);
    }
    if !semantic::equal(&VOLUME, &rest, old) {
        let detail = "only sizeLimit of memory-backed emptyDir volumes is mutable on resize";
        errors.push(Error::forbidden(path, detail));
        return;
    }
    let Some((new, old)) = directories else { return };
    let limit = |directory: &Object| quantity(directory.get("sizeLimit"));
    let path = path.child("emptyDir");
    let path = path.child("sizeLimit");
    if limit(new).sign().is_eq() != limit(old).sign().is_eq() {
        let detail = "adding or removing sizeLimit on an existing volume is not allowed";
        errors.push(Error::forbidden(&path, detail));
    } else if limit(new) != limit(old) && text(new, "medium") != "Memory" {
        let detail = "sizeLimit is only mutable for memory-backed emptyDir volumes";
        errors.push(Error::forbidden(&path, detail));
    }
}

fn restore_limit(volume: &mut Object, old_directory: &Object) {
    let Some(directory) = child_mut(volume, "emptyDir") else { return };
    match old_directory.get("sizeLimit") {
        Some(limit) => directory.insert("sizeLimit", limit.clone()),
        None => directory.remove("sizeLimit"),
    };
}
