//! The security context of a pod.

use crate::validation::value::supported_value;
use api::tree::{child, flag, list, maybe_flag, maybe_integer, maybe_text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;

use super::PodOptions;
use super::security_context::{app_armor_profile, seccomp_profile, user_or_group_id, windows_options};
use super::sysctls::sysctls;

/// Validates the security context of a pod spec. `path` is that of the context.
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

/// Checks that a pod does not share both its own process namespace and that of the host. `path` is that of the pod
/// spec.
pub(super) fn process_namespace(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    if flag(spec, "hostPID") && flag(spec, "shareProcessNamespace") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(Error::invalid(&path.child("shareProcessNamespace"), true, detail));
    }
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
