//! Pod annotations with meaning for the server: mirror pods, deletion cost, and the predecessors of fields
//! (tolerations, seccomp, AppArmor), which must not contradict the fields.

use crate::validation::value::local_relative_path;
use api::tree::{child, maybe_text, pairs, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use schema::object::Object;

use super::{PodOptions, os, toleration, visit_containers};

pub(super) const MIRROR_POD: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const LOCALHOST: &str = "localhost/";

/// True if an object has the annotation of mirror pods (copies of static pods).
pub(super) fn is_mirror_pod(object: &Object) -> bool {
    annotation(object, MIRROR_POD).is_some()
}

/// True if the pod deletion cost is absent or a 32-bit number without a plus sign or unnecessary zeros.
pub(super) fn deletion_cost_is_valid(annotations: &Object) -> bool {
    let Some(cost) = maybe_text(annotations, DELETION_COST) else { return true };
    let starts_well = cost == "0" || cost.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
    starts_well && cost.parse::<i32>().is_ok()
}

/// Validates the annotations of a pod or template. `path` is that of the annotations.
pub(super) fn annotations(path: &Path<'_>, object: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let empty = Object::new();
    let all = child(object, "metadata").and_then(|meta| child(meta, "annotations")).unwrap_or(&empty);
    let spec = child(object, "spec").unwrap_or(&empty);
    if let Some(value) = maybe_text(all, MIRROR_POD).filter(|_| text(spec, "nodeName").is_empty()) {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.push(Error::invalid(&path.key(MIRROR_POD), value, detail));
    }
    old_tolerations(path, text(all, TOLERATIONS), options, errors);
    if !options.bad_deletion_cost && !deletion_cost_is_valid(all) {
        let value = text(all, DELETION_COST);
        errors.push(Error::invalid(&path.key(DELETION_COST), value, "must be a 32bit integer"));
    }
    if let Some(profile) = maybe_text(all, SECCOMP_POD) {
        seccomp_profile_name(&path.child(SECCOMP_POD), profile, errors);
    }
    let by_key = || all.iter().map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()));
    for (key, profile) in by_key().filter(|(key, _)| key.starts_with(SECCOMP_CONTAINER)) {
        seccomp_profile_name(&path.child(key), profile, errors);
    }
    for (key, value) in by_key() {
        if let Some(container) = key.strip_prefix(APP_ARMOR) {
            app_armor_profile_name(&path.key(key), container, value, spec, errors);
        }
    }
}

fn old_tolerations(path: &Path<'_>, value: &str, options: &PodOptions, errors: &mut ErrorList) {
    if value.is_empty() {
        return;
    }
    match toleration::from_annotation(value) {
        Ok(items) => {
            let path = path.child(TOLERATIONS);
            toleration::tolerations(&path, items.iter(), options.toleration_comparisons, errors);
        }
        Err(error) => errors.push(Error::invalid(path, TOLERATIONS, error.to_string())),
    }
}

fn seccomp_profile_name(path: &Path<'_>, profile: &str, errors: &mut ErrorList) {
    match (profile, profile.strip_prefix(LOCALHOST)) {
        ("runtime/default" | "docker/default" | "unconfined", _) => {}
        (_, Some(file)) => local_relative_path(path, file, errors),
        _ => errors.push(Error::invalid(path, profile, "must be a valid seccomp profile")),
    }
}

fn app_armor_profile_name(
    path: &Path<'_>,
    container: &str,
    profile: &str,
    spec: &Object,
    errors: &mut ErrorList,
) {
    let mut exists = false;
    visit_containers(path, spec, |other, _| exists |= text(other, "name") == container);
    if !exists {
        errors.push(Error::invalid(path, container, "container not found"));
    }
    if !matches!(profile, "" | "runtime/default" | "unconfined") && !profile.starts_with(LOCALHOST) {
        let detail = format!("invalid AppArmor profile name: {}", quote(profile));
        errors.push(Error::invalid(path, profile, detail));
    }
}

