//! Containers of a pod: regular ones, init containers (including sidecars, which run as long as the pod) and
//! ephemeral ones. Upstream's `validateContainers`, `validateInitContainers` and
//! `validateEphemeralContainers`; paths are upstream's even where they lack an index.

mod env;
mod mounts;
mod ports;
mod probe;
mod restart;

use super::container_restarts::is_sidecar;
use super::context::PodContext;
use super::security_context::security_context;
use crate::validation::resource_name::container_resource;
use crate::validation::resources::Requirements;
use crate::validation::value::{dns_label, required_one_of};
use api::tree::{child, children, is_set, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;
use std::collections::BTreeSet;

const FORBIDDEN_IN_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";
const FORBIDDEN_IN_INIT: &str = "may not be set for init containers without restartPolicy=Always";

/// Validates the regular containers; at least one is required. `path` is that of the list.
pub(super) fn validate_containers(
    spec: &Object,
    pod: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if list(spec, "containers").is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let mut names = BTreeSet::new();
    for (index, container) in children(spec, "containers").enumerate() {
        let path = path.index(index);
        common(container, pod, &path, errors);
        let name = text(container, "name");
        if !names.insert(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
        probe::lifecycle_and_probes(container, pod, &path, errors);
        restart::policy(container, pod.options, &path, errors);
    }
    let mut host_ports = BTreeSet::new();
    for (index, container) in children(spec, "containers").enumerate() {
        ports::unique_host_ports(container, &mut host_ports, &path.index(index), errors);
    }
}

/// Validates the init containers. `path` is that of the list.
pub(super) fn validate_init_containers(
    spec: &Object,
    pod: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut names: BTreeSet<&str> = names(spec, "containers").collect();
    for (index, container) in children(spec, "initContainers").enumerate() {
        let item = path.index(index);
        common(container, pod, &item, errors);
        restart::init_policy(container, pod.options, &item, errors);
        let name = text(container, "name");
        if names.contains(name) {
            errors.push(Error::duplicate(&item.child("name"), name));
        } else if !name.is_empty() {
            names.insert(name);
        }
        // Init containers run sequentially, so ports may repeat; the path lacks the index.
        ports::unique_host_ports(container, &mut BTreeSet::new(), &path.index(0), errors);
        if is_sidecar(container) {
            probe::lifecycle_and_probes(container, pod, &item, errors);
            continue;
        }
        let members = ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"];
        let set = members.into_iter().filter(|member| is_set(container, member));
        errors.extend(set.map(|member| Error::forbidden(&item.child(member), FORBIDDEN_IN_INIT)));
        if !pod.options.init_restart_on_resize {
            restart::no_restart_on_resize(container, &item, errors);
        }
    }
}

/// Validates the ephemeral containers of pods, and of templates, which must not have any. `path` is that of
/// the list.
pub(super) fn validate_ephemeral_containers(
    spec: &Object,
    pod: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let others: BTreeSet<&str> = names(spec, "containers").chain(names(spec, "initContainers")).collect();
    let mut all = others.clone();
    for (index, container) in children(spec, "ephemeralContainers").enumerate() {
        let path = path.index(index);
        common(container, pod, &path, errors);
        trimmed_image(container, &path, errors);
        let name = text(container, "name");
        if !all.insert(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
        let target = text(container, "targetContainerName");
        if !target.is_empty() && !others.contains(target) {
            errors.push(Error::not_found(&path.child("targetContainerName"), target));
        }
        no_service_fields(container, &path, errors);
    }
}

/// Checks that images have no surrounding white space, which old templates may have. For pods only. Ephemeral
/// containers are checked with their other fields.
pub(super) fn validate_images_of_pod(spec: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for list in ["containers", "initContainers"] {
        let path = path.child(list);
        for (index, container) in children(spec, list).enumerate() {
            trimmed_image(container, &path.index(index), errors);
        }
    }
}

/// Checks that an image has no surrounding white space.
fn trimmed_image(container: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let image = text(container, "image");
    if image.trim().len() != image.len() {
        let detail = "must not have leading or trailing whitespace";
        errors.push(Error::invalid(&path.child("image"), image, detail));
    }
}

fn names<'o>(spec: &'o Object, list: &str) -> impl Iterator<Item = &'o str> + use<'o> {
    children(spec, list).map(|container| text(container, "name"))
}

/// Validates the common fields of all containers.
fn common(container: &Object, pod: &PodContext<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    match text(container, "name") {
        "" => errors.push(Error::required(&path.child("name"), "")),
        name => dns_label(&path.child("name"), name, errors),
    }
    if text(container, "image").is_empty() {
        errors.push(Error::required(&path.child("image"), ""));
    }
    let member_of = |member: &str, supported: &[&str], errors: &mut ErrorList| {
        required_one_of(&path.child(member), text(container, member), supported, errors);
    };
    member_of("terminationMessagePolicy", &["File", "FallbackToLogsOnError"], errors);
    ports::ports(container, &path.child("ports"), errors);
    env::env(container, &path.child("env"), errors);
    env::env_from(container, &path.child("envFrom"), errors);
    mounts::mounts(container, pod.volumes, &path.child("volumeMounts"), errors);
    mounts::devices(container, pod.volumes, &path.child("volumeDevices"), errors);
    member_of("imagePullPolicy", &["Always", "IfNotPresent", "Never"], errors);
    if let Some(resources) = child(container, "resources") {
        let allow_partial_huge_pages = pod.options.partial_huge_pages;
        Requirements { name: container_resource, claims: pod.claims, allow_partial_huge_pages }.validate(
            resources,
            &path.child("resources"),
            errors,
        );
    }
    restart::resize_policy(container, pod.restart_policy, &path.child("resizePolicy"), errors);
    if let Some(context) = child(container, "securityContext") {
        security_context(context, pod, &path.child("securityContext"), errors);
    }
}

/// Checks that an ephemeral container has no fields of a service, because nothing may rely on it. It also
/// must not have subpaths, whose mounts would remain.
fn no_service_fields(container: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let forbidden = |path: &Path<'_>| Error::forbidden(path, FORBIDDEN_IN_EPHEMERAL);
    let resources = child(container, "resources");
    let has_resources =
        resources.is_some_and(|r| ["limits", "requests", "claims"].iter().any(|list| is_set(r, list)));
    let members = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    for member in members {
        let set = if member == "resources" { has_resources } else { is_set(container, member) };
        if set {
            errors.push(forbidden(&path.child(member)));
        }
    }
    let path = path.child("volumeMounts");
    for (index, mount) in children(container, "volumeMounts").enumerate() {
        let path = path.index(index);
        let members = ["subPath", "subPathExpr"].into_iter();
        errors.extend(members.filter(|m| !text(mount, m).is_empty()).map(|m| forbidden(&path.child(m))));
    }
}

#[cfg(test)]
mod tests;
