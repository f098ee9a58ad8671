//! Warnings about pods and pod templates, in upstream's order (`pkg/api/pod/warnings.go`).

use super::collector::Warnings;
use super::{affinity, colliding_files, containers, ip, node, ports, volumes};
use api::tree::{child, children, list, pairs, text, texts};
use apimachinery::field::Path;
use apimachinery::go_quote::Quoted;
use jsontree::Value;
use schema::object::{Object, get_i64};
use std::collections::BTreeSet;

/// Annotations that became fields long ago.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];

/// Annotation that became `securityContext.seccompProfile`.
const SECCOMP: &str = "seccomp.security.alpha.kubernetes.io/pod";

pub(crate) fn pod(pod: &Object, out: &mut Warnings) {
    rules(&Path::NIL, pod, false, out);
}

/// Warns about a `PodTemplateSpec` at a path.
pub(crate) fn template(path: &Path<'_>, template: &Object, out: &mut Warnings) {
    rules(path, template, true, out);
}

fn rules(path: &Path<'_>, object: &Object, is_template: bool, out: &mut Warnings) {
    let nothing = Object::new();
    let spec = child(object, "spec").unwrap_or(&nothing);
    let meta = child(object, "metadata");
    let annotations = meta.and_then(|meta| child(meta, "annotations")).unwrap_or(&nothing);
    let at_annotations = path.child("metadata.annotations");
    let path = path.child("spec");

    node_selector(&path, spec, out);
    affinity::node(&path, spec, out);
    topology_spread(&path, spec, out);
    for (key, message) in OLD_ANNOTATIONS {
        if annotations.contains_key(key) {
            out.add(format_args!("{}: {message}", at_annotations.key(key)));
        }
    }
    volumes::volumes(&path.child("volumes"), spec, out);
    colliding_files::overlaps(spec, out);
    repeated_host_aliases(&path.child("hostAliases"), spec, out);
    pull_secrets(&path.child("imagePullSecrets"), spec, out);
    containers::fractions(
        &path.child("overhead"),
        child(spec, "overhead"),
        &["memory", "ephemeral-storage"],
        out,
    );
    let security = child(spec, "securityContext");
    let has_seccomp = security.is_some_and(|security| child(security, "seccompProfile").is_some());
    if !has_seccomp && annotations.contains_key(SECCOMP) {
        let path = at_annotations.key(SECCOMP);
        out.add(format_args!("{path}: non-functional in v1.27+; use the \"seccompProfile\" field instead"));
    }
    containers::containers(
        &path,
        spec,
        &containers::Annotated { at_annotations, annotations, is_template },
        out,
    );
    ports::conflicts(&path, spec, out);
    ports::repeated_names(&path, spec, out);
    if get_i64(spec, &["terminationGracePeriodSeconds"]).is_some_and(|seconds| seconds < 0) {
        let path = path.child("terminationGracePeriodSeconds");
        out.add(format_args!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
    affinity::pods(&path, spec, out);
    addresses(&path, spec, out);
}

fn node_selector(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    for (key, _) in pairs(spec, "nodeSelector") {
        if let Some(message) = node::old_label(key) {
            out.add(format_args!("{}: {message}", path.child("nodeSelector").key(key)));
        }
    }
}

fn topology_spread(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let path = path.child("topologySpreadConstraints");
    for (index, constraint) in children(spec, "topologySpreadConstraints").enumerate() {
        let path = path.index(index);
        let key = text(constraint, "topologyKey");
        if let Some(message) = node::old_label(key) {
            out.add(format_args!("{}: {key} is {message}", path.child("topologyKey")));
        }
        affinity::no_selector(&path, constraint, out);
    }
}

fn repeated_host_aliases(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let mut seen = BTreeSet::new();
    for (index, alias) in children(spec, "hostAliases").enumerate() {
        let ip = text(alias, "ip");
        if !seen.insert(ip) {
            out.add(format_args!("{}: duplicate ip {}", path.index(index).child("ip"), Quoted(ip)));
        }
    }
}

/// Secret references may be empty; they are then `null` in the tree.
fn pull_secrets(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let secrets = list(spec, "imagePullSecrets").iter().map(Value::as_object);
    let names = secrets.map(|secret| secret.map_or("", |secret| text(secret, "name")));
    let mut seen = BTreeSet::new();
    for (index, name) in names.clone().enumerate() {
        if !seen.insert(name) {
            out.add(format_args!("{}: duplicate name {}", path.index(index).child("name"), Quoted(name)));
        }
    }
    for (index, _) in names.enumerate().filter(|(_, name)| name.is_empty()) {
        out.add(format_args!("{}: invalid empty name \"\"", path.index(index).child("name")));
    }
}

fn addresses(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    if let Some(config) = child(spec, "dnsConfig") {
        let path = path.child("dnsConfig.nameservers");
        for (index, server) in texts(config, "nameservers").enumerate() {
            ip::address(&path.index(index), server, out);
        }
    }
    let path = path.child("hostAliases");
    for (index, alias) in children(spec, "hostAliases").enumerate() {
        ip::address(&path.index(index).child("ip"), text(alias, "ip"), out);
    }
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::created;
    use jsontree::{Value, json};

    fn check(spec: Value, expected: &[&str]) {
        created("", "pods", json!({"metadata": {"name": "a"}, "spec": spec}), expected);
    }

    #[test]
    fn a_usual_pod_is_fine() {
        check(
            json!({"containers": [{"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}),
            &[],
        );
    }

    #[test]
    fn old_labels_choose_no_node() {
        check(
            json!({"nodeSelector": {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm", "a": "b"}}),
            &[
                "spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use \
                 \"kubernetes.io/arch\" instead",
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" \
                 instead",
            ],
        );
        check(
            json!({"topologySpreadConstraints": [{"topologyKey": "failure-domain.beta.kubernetes.io/zone"}]}),
            &[
                "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is \
                 deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
                "spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod",
            ],
        );
    }

    #[test]
    fn old_annotations_do_nothing() {
        let annotations = json!({
            "scheduler.alpha.kubernetes.io/critical-pod": "",
            "security.alpha.kubernetes.io/sysctls": "a=b",
            "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        });
        let with = |spec: Value| json!({"metadata": {"name": "a", "annotations": annotations}, "spec": spec});
        let priority = "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in \
            v1.16+; use the \"priorityClassName\" field instead";
        let sysctls = "metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; \
            use the \"sysctls\" field instead";
        let seccomp = "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in \
            v1.27+; use the \"seccompProfile\" field instead";
        created("", "pods", with(json!({})), &[priority, sysctls, seccomp]);
        let profile = json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}});
        created("", "pods", with(profile), &[priority, sysctls]);
    }

    #[test]
    fn entries_of_lists_should_differ() {
        check(
            json!({"hostAliases": [{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}]}),
            &["spec.hostAliases[1].ip: duplicate ip \"1.2.3.4\""],
        );
        check(
            json!({"imagePullSecrets": [{"name": "a"}, null, {"name": "a"}, {}]}),
            &[
                "spec.imagePullSecrets[2].name: duplicate name \"a\"",
                "spec.imagePullSecrets[3].name: duplicate name \"\"",
                "spec.imagePullSecrets[1].name: invalid empty name \"\"",
                "spec.imagePullSecrets[3].name: invalid empty name \"\"",
            ],
        );
    }

    #[test]
    fn overhead_is_whole_bytes() {
        check(
            json!({"overhead": {"cpu": "500m", "memory": "1500m", "ephemeral-storage": "1m"}}),
            &[
                "spec.overhead[memory]: fractional byte value \"1500m\" is invalid, must be an integer",
                "spec.overhead[ephemeral-storage]: fractional byte value \"1m\" is invalid, must be an integer",
            ],
        );
    }

    #[test]
    fn addresses_come_last() {
        check(
            json!({
                "hostAliases": [{"ip": "01.2.3.4"}],
                "dnsConfig": {"nameservers": ["8.8.8.8", "FE80::1"]},
                "terminationGracePeriodSeconds": -5,
            }),
            &[
                "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be \
                 treated as 1",
                "spec.dnsConfig.nameservers[1]: IPv6 address \"FE80::1\" should be in RFC 5952 canonical \
                 format (\"fe80::1\")",
                "spec.hostAliases[0].ip: non-standard IP address \"01.2.3.4\" is invalid: use \"1.2.3.4\"",
            ],
        );
    }
}
