//! The security context of a pod.

use crate::validation::value::supported_value;
use api::tree::{child, children, flag, list, maybe_flag, maybe_integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

use super::PodOptions;
use super::security_context::{app_armor_profile, seccomp_profile, user_or_group_id, windows_options};

const SYSCTL_BYTES_MAX: usize = 253;
const SYSCTL_REGEX: &str = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";

/// Sysctls that are separate in each IPC namespace of the kernel.
const IPC_SYSCTLS: &[&str] = &[
    "kernel.sem",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
    "kernel.shm_rmid_forced",
    "kernel.shm",
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.msg",
];

/// Validates the security context of a pod spec. `path` is that of the context. The path of
/// `shareProcessNamespace` is below it, as in upstream's internal type.
pub(super) fn pod_security_context(
    path: &Path<'_>,
    spec: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let empty = Object::new();
    let context = child(spec, "securityContext").unwrap_or(&empty);
    for id in ["fsGroup", "runAsUser", "runAsGroup"] {
        if let Some(value) = maybe_integer(context, id) {
            user_or_group_id(&path.child(id), value, errors);
        }
    }
    let groups = path.child("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().filter_map(Value::as_i64).enumerate() {
        user_or_group_id(&groups.index(index), group, errors);
    }
    if flag(spec, "hostPID") && flag(spec, "shareProcessNamespace") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(Error::invalid(&path.child("shareProcessNamespace"), true, detail));
    }
    sysctls(&path.child("sysctls"), spec, context, options.host_sysctls, errors);
    let choice = |member: &str, supported: &[&str], errors: &mut ErrorList| {
        if let Some(value) = maybe_text(context, member) {
            supported_value(&path.child(member), value, supported, errors);
        }
    };
    choice("fsGroupChangePolicy", &["Always", "OnRootMismatch"], errors);
    if let Some(profile) = child(context, "seccompProfile") {
        seccomp_profile(profile, &path.child("seccompProfile"), errors);
    }
    if let Some(windows) = child(context, "windowsOptions") {
        windows_options(windows, &path.child("windowsOptions"), errors);
    }
    if let Some(profile) = child(context, "appArmorProfile") {
        app_armor_profile(profile, &path.child("appArmorProfile"), errors);
    }
    choice("supplementalGroupsPolicy", &["Merge", "Strict"], errors);
    let change_policies: &[&str] =
        if options.any_selinux_change_policy { &["MountOption", "Recursive"] } else { &["Recursive"] };
    choice("seLinuxChangePolicy", change_policies, errors);
}

/// True if a pod spec sets sysctls of namespaces that it shares with the host.
pub(super) fn has_host_sysctls(spec: &Object) -> bool {
    let sysctls = child(spec, "securityContext").into_iter().flat_map(|c| children(c, "sysctls"));
    sysctls.map(|sysctl| text(sysctl, "name")).any(|name| shared_namespace(spec, name).is_some())
}

fn sysctls(path: &Path<'_>, spec: &Object, context: &Object, host_sysctls: bool, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, name) in children(context, "sysctls").map(|sysctl| text(sysctl, "name")).enumerate() {
        let path = path.index(index);
        let path = path.child("name");
        let first = seen.insert(name);
        if name.is_empty() {
            errors.push(Error::required(&path, ""));
        } else if !is_sysctl_name(name) {
            let detail =
                format!("must have at most {SYSCTL_BYTES_MAX} characters and match regex {SYSCTL_REGEX}");
            errors.push(Error::invalid(&path, name, detail));
        } else if !first {
            errors.push(Error::duplicate(&path, name));
        }
        if let Some(member) = shared_namespace(spec, name).filter(|_| !host_sysctls) {
            let detail = format!("may not be specified when '{member}' is true");
            errors.push(Error::invalid(&path, name, detail));
        }
    }
}

/// True for segments of lower-case letters and digits, with inner dashes and underscores, separated by dots
/// or slashes.
fn is_sysctl_name(name: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let inner = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    name.len() <= SYSCTL_BYTES_MAX
        && name.split(['.', '/']).all(|segment| {
            let bytes = segment.as_bytes();
            edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
        })
}

/// Returns the member by which a pod shares the namespace of a sysctl with the host, if it does.
fn shared_namespace(spec: &Object, name: &str) -> Option<&'static str> {
    // In `net/ipv4/conf/eno2.100/x`, dots and slashes have swapped meanings.
    let swapped = name.find(['.', '/']).is_some_and(|at| name.as_bytes().get(at) == Some(&b'/'));
    let name: String = if swapped {
        name.chars()
            .map(|c| {
                if c == '.' {
                    '/'
                } else if c == '/' {
                    '.'
                } else {
                    c
                }
            })
            .collect()
    } else {
        name.to_owned()
    };
    let name = name.split('*').next().unwrap_or_default();
    if name.starts_with("net.") {
        return flag(spec, "hostNetwork").then_some("hostNetwork");
    }
    let ipc = IPC_SYSCTLS.contains(&name) || name.starts_with("fs.mqueue.");
    (ipc && flag(spec, "hostIPC")).then_some("hostIPC")
}

/// Validates the restrictions of a user namespace (KEP-127). `path` is that of the pod spec.
pub(super) fn user_namespace(path: &Path<'_>, spec: &Object, options: &PodOptions, errors: &mut ErrorList) {
    if maybe_flag(spec, "hostUsers") != Some(false) {
        return;
    }
    let detail = "when `hostUsers` is false";
    let members = [
        ("hostNetwork", "hostNetwork", options.user_namespace_host_network),
        ("hostPID", "HostPID", false),
        ("hostIPC", "HostIPC", false),
    ];
    for (member, step, allowed) in members {
        if flag(spec, member) && !allowed {
            errors.push(Error::forbidden(&path.child(step), detail));
        }
    }
    if options.user_namespace_devices {
        return;
    }
    super::visit_containers(path, spec, |container, path| {
        if !list(container, "volumeDevices").is_empty() {
            errors.push(Error::forbidden(&path.child("volumeDevices"), detail));
        }
    });
}
