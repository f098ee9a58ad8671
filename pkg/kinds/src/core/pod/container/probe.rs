//! Probes, lifecycle hooks, and the stop signal of a container.

use super::super::context::PodContext;
use crate::validation::value::{invalid_each, nonnegative, port_number_or_name, supported_value};
use api::tree::{child, children, integer, list, maybe_integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

/// Validates the probes, hooks and stop signal of a long-running container. `path` is that of the container.
pub(super) fn lifecycle_and_probes(
    container: &Object,
    pod: &PodContext<'_>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if let Some(hooks) = child(container, "lifecycle") {
        lifecycle(hooks, pod, &path.child("lifecycle"), errors);
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(values) = child(container, name) else { continue };
        let path = path.child(name);
        probe(values, &path, errors);
        if name == "readinessProbe" {
            if let Some(period) = maybe_integer(values, "terminationGracePeriodSeconds") {
                let detail = "must not be set for readinessProbes";
                errors.push(Error::invalid(&path.child("terminationGracePeriodSeconds"), period, detail));
            }
            continue;
        }
        let threshold = integer(values, "successThreshold");
        if threshold != 1 {
            errors.push(Error::invalid(&path.child("successThreshold"), threshold, "must be 1"));
        }
    }
}

fn probe(probe: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], None, path, errors);
    let members =
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"];
    for member in members {
        nonnegative(&path.child(member), integer(probe, member), errors);
    }
    let period = maybe_integer(probe, "terminationGracePeriodSeconds").filter(|period| *period <= 0);
    if let Some(period) = period {
        let path = path.child("terminationGracePeriodSeconds");
        errors.push(Error::invalid(&path, period, "must be greater than 0"));
    }
}

fn lifecycle(hooks: &Object, pod: &PodContext<'_>, path: &Path<'_>, errors: &mut ErrorList) {
    for name in ["postStart", "preStop"] {
        if let Some(hook) = child(hooks, name) {
            let members = ["exec", "httpGet", "tcpSocket", "sleep"];
            handler(hook, &members, pod.grace_period, &path.child(name), errors);
        }
    }
    if let Some(signal) = maybe_text(hooks, "stopSignal") {
        stop_signal(signal, pod.os, &path.child("stopSignal"), errors);
    }
}

/// Validates the action of a probe or hook; there must be exactly one. `members` are upstream's supported
/// ones, in its order.
fn handler(
    handler: &Object,
    members: &[&str],
    grace_period: Option<i64>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let mut set = members.iter().filter_map(|member| Some((*member, child(handler, member)?)));
    let Some((name, action)) = set.next() else {
        errors.push(Error::required(path, "must specify a handler type"));
        return;
    };
    let action_path = path.child(name);
    match name {
        "exec" if list(action, "command").is_empty() => {
            errors.push(Error::required(&action_path.child("command"), ""));
        }
        "httpGet" => http_get(action, &action_path, errors),
        "tcpSocket" => port_number_or_name(&action_path.child("port"), action.get("port"), errors),
        "grpc" => {
            let port = integer(action, "port");
            let path = action_path.child("port");
            invalid_each(&path, port, names::is_port_number(port), errors);
            if let Some(mode) = maybe_text(action, "mode") {
                supported_value(&action_path.child("mode"), mode, &["Plaintext", "TLS"], errors);
            }
        }
        "sleep" => errors.extend(sleep(action, grace_period, &action_path)),
        _ => {}
    }
    let more = |(name, _)| Error::forbidden(&path.child(name), "may not specify more than 1 handler type");
    errors.extend(set.map(more));
}

fn http_get(action: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    if text(action, "path").is_empty() {
        errors.push(Error::required(&path.child("path"), ""));
    }
    port_number_or_name(&path.child("port"), action.get("port"), errors);
    supported_value(&path.child("scheme"), text(action, "scheme"), &["HTTP", "HTTPS"], errors);
    for header in children(action, "httpHeaders") {
        let name = text(header, "name");
        invalid_each(&path.child("httpHeaders"), name, names::is_http_header_name(name), errors);
    }
    http_protocol(action, path, errors);
}

/// Validates the protocol of a request: HTTP/2 is supported without TLS (h2c) and to the pod itself.
fn http_protocol(action: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let Some(protocol) = maybe_text(action, "protocol") else { return };
    let protocol_path = path.child("protocol");
    if protocol != "HTTP2" {
        supported_value(&protocol_path, protocol, &["HTTP1", "HTTP2"], errors);
    } else if text(action, "scheme") != "HTTP" {
        errors.push(Error::invalid(&protocol_path, protocol, "is only supported with HTTP (H2C)"));
    } else if !text(action, "host").is_empty() {
        let detail = "must be empty when `protocol` is \"HTTP2\"";
        errors.push(Error::invalid(&path.child("host"), text(action, "host"), detail));
    }
}

/// Checks that a sleep ends before the pod's grace period (KEP-3960). Without a grace period the pod is
/// invalid for other reasons.
fn sleep(action: &Object, grace_period: Option<i64>, path: &Path<'_>) -> Option<Error> {
    let seconds = integer(action, "seconds");
    let most = grace_period?;
    let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({most})");
    (!(0..=most).contains(&seconds)).then(|| Error::invalid(path, seconds, detail))
}

/// Checks that the pod's operating system supports a signal (KEP-4960).
fn stop_signal(signal: &str, os: Option<&str>, path: &Path<'_>, errors: &mut ErrorList) {
    match os {
        None => {
            let detail = "may not be set for containers with empty `spec.os.name`";
            errors.push(Error::forbidden(path, detail));
        }
        Some("windows") => supported_value(path, signal, &["SIGKILL", "SIGTERM"], errors),
        Some("linux") => supported_value(path, signal, LINUX_SIGNALS, errors),
        Some(_) => {}
    }
}

/// Sorted bytewise, the order in upstream's errors.
const LINUX_SIGNALS: &[&str] = &[
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];
