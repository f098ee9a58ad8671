//! Operating systems of pods: `os`, the fields that each system forbids, and Windows host-process containers.

use api::tree::{child, flag, is_set, list, maybe_flag, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

use super::{PodOptions, visit_containers};

/// Linux-only members of a pod's security context.
const LINUX_POD_CONTEXT: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
/// Linux-only members of the pod spec.
const LINUX_POD: &[&str] = &["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"];

/// Linux-only members of a container's security context.
const LINUX_CONTAINER_CONTEXT: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// Validates `os`, and that the pod has no fields of the other system. `path` is that of the pod spec.
pub(super) fn os(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(os) = child(spec, "os") else { return };
    match text(os, "name") {
        "" => errors.push(Error::required(&path.child("os").child("name"), "")),
        "linux" => linux(path, spec, errors),
        "windows" => windows(path, spec, errors),
        name => errors.push(Error::not_supported(&path.child("os"), name, &["linux", "windows"])),
    }
}

/// Returns the name of the operating system, if set.
pub(super) fn os_name(spec: &Object) -> Option<&str> {
    child(spec, "os").map(|os| text(os, "name"))
}

fn linux(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut check = |owner: &Object, path: &Path<'_>| {
        if child(owner, "securityContext").is_some_and(|context| is_set(context, "windowsOptions")) {
            let path = path.child("securityContext");
            let detail = "windows options cannot be set for a linux pod";
            errors.push(Error::forbidden(&path.child("windowsOptions"), detail));
        }
    };
    check(spec, path);
    visit_containers(path, spec, check);
}

fn windows(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let detail = "cannot be set for a windows pod";
    let mut forbid = |owner: &Object, path: &Path<'_>, members: &[&str]| {
        // A list or a non-pointer flag is set if it is not empty.
        let set = |member: &str| match member {
            "hostPID" | "hostIPC" => flag(owner, member),
            "sysctls" => !list(owner, member).is_empty(),
            _ => is_set(owner, member),
        };
        for member in members.iter().filter(|member| set(member)) {
            errors.push(Error::forbidden(&path.child(member), detail));
        }
    };
    let empty = Object::new();
    let context = child(spec, "securityContext").unwrap_or(&empty);
    let context_path = path.child("securityContext");
    forbid(context, &context_path, LINUX_POD_CONTEXT);
    forbid(spec, path, LINUX_POD);
    visit_containers(path, spec, |container, path| {
        if let Some(context) = child(container, "securityContext") {
            forbid(context, &path.child("securityContext"), LINUX_CONTAINER_CONTEXT);
        }
    });
}

/// Checks that either all containers of a pod are Windows host processes or none, and the requirements of
/// such pods (KEP-1981). `path` is that of the pod spec.
pub(super) fn host_processes(path: &Path<'_>, spec: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let setting = |owner: &Object| {
        let options = child(owner, "securityContext").and_then(|context| child(context, "windowsOptions"));
        options.and_then(|options| maybe_flag(options, "hostProcess"))
    };
    let of_pod = setting(spec);
    let mut containers = 0;
    let mut host_processes = 0;
    visit_containers(path, spec, |container, path| {
        containers += 1;
        let container_setting = setting(container);
        if let (Some(pod), Some(container_setting)) = (of_pod, container_setting)
            && pod != container_setting
        {
            let path = path.child("securityContext");
            let path = path.child("windowsOptions");
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            errors.push(Error::invalid(&path.child("hostProcess"), container_setting, detail));
        }
        host_processes += u32::from(container_setting.or(of_pod) == Some(true));
    });
    if host_processes == 0 {
        return;
    }
    if host_processes != containers {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(Error::invalid(path, "", detail));
    }
    if !flag(spec, "hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(Error::invalid(&path.child("hostNetwork"), false, detail));
    }
    if !options.allow_privileged {
        errors.push(Error::forbidden(path, "hostProcess containers are disallowed by cluster policy"));
    }
}