/// Checks that an update does not change annotations that are immutable in a running pod, and validates the
/// new ones. `path` is that of the annotations.
pub(super) fn annotation_updates(
    path: &Path<'_>,
    new: &Object,
    old: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    for (key, _) in annotation_pairs(old).filter(|(key, value)| annotation(new, key) != Some(value)) {
        forbid_change(path, key, "remove or update", errors);
    }
    for (key, _) in annotation_pairs(new).filter(|(key, _)| annotation(old, key).is_none()) {
        forbid_change(path, key, "add", errors);
    }
    annotations(path, new, options, errors);
}

fn forbid_change(path: &Path<'_>, key: &str, verb: &str, errors: &mut ErrorList) {
    if key.starts_with(APP_ARMOR) {
        errors.push(Error::forbidden(&path.key(key), format!("may not {verb} AppArmor annotations")));
    }
    if key == MIRROR_POD {
        errors.push(Error::forbidden(&path.key(key), format!("may not {verb} mirror pod annotation")));
    }
}

/// Checks that fields and annotations of a new pod or template agree, if both are set, about seccomp and then
/// about AppArmor. `path` is that of the pod spec.
pub(super) fn profiles_match(path: &Path<'_>, object: &Object, errors: &mut ErrorList) {
    let Some(spec) = child(object, "spec") else { return };
    let seccomp_of_pod = profile(spec, "seccompProfile");
    if let (Some(field), Some(value)) = (seccomp_of_pod, annotation(object, SECCOMP_POD)) {
        let context = path.child("securityContext");
        errors.extend(mismatch(&context.child("seccompProfile"), SECCOMP_NAMES, field, value));
    }
    visit_containers(path, spec, |container, path| {
        let value = annotation(object, &format!("{SECCOMP_CONTAINER}{}", text(container, "name")));
        if let (Some(field), Some(value)) = (profile(container, "seccompProfile"), value) {
            let context = path.child("securityContext");
            errors.extend(mismatch(&context.child("seccompProfile"), SECCOMP_NAMES, field, value));
        }
    });
    if os::os_name(spec) == Some("windows") {
        return;
    }
    let of_pod = profile(spec, "appArmorProfile");
    visit_containers(path, spec, |container, path| {
        let value = annotation(object, &format!("{APP_ARMOR}{}", text(container, "name")));
        let field = profile(container, "appArmorProfile").or(of_pod);
        if let (Some(field), Some(value)) = (field, value) {
            let context = path.child("securityContext");
            errors.extend(mismatch(&context.child("appArmorProfile"), APP_ARMOR_NAMES, field, value));
        }
    });
}

/// Name of the profile type in errors, and the annotation values for `RuntimeDefault`.
type ProfileNames = (&'static str, &'static [&'static str]);

const SECCOMP_NAMES: ProfileNames = ("seccomp", &["runtime/default", "docker/default"]);
const APP_ARMOR_NAMES: ProfileNames = ("apparmor", &["runtime/default"]);

/// Returns the error if a profile in a field contradicts one in an annotation.
fn mismatch(path: &Path<'_>, (word, default): ProfileNames, field: &Object, value: &str) -> Option<Error> {
    let file = value.strip_prefix(LOCALHOST);
    let same_type = match text(field, "type") {
        "Unconfined" => value == "unconfined",
        "RuntimeDefault" => default.contains(&value),
        "Localhost" => file.is_some(),
        _ => true,
    };
    if !same_type {
        let detail = format!("{word} type in annotation and field must match");
        return Some(Error::forbidden(&path.child("type"), detail));
    }
    let same_file = text(field, "type") != "Localhost" || maybe_text(field, "localhostProfile") == file;
    (!same_file).then(|| {
        let detail = format!("{word} profile in annotation and field must match");
        Error::forbidden(&path.child("localhostProfile"), detail)
    })
}

/// Returns a profile in the security context of a pod spec or container.
fn profile<'o>(owner: &'o Object, member: &str) -> Option<&'o Object> {
    child(owner, "securityContext").and_then(|context| child(context, member))
}

fn annotation<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    let all = child(object, "metadata").and_then(|meta| child(meta, "annotations"))?;
    maybe_text(all, key)
}

fn annotation_pairs(object: &Object) -> impl Iterator<Item = (&str, &str)> {
    child(object, "metadata").into_iter().flat_map(|meta| pairs(meta, "annotations"))
}
