//! Container statuses of a pod: state, user, devices.

use super::super::container_restarts::can_restart_all;
use super::super::container_restarts::is_sidecar;
use super::super::options::PodOptions;
use super::super::os::os_name;
use super::super::security_context::user_or_group_id;
use super::terminated;
use crate::validation::value::supported_value;
use api::tree::{child, children, integer, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use apimachinery::quantity::Quantity;
use jsontree::Value;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Status lists, each with its container list.
const REGULAR: (&str, &str) = ("containerStatuses", "containers");
const INIT: (&str, &str) = ("initContainerStatuses", "initContainers");
const EPHEMERAL: (&str, &str) = ("ephemeralContainerStatuses", "ephemeralContainers");

/// Length limit of a device's message in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;
/// Length limit of the reference of an image volume in bytes.
const IMAGE_BYTES_MAX: usize = 256;
const HEALTH: &[&str] = &["Healthy", "Unhealthy", "Unknown"];

/// Checks that permanently terminated containers stay terminated. `path` is that of the status.
pub(super) fn transitions(
    path: &Path<'_>,
    status: &Object,
    old_status: &Object,
    spec: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let all_can_restart = options.restart_rules && options.restart_of_all_containers && can_restart_all(spec);
    for (member, containers) in [REGULAR, INIT, EPHEMERAL] {
        if member != EPHEMERAL.0 && all_can_restart {
            continue;
        }
        let path = path.child(member);
        let containers = by_name(spec, containers);
        let mut running: BTreeMap<&str, usize> = BTreeMap::new();
        for new in children(status, member).filter(|new| terminated(new).is_none()) {
            *running.entry(text(new, "name")).or_default() += 1;
        }
        for (index, old) in children(old_status, member).enumerate() {
            let Some(ended) = terminated(old) else { continue };
            let name = text(old, "name");
            // With restart rules, upstream reports only the first status of a name.
            let most = if member == EPHEMERAL.0 || !options.restart_rules { usize::MAX } else { 1 };
            let restarted = running.get(name).copied().unwrap_or_default().min(most);
            let container = containers.get(name).copied();
            let exit_code = integer(ended, "exitCode");
            let can_restart = match container {
                _ if member == EPHEMERAL.0 => false,
                container if !options.restart_rules => {
                    should_restart_by_pod(container.filter(|_| member == INIT.0), spec, exit_code)
                }
                Some(container) => should_restart(container, spec, exit_code),
                None => false,
            };
            if can_restart {
                continue;
            }
            let path = path.index(index);
            let path = path.child("state");
            let detail = "may not be transitioned to non-terminated state";
            errors.extend((0..restarted).map(|_| Error::forbidden(&path, detail)));
        }
    }
}

/// Returns the containers of a list by name; the first one wins.
fn by_name<'o>(spec: &'o Object, member: &str) -> BTreeMap<&'o str, &'o Object> {
    let mut containers = BTreeMap::new();
    for container in children(spec, member) {
        containers.entry(text(container, "name")).or_insert(container);
    }
    containers
}

/// True if a container restarts after this exit code in a release without restart rules: by the pod's policy, or
/// because it is a sidecar.
fn should_restart_by_pod(init_container: Option<&Object>, spec: &Object, exit_code: i64) -> bool {
    match text(spec, "restartPolicy") {
        "Always" => true,
        "OnFailure" if exit_code != 0 => true,
        _ => init_container.is_some_and(is_sidecar),
    }
}

