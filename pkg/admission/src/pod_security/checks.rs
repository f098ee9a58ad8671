//! The checks of the Pod Security Standards, one function each.

use std::collections::BTreeSet;

use api::tree::{child, children, flag, integer, maybe_flag, maybe_integer, maybe_text, pairs, text, texts};
use apimachinery::go_quote::Quoted;
use schema::object::Object;

use super::names::{DEFAULT_CAPABILITIES, RESTRICTED_VOLUMES, SYSCTLS, VOLUMES};
use super::subject::{Subject, Violation};
use super::violation_text::{containers_that, context, noun_with_names, plural, quoted, setters};
use crate::meta::{annotation, containers};

type CheckResult = Option<Violation>;

const SECCOMP_OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR_OF_CONTAINER: &str = "container.apparmor.security.beta.kubernetes.io/";

fn violation(reason: &'static str, detail: String) -> CheckResult {
    Some(Violation { reason, detail })
}

fn is_windows(spec: &Object) -> bool {
    child(spec, "os").is_some_and(|os| text(os, "name") == "windows")
}

/// True if the pod uses a user namespace (KEP-127).
fn has_own_users(spec: &Object) -> bool {
    maybe_flag(spec, "hostUsers") == Some(false)
}

pub(super) fn app_armor(Subject { template, spec, .. }: Subject<'_>) -> CheckResult {
    let mut values = BTreeSet::new();
    let set = setters(spec, |context| {
        let kind = child(context, "appArmorProfile").map(|profile| text(profile, "type"));
        let bad = kind.filter(|kind| !matches!(*kind, "RuntimeDefault" | "Localhost"));
        values.extend(bad);
        bad.is_some()
    });
    let fine = |profile: &str| matches!(profile, "" | "runtime/default") || profile.starts_with("localhost/");
    let metadata = child(template, "metadata");
    let annotations = metadata.into_iter().flat_map(|metadata| pairs(metadata, "annotations"));
    let bad = annotations.filter(|(key, profile)| key.starts_with(APP_ARMOR_OF_CONTAINER) && !fine(profile));
    let mut bad: Vec<String> = bad.map(|(key, profile)| format!("{key}={}", Quoted(profile))).collect();
    bad.sort();
    let annotations = (!bad.is_empty()).then(|| plural("annotation", "annotations", bad.len()).to_owned());
    let setters: Vec<String> = set.into_iter().chain(annotations).collect();
    if setters.is_empty() {
        return None;
    }
    let values: Vec<String> = values.into_iter().map(str::to_owned).chain(bad).collect();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len());
    let setters = setters.join(" and ");
    let values = quoted(&values);
    violation(reason, format!("{setters} must not set AppArmor profile type to {values}"))
}

pub(super) fn capabilities_baseline(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let mut forbidden: BTreeSet<&str> = BTreeSet::new();
    let names = containers_that(spec, |container| {
        let bad: Vec<&str> = added(container).filter(|name| !DEFAULT_CAPABILITIES.contains(name)).collect();
        forbidden.extend(&bad);
        !bad.is_empty()
    });
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must not include {} in securityContext.capabilities.add",
        noun_with_names("container", &names),
        quoted(forbidden)
    );
    violation("non-default capabilities", detail)
}

fn capabilities(container: &Object) -> Option<&Object> {
    child(context(container)?, "capabilities")
}

fn added(container: &Object) -> impl Iterator<Item = &str> {
    capabilities(container).into_iter().flat_map(|capabilities| texts(capabilities, "add"))
}

pub(super) fn host_namespaces(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|name| flag(spec, name));
    let shared: Vec<String> = shared.map(|name| format!("{name}=true")).collect();
    if shared.is_empty() { None } else { violation("host namespaces", shared.join(", ")) }
}

pub(super) fn host_path_volumes(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let volumes = children(spec, "volumes").filter(|volume| volume.contains_key("hostPath"));
    let names: Vec<&str> = volumes.map(|volume| text(volume, "name")).collect();
    if names.is_empty() { None } else { violation("hostPath volumes", noun_with_names("volume", &names)) }
}

pub(super) fn host_ports(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    // Upstream sorts the numbers as texts.
    let mut forbidden_ports = BTreeSet::new();
    let names = containers_that(spec, |container| {
        let ports = children(container, "ports").map(|port| integer(port, "hostPort"));
        let ports: Vec<String> = ports.filter(|port| *port != 0).map(|port| port.to_string()).collect();
        let bad = !ports.is_empty();
        forbidden_ports.extend(ports);
        bad
    });
    if names.is_empty() {
        return None;
    }
    let uses = plural("uses", "use", names.len());
    let ports = plural("hostPort", "hostPorts", forbidden_ports.len());
    let list = forbidden_ports.into_iter().collect::<Vec<_>>().join(", ");
    violation("hostPort", format!("{} {uses} {ports} {list}", noun_with_names("container", &names)))
}

