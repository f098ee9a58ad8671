//! Sysctls of a pod.

use api::tree::{child, children, flag, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;
use std::collections::BTreeSet;

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

/// True if a pod spec sets sysctls of namespaces that it shares with the host.
pub(super) fn has_host_sysctls(spec: &Object) -> bool {
    let sysctls = child(spec, "securityContext").into_iter().flat_map(|c| children(c, "sysctls"));
    sysctls.map(|sysctl| text(sysctl, "name")).any(|name| shared_namespace(spec, name).is_some())
}

pub(super) fn sysctls(
    path: &Path<'_>,
    spec: &Object,
    context: &Object,
    host_sysctls: bool,
    errors: &mut ErrorList,
) {
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
