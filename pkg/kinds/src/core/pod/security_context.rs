//! The security context of a container, and its parts that pods also have (seccomp, AppArmor, Windows).

use super::capabilities::sys_admin;
use super::context::PodContext;
use crate::validation::go_value::go_value;
use crate::validation::value::{invalid_each, local_relative_path, supported_value};
use api::tree::{child, maybe_flag, maybe_integer, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::{IO_K8S_API_CORE_V1_SECCOMPPROFILE, IO_K8S_API_CORE_V1_SECURITYCONTEXT};
use schema::object::Object;

mod windows;

pub(super) use windows::windows_options;

/// Length limit of a node's AppArmor profile name in bytes.
const LOCAL_PROFILE_BYTES_MAX: usize = 4095;

const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];

pub(super) fn security_context(
    context: &Object,
    pod: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let privileged = maybe_flag(context, "privileged") == Some(true);
    if privileged && !pod.options.allow_privileged {
        errors.push(Error::forbidden(&path.child("privileged"), "disallowed by cluster policy"));
    }
    for id in ["runAsUser", "runAsGroup"] {
        if let Some(value) = maybe_integer(context, id) {
            user_or_group_id(&path.child(id), value, errors);
        }
    }
    if let Some(kind) = maybe_text(context, "procMount") {
        let path = path.child("procMount");
        supported_value(&path, kind, &["Default", "Unmasked"], errors);
        if pod.host_users && kind == "Unmasked" {
            errors.push(Error::invalid(&path, kind, "`hostUsers` must be false to use `Unmasked`"));
        }
    }
    if let Some(profile) = child(context, "seccompProfile") {
        seccomp_profile(profile, &path.child("seccompProfile"), errors);
    }
    if maybe_flag(context, "allowPrivilegeEscalation") == Some(false) {
        contradictions(context, privileged, pod.options.sys_admin_without_escalation, path, errors);
    }
    if let Some(options) = child(context, "windowsOptions") {
        windows_options(options, &path.child("windowsOptions"), errors);
    }
    if let Some(profile) = child(context, "appArmorProfile") {
        app_armor_profile(profile, &path.child("appArmorProfile"), errors);
    }
}

/// Checks for a Linux user or group id.
pub(super) fn user_or_group_id(path: &Path<'_>, id: i64, errors: &mut ErrorList) {
    invalid_each(path, id, names::is_in_range(id, 0..=i64::from(i32::MAX)), errors);
}

/// Validates a seccomp profile. A profile in a file of the node is referenced by its path.
pub(super) fn seccomp_profile(profile: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let kind = text(profile, "type");
    match kind {
        "" => {
            errors.push(Error::required(&path.child("type"), "type is required when seccompProfile is set"))
        }
        _ => supported_value(&path.child("type"), kind, PROFILE_TYPES, errors),
    }
    let path = path.child("localhostProfile");
    match (kind, maybe_text(profile, "localhostProfile")) {
        ("Localhost", None) => {
            errors.push(Error::required(&path, "must be set when seccomp type is Localhost"));
        }
        ("Localhost", Some(file)) => local_relative_path(&path, file, errors),
        (_, None) => {}
        (_, Some(_)) => {
            let value = go_value(&IO_K8S_API_CORE_V1_SECCOMPPROFILE, profile);
            errors.push(Error::invalid(&path, value, "can only be set when seccomp type is Localhost"));
        }
    }
}

/// Validates an AppArmor profile (KEP-24).
pub(super) fn app_armor_profile(profile: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let file = maybe_text(profile, "localhostProfile");
    let file_path = path.child("localhostProfile");
    match (text(profile, "type"), file) {
        ("Localhost", file) => local_app_armor_profile(file, &file_path, errors),
        ("RuntimeDefault" | "Unconfined", Some(file)) => {
            let detail = "can only be set when AppArmor type is Localhost";
            errors.push(Error::invalid(&file_path, BadValue::json_text(file), detail));
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => {
            let detail = "type is required when appArmorProfile is set";
            errors.push(Error::required(&path.child("type"), detail));
        }
        (kind, _) => supported_value(&path.child("type"), kind, PROFILE_TYPES, errors),
    }
}

fn local_app_armor_profile(file: Option<&str>, path: &Path<'_>, errors: &mut ErrorList) {
    let missing = || Error::required(path, "must be set when AppArmor type is Localhost");
    let Some(file) = file else {
        errors.push(missing());
        return;
    };
    if file.trim() != file {
        errors.push(Error::invalid(path, file, "must not be padded with whitespace"));
    } else if file.is_empty() {
        errors.push(missing());
    }
    if file.len() > LOCAL_PROFILE_BYTES_MAX {
        errors.push(Error::too_long(path, Some(LOCAL_PROFILE_BYTES_MAX)));
    }
}

/// Reports settings that contradict `allowPrivilegeEscalation: false`.
fn contradictions(
    context: &Object,
    privileged: bool,
    allows_sys_admin: bool,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let contradicts = |conflict: &str| {
        let detail = format!("cannot set `allowPrivilegeEscalation` to false and {conflict}");
        Error::invalid(path, go_value(&IO_K8S_API_CORE_V1_SECURITYCONTEXT, context), detail)
    };
    if privileged {
        errors.push(contradicts("`privileged` to true"));
    }
    if !allows_sys_admin {
        errors.extend(sys_admin(context).map(|_| contradicts("`capabilities.Add` CAP_SYS_ADMIN")));
    }
}

#[cfg(test)]
mod tests;