pub(super) fn probe_hosts(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let mut names = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for container in containers(spec) {
        let probes = ["livenessProbe", "readinessProbe", "startupProbe"].map(|probe| child(container, probe));
        let hooks = child(container, "lifecycle");
        let hooks = ["postStart", "preStop"].map(|hook| hooks.and_then(|hooks| child(hooks, hook)));
        for handler in probes.into_iter().chain(hooks).flatten() {
            let actions = ["httpGet", "tcpSocket"].into_iter().filter_map(|action| child(handler, action));
            for host in actions.map(|action| text(action, "host")).filter(|host| !host.is_empty()) {
                names.insert(text(container, "name"));
                hosts.insert(host);
            }
        }
    }
    if names.is_empty() {
        return None;
    }
    let names: Vec<&str> = names.into_iter().collect();
    let uses = plural("uses", "use", names.len());
    let noun = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    let detail = format!("{} {uses} {noun} {}", noun_with_names("container", &names), quoted(hosts));
    violation("probe or lifecycle host", detail)
}

pub(super) fn privileged(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let names = containers_that(spec, |c| context(c).is_some_and(|context| flag(context, "privileged")));
    if names.is_empty() {
        return None;
    }
    violation(
        "privileged",
        format!("{} must not set securityContext.privileged=true", noun_with_names("container", &names)),
    )
}

pub(super) fn proc_mount_baseline(subject: Subject<'_>) -> CheckResult {
    if subject.minor >= 35 && has_own_users(subject.spec) { None } else { proc_mount(subject) }
}

pub(super) fn proc_mount(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let mut forbidden = BTreeSet::new();
    let names = containers_that(spec, |container| {
        let mount = context(container).and_then(|context| maybe_text(context, "procMount"));
        let bad = mount.filter(|mount| *mount != "Default");
        forbidden.extend(bad);
        bad.is_some()
    });
    if names.is_empty() {
        return None;
    }
    let names = noun_with_names("container", &names);
    let mounts = quoted(forbidden);
    violation("procMount", format!("{names} must not set securityContext.procMount to {mounts}"))
}

pub(super) fn se_linux(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    let mut types = BTreeSet::new();
    let mut user = false;
    let mut role = false;
    let setters = setters(spec, |context| {
        let Some(options) = child(context, "seLinuxOptions") else { return false };
        let kind = text(options, "type");
        let fine = matches!(kind, "" | "container_t" | "container_init_t" | "container_kvm_t")
            || (minor >= 31 && kind == "container_engine_t");
        let sets_user = !text(options, "user").is_empty();
        let sets_role = !text(options, "role").is_empty();
        if !fine {
            types.insert(kind);
        }
        user |= sets_user;
        role |= sets_role;
        !fine || sets_user || sets_role
    })?;
    let mut data = Vec::new();
    if !types.is_empty() {
        let types: Vec<&str> = types.into_iter().collect();
        data.push(noun_with_names("type", &types));
    }
    data.extend(user.then(|| "user may not be set".to_owned()));
    data.extend(role.then(|| "role may not be set".to_owned()));
    let detail = format!("{setters} set forbidden securityContext.seLinuxOptions: {}", data.join("; "));
    violation("seLinuxOptions", detail)
}

pub(super) fn seccomp_baseline(subject: Subject<'_>) -> CheckResult {
    if subject.minor < 19 { seccomp_annotations(subject) } else { seccomp_profile_invalid(subject.spec) }
}

/// Checks the annotations that predate the seccomp field.
fn seccomp_annotations(Subject { template, spec, .. }: Subject<'_>) -> CheckResult {
    let of_containers = containers(spec).map(|c| format!("{SECCOMP_OF_CONTAINER}{}", text(c, "name")));
    let keys = std::iter::once(SECCOMP_OF_POD.to_owned()).chain(of_containers);
    let fine = |profile: &str| {
        matches!(profile, "runtime/default" | "docker/default") || profile.starts_with("localhost/")
    };
    let bad = keys.filter_map(|key| {
        let profile = annotation(template, &key).filter(|profile| !fine(profile))?;
        Some(format!("{key}={}", Quoted(profile)))
    });
    let bad: BTreeSet<String> = bad.collect();
    if bad.is_empty() {
        return None;
    }
    let noun = plural("annotation", "annotations", bad.len());
    violation(
        "seccompProfile",
        format!("forbidden {noun} {}", bad.into_iter().collect::<Vec<_>>().join(", ")),
    )
}

/// Returns the profile type of a security context, if any.
fn seccomp_type(context: &Object) -> Option<&str> {
    Some(text(child(context, "seccompProfile")?, "type"))
}

fn is_safe(kind: &str) -> bool {
    matches!(kind, "Localhost" | "RuntimeDefault")
}

fn seccomp_profile_invalid(spec: &Object) -> CheckResult {
    let mut forbidden = BTreeSet::new();
    let setters = setters(spec, |context| {
        let bad = seccomp_type(context).filter(|kind| !is_safe(kind));
        forbidden.extend(bad);
        bad.is_some()
    })?;
    let detail =
        format!("{setters} must not set securityContext.seccompProfile.type to {}", quoted(forbidden));
    violation("seccompProfile", detail)
}