/// True if a container restarts after this exit code (KEP-5307).
fn should_restart(container: &Object, spec: &Object, exit_code: i64) -> bool {
    let by_policy = |policy: &str| match policy {
        "Always" => Some(true),
        "OnFailure" => Some(exit_code != 0),
        "Never" => Some(false),
        _ => None,
    };
    let container_policy = maybe_text(container, "restartPolicy");
    let rule = children(container, "restartPolicyRules").find(|rule| {
        let Some(codes) = child(rule, "exitCodes") else { return false };
        let contains_code = list(codes, "values").iter().any(|code| code.as_i64() == Some(exit_code));
        match text(codes, "operator") {
            "In" => contains_code,
            "NotIn" => !contains_code,
            _ => false,
        }
    });
    let by_rule = rule.is_some_and(|rule| matches!(text(rule, "action"), "Restart" | "RestartAllContainers"));
    if container_policy.is_some() && by_rule {
        return true;
    }
    container_policy.and_then(by_policy).or_else(|| by_policy(text(spec, "restartPolicy"))).unwrap_or(true)
}

/// Validates the users of the containers. `path` is that of the status.
pub(super) fn users(path: &Path<'_>, status: &Object, spec: &Object, errors: &mut ErrorList) {
    for (member, _) in [REGULAR, INIT, EPHEMERAL] {
        let path = path.child(member);
        for (index, container) in children(status, member).enumerate() {
            let Some(linux) = child(container, "user").and_then(|user| child(user, "linux")) else {
                continue;
            };
            let path = path.index(index);
            let path = path.child("user.linux");
            match os_name(spec).unwrap_or("linux") {
                "windows" => errors.push(Error::forbidden(&path, "cannot be set for a windows pod")),
                "linux" => linux_user(&path, linux, errors),
                _ => {}
            }
        }
    }
}

fn linux_user(path: &Path<'_>, user: &Object, errors: &mut ErrorList) {
    // The container runtime reports the user id, so any id of the kernel is valid.
    let uid = integer(user, "uid");
    let max = i64::from(u32::MAX);
    if !(0..=max).contains(&uid) {
        errors.push(Error::invalid(&path.child("uid"), uid, names::inclusive_range_error(0, max)));
    }
    user_or_group_id(&path.child("gid"), integer(user, "gid"), errors);
    let path = path.child("supplementalGroups");
    for (index, group) in list(user, "supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
        user_or_group_id(&path.index(index), group, errors);
    }
}

/// Validates the health of the containers' devices (KEP-4680). `path` is that of the status.
pub(super) fn allocated_resources(path: &Path<'_>, status: &Object, spec: &Object, errors: &mut ErrorList) {
    for (member, containers) in [REGULAR, INIT] {
        let path = path.child(member);
        let containers = by_name(spec, containers);
        let extended = child(status, "extendedResourceClaimStatus");
        let mut claims: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for (index, container_status) in children(status, member).enumerate() {
            let name = text(container_status, "name");
            let container = containers.get(name).copied();
            let requested = || {
                let of_container = container.map(requested_claims).unwrap_or_default();
                let of_extended =
                    container.zip(extended).map(|(container, claim)| extended_claims(container, claim));
                of_container.into_iter().chain(of_extended.into_iter().flatten()).collect()
            };
            let claims = &*claims.entry(name).or_insert_with(requested);
            let container = container.map(|container| (container, claims));
            let path = path.index(index);
            let path = path.child("allocatedResourcesStatus");
            for (index, resource) in children(container_status, "allocatedResourcesStatus").enumerate() {
                allocated_resource(&path.index(index), resource, container, errors);
            }
        }
    }
    let path = path.child(EPHEMERAL.0);
    for (index, container_status) in children(status, EPHEMERAL.0).enumerate() {
        if !list(container_status, "allocatedResourcesStatus").is_empty() {
            let path = path.index(index);
            let detail = "must not be specified in container status";
            errors.push(Error::forbidden(&path.child("allocatedResourcesStatus"), detail));
        }
    }
}