pub(super) fn seccomp_restricted(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    if minor >= 25 && is_windows(spec) {
        return None;
    }
    if let Some(violation) = seccomp_profile_invalid(spec) {
        return Some(violation);
    }
    if context(spec).and_then(seccomp_type).is_some() {
        return None;
    }
    let names = containers_that(spec, |container| context(container).and_then(seccomp_type).is_none());
    if names.is_empty() {
        return None;
    }
    let names = noun_with_names("container", &names);
    let requirement = r#"securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost""#;
    violation("seccompProfile", format!("pod or {names} must set {requirement}"))
}

pub(super) fn sysctls(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    let set = context(spec).into_iter().flat_map(|context| children(context, "sysctls"));
    let safe = |name: &str| SYSCTLS.iter().any(|(safe, since)| *safe == name && *since <= minor);
    let bad: Vec<&str> = set.map(|sysctl| text(sysctl, "name")).filter(|name| !safe(name)).collect();
    if bad.is_empty() { None } else { violation("forbidden sysctls", bad.join(", ")) }
}

pub(super) fn windows_host_process(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let setters = setters(spec, |context| {
        child(context, "windowsOptions").is_some_and(|options| flag(options, "hostProcess"))
    })?;
    violation(
        "hostProcess",
        format!("{setters} must not set securityContext.windowsOptions.hostProcess=true"),
    )
}

pub(super) fn privilege_escalation(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    if minor >= 25 && is_windows(spec) {
        return None;
    }
    let forbids = |context| maybe_flag(context, "allowPrivilegeEscalation") == Some(false);
    let names = containers_that(spec, |container| !context(container).is_some_and(forbids));
    if names.is_empty() {
        return None;
    }
    let detail = format!(
        "{} must set securityContext.allowPrivilegeEscalation=false",
        noun_with_names("container", &names)
    );
    violation("allowPrivilegeEscalation != false", detail)
}

pub(super) fn capabilities_restricted(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    if minor >= 25 && is_windows(spec) {
        return None;
    }
    let drops_all = |capabilities| texts(capabilities, "drop").any(|name| name == "ALL");
    let keeping = containers_that(spec, |container| !capabilities(container).is_some_and(drops_all));
    let mut forbidden: BTreeSet<&str> = BTreeSet::new();
    let adding = containers_that(spec, |container| {
        let bad: Vec<&str> = added(container).filter(|name| *name != "NET_BIND_SERVICE").collect();
        forbidden.extend(&bad);
        !bad.is_empty()
    });
    let mut details = Vec::new();
    if !keeping.is_empty() {
        let names = noun_with_names("container", &keeping);
        details.push(format!(r#"{names} must set securityContext.capabilities.drop=["ALL"]"#));
    }
    if !adding.is_empty() {
        let names = noun_with_names("container", &adding);
        details.push(format!(
            "{names} must not include {} in securityContext.capabilities.add",
            quoted(forbidden)
        ));
    }
    if details.is_empty() { None } else { violation("unrestricted capabilities", details.join("; ")) }
}

pub(super) fn volume_types(Subject { spec, .. }: Subject<'_>) -> CheckResult {
    let mut names = Vec::new();
    let mut types = BTreeSet::new();
    for volume in children(spec, "volumes") {
        if VOLUMES.iter().any(|kind| volume.contains_key(*kind)) {
            continue;
        }
        names.push(text(volume, "name"));
        let kind = RESTRICTED_VOLUMES.iter().find(|kind| volume.contains_key(**kind));
        types.insert(kind.map_or("unknown", |kind| kind));
    }
    if names.is_empty() {
        return None;
    }
    let uses = plural("uses", "use", names.len());
    let noun = plural("restricted volume type", "restricted volume types", types.len());
    let detail = format!("{} {uses} {noun} {}", noun_with_names("volume", &names), quoted(types));
    violation("restricted volume types", detail)
}

pub(super) fn run_as_non_root(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    if minor >= 35 && has_own_users(spec) {
        return None;
    }
    let reason = "runAsNonRoot != true";
    let flag = |context| maybe_flag(context, "runAsNonRoot");
    if let Some(setters) = setters(spec, |context| flag(context) == Some(false)) {
        return violation(reason, format!("{setters} must not set securityContext.runAsNonRoot=false"));
    }
    if context(spec).and_then(flag) == Some(true) {
        return None;
    }
    let names = containers_that(spec, |container| context(container).and_then(flag).is_none());
    if names.is_empty() {
        return None;
    }
    let names = noun_with_names("container", &names);
    violation(reason, format!("pod or {names} must set securityContext.runAsNonRoot=true"))
}

pub(super) fn run_as_user(Subject { spec, minor, .. }: Subject<'_>) -> CheckResult {
    if minor >= 35 && has_own_users(spec) {
        return None;
    }
    let setters = setters(spec, |context| maybe_integer(context, "runAsUser") == Some(0))?;
    violation("runAsUser=0", format!("{setters} must not set runAsUser=0"))
}