fn allocated_resource(
    path: &Path<'_>,
    resource: &Object,
    container: Option<(&Object, &BTreeSet<String>)>,
    errors: &mut ErrorList,
) {
    let name = text(resource, "name");
    if let Some(detail) = container.and_then(|(container, claims)| not_requested(container, claims, name)) {
        errors.push(Error::invalid(&path.child("name"), name, detail));
    }
    let mut seen = BTreeSet::new();
    let path = path.child("resources");
    for (index, device) in children(resource, "resources").enumerate() {
        let path = path.index(index);
        supported_value(&path.child("health"), text(device, "health"), HEALTH, errors);
        let message = maybe_text(device, "message");
        if message == Some("") {
            errors.push(Error::required(&path.child("message"), "must be non-empty if specified"));
        } else if message.is_some_and(|message| message.len() > MESSAGE_BYTES_MAX) {
            errors.push(Error::too_long(&path.child("message"), Some(MESSAGE_BYTES_MAX)));
        }
        let id = text(device, "resourceID");
        if !seen.insert(id) {
            errors.push(Error::duplicate(&path.child("resourceID"), id));
        }
    }
}

/// Validates the digests of image volumes (KEP-5365). `path` is that of the status.
pub(super) fn image_volumes(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    for (member, _) in [REGULAR, INIT, EPHEMERAL] {
        let path = path.child(member);
        for (index, container) in children(status, member).enumerate() {
            let path = path.index(index);
            let path = path.child("volumeMounts");
            for (index, mount) in children(container, "volumeMounts").enumerate() {
                let image = child(mount, "volumeStatus").and_then(|volume| child(volume, "image"));
                if let Some(image) = image {
                    let path = path.index(index);
                    image_volume(&path.child("volumeStatus.imageVolumeStatus.imageRef"), image, errors);
                }
            }
        }
    }
}

/// Validates the reference of an image volume. `path` is that of the reference.
fn image_volume(path: &Path<'_>, image: &Object, errors: &mut ErrorList) {
    let reference = text(image, "imageRef");
    if reference.is_empty() {
        errors.push(Error::required(path, "imageRef must not be empty"));
    } else if reference.len() > IMAGE_BYTES_MAX {
        errors.push(Error::too_long(path, Some(IMAGE_BYTES_MAX)));
    }
}

/// Returns the claims that a container requests, in the format of statuses.
fn requested_claims(container: &Object) -> BTreeSet<String> {
    let claims =
        child(container, "resources").into_iter().flat_map(|resources| children(resources, "claims"));
    let written = |claim: &Object| match (text(claim, "name"), text(claim, "request")) {
        (name, "") => name.to_owned(),
        (name, request) => format!("{name}/{request}"),
    };
    claims.map(written).collect()
}

/// Returns the requests of the pod's claim for extended resources that belong to a container (KEP-5004), in the format
/// of statuses. A request of zero does not count.
fn extended_claims<'o>(container: &'o Object, claim: &'o Object) -> impl Iterator<Item = String> + 'o {
    let requests = child(container, "resources").and_then(|resources| child(resources, "requests"));
    let is_requested = move |mapping: &&Object| {
        let quantity = requests.and_then(|requests| requests.get(text(mapping, "resourceName")));
        let quantity = quantity.and_then(Value::as_str).and_then(|text| text.parse::<Quantity>().ok());
        quantity.is_some_and(|quantity| !quantity.sign().is_eq())
    };
    let of_container = move |mapping: &&Object| text(mapping, "containerName") == text(container, "name");
    let named = |mapping: &&Object| !text(mapping, "requestName").is_empty();
    children(claim, "requestMappings")
        .filter(of_container)
        .filter(named)
        .filter(is_requested)
        .map(move |mapping| format!("{}/{}", text(claim, "resourceClaimName"), text(mapping, "requestName")))
}

/// Returns the error for a resource that a container has but does not request.
fn not_requested(container: &Object, claims: &BTreeSet<String>, name: &str) -> Option<&'static str> {
    if let Some(claim) = name.strip_prefix("claim:") {
        return (!claims.contains(claim)).then_some(
            "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty",
        );
    }
    let requests = child(container, "resources").and_then(|resources| child(resources, "requests"));
    let requested = requests.is_some_and(|requests| requests.contains_key(name));
    (!requested).then_some("must match one of the container's resource requests")
}
