//! The spec of a pod or of a pod template, in upstream's order.

use crate::validation::resource_name::container_resource;
use crate::validation::resources::Requirements;
use crate::validation::validate_labels;
use crate::validation::value::{dns_label, dns_subdomain, invalid_each, qualified_name, required_one_of};
use api::tree::{child, children, flag, integer, list, maybe_flag, maybe_integer, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::IO_K8S_API_CORE_V1_PODRESOURCECLAIM as RESOURCE_CLAIM;
use schema::object::Object;
use std::collections::BTreeSet;

use super::annotations::MIRROR_POD;
use super::container::{validate_containers, validate_ephemeral_containers, validate_init_containers};
use super::context::PodContext;
use super::{PodOptions, affinity, dns, os, pod_resources, security, spread, toleration, volumes};
use crate::validation::go_value::go_value;

/// Validates a pod spec. `meta` is the metadata of the pod; `None` for a template. `path` is that of the
/// spec.
pub(super) fn validate_pod_spec(
    spec: &Object,
    meta: Option<&Object>,
    path: &Path<'_>,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let grace_period = maybe_integer(spec, "terminationGracePeriodSeconds");
    if grace_period.is_none() {
        errors.push(Error::required(&path.child("terminationGracePeriodSeconds"), ""));
    }
    let pod_name = meta.map_or("", |meta| text(meta, "name"));
    let volumes = volumes::volumes(&path.child("volumes"), spec, pod_name, options, errors);
    resource_claims(&path.child("resourceClaims"), spec, meta, errors);
    let claims = children(spec, "resourceClaims").map(|claim| text(claim, "name"));
    let claims: BTreeSet<&str> = claims.filter(|name| !name.is_empty()).collect();
    let surroundings = PodContext {
        os: os::os_name(spec),
        volumes: &volumes,
        claims: &claims,
        grace_period,
        restart_policy: text(spec, "restartPolicy"),
        host_users: maybe_flag(spec, "hostUsers") != Some(false),
        options,
    };
    validate_containers(spec, &surroundings, &path.child("containers"), errors);
    validate_init_containers(spec, &surroundings, &path.child("initContainers"), errors);
    validate_ephemeral_containers(spec, &surroundings, &path.child("ephemeralContainers"), errors);
    pod_resources::pod_resources(path, spec, &claims, options, errors);
    environment(spec, path, options, errors);
    placement(spec, path, options, errors);
    identity(spec, path, errors);
    remaining_fields(spec, path, options, errors);
}

/// Validates the host's network, policies, and other settings around the containers.
fn environment(spec: &Object, path: &Path<'_>, options: &PodOptions, errors: &mut ErrorList) {
    host_ports(spec, path, options, errors);
    let restart_policies = &["Always", "OnFailure", "Never"];
    required_one_of(&path.child("restartPolicy"), text(spec, "restartPolicy"), restart_policies, errors);
    dns::policy(&path.child("dnsPolicy"), spec, errors);
    errors.append(validate_labels(spec, "nodeSelector", &path.child("nodeSelector")));
    security::pod_security_context(&path.child("securityContext"), spec, options, errors);
    security::process_namespace(path, spec, errors);
}

/// Validates the scheduling fields of a pod.
fn placement(spec: &Object, path: &Path<'_>, options: &PodOptions, errors: &mut ErrorList) {
    if let Some(affinity) = child(spec, "affinity") {
        affinity::affinity(&path.child("affinity"), affinity, options, errors);
    }
    dns::config(&path.child("dnsConfig"), spec, options.spelling(), errors);
    let gates = path.child("readinessGates");
    for (index, gate) in children(spec, "readinessGates").enumerate() {
        let path = gates.index(index);
        qualified_name(&path.child("conditionType"), text(gate, "conditionType"), errors);
    }
    scheduling_gates(&path.child("schedulingGates"), spec, errors);
    spread::constraints(&path.child("topologySpreadConstraints"), spec, options, errors);
    os::host_processes(path, spec, options, errors);
    security::user_namespace(path, spec, options, errors);
    dns::hostname_override(path, spec, errors);
}

/// Validates the names in a pod spec and its deadline.
fn identity(spec: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for member in ["serviceAccountName", "nodeName"] {
        let name = text(spec, member);
        if !name.is_empty() {
            dns_subdomain(&path.child(member), name, errors);
        }
    }
    if let Some(seconds) = maybe_integer(spec, "activeDeadlineSeconds") {
        let messages = names::is_in_range(seconds, 1..=i64::from(i32::MAX));
        invalid_each(&path.child("activeDeadlineSeconds"), seconds, messages, errors);
    }
    for member in ["hostname", "subdomain"] {
        let name = text(spec, member);
        if !name.is_empty() {
            dns_label(&path.child(member), name, errors);
        }
    }
}

fn remaining_fields(spec: &Object, path: &Path<'_>, options: &PodOptions, errors: &mut ErrorList) {
    let tolerations = children(spec, "tolerations");
    let path_of_tolerations = path.child("tolerations");
    toleration::tolerations(&path_of_tolerations, tolerations, options.toleration_comparisons, errors);
    dns::host_aliases(&path.child("hostAliases"), spec, options.spelling(), errors);
    let priority_class = text(spec, "priorityClassName");
    if !priority_class.is_empty() {
        dns_subdomain(&path.child("priorityClassName"), priority_class, errors);
    }
    if let Some(name) = maybe_text(spec, "runtimeClassName") {
        dns_subdomain(&path.child("runtimeClassName"), name, errors);
    }
    if let Some(policy) = maybe_text(spec, "preemptionPolicy") {
        let supported = &["PreemptLowerPriority", "Never"];
        required_one_of(&path.child("preemptionPolicy"), policy, supported, errors);
    }
    if let Some(overhead) = spec.get("overhead") {
        // Validated like the limits of a container, which is visible in the paths.
        let limits = Object::from_iter([("limits".to_owned(), overhead.clone())]);
        let allow_partial_huge_pages = options.partial_huge_pages;
        Requirements { name: container_resource, claims: &BTreeSet::new(), allow_partial_huge_pages }
            .validate(&limits, &path.child("overhead"), errors);
    }
    os::os(path, spec, errors);
    scheduling_group(&path.child("schedulingGroup"), spec, errors);
    volumes::volumes_of_file_keys(path, spec, errors);
}

/// Checks that containers on the host's network use the host's ports. Templates may omit the host port,
/// because defaulting of the pod sets it.
fn host_ports(spec: &Object, path: &Path<'_>, options: &PodOptions, errors: &mut ErrorList) {
    if !flag(spec, "hostNetwork") {
        return;
    }
    let path = path.child("containers");
    for (index, container) in children(spec, "containers").enumerate() {
        let path = path.index(index);
        let path = path.child("ports");
        for (index, port) in children(container, "ports").enumerate() {
            let host = integer(port, "hostPort");
            let container_port = integer(port, "containerPort");
            if host != container_port && (options.is_pod || host != 0) {
                let path = path.index(index);
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(Error::invalid(&path.child("hostPort"), host, detail));
            }
        }
    }
}

fn scheduling_gates(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, name) in children(spec, "schedulingGates").map(|gate| text(gate, "name")).enumerate() {
        let path = path.index(index);
        qualified_name(&path, name, errors);
        if !seen.insert(name) {
            errors.push(Error::duplicate(&path, name));
        }
    }
}

/// Validates the scheduling group of a pod (KEP-4671); its only alternative is required.
fn scheduling_group(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(group) = child(spec, "schedulingGroup") else { return };
    let name_path = path.child("podGroupName");
    match maybe_text(group, "podGroupName") {
        Some(name) => dns_subdomain(&name_path, name, errors),
        None => {
            let value = BadValue::Plain("null".to_owned());
            errors.push(Error::invalid(&name_path, value, "must specify one of: `podGroupName`"));
        }
    }
    if !list(spec, "evictionResponders").is_empty() {
        errors.push(Error::forbidden(path, "may not be set when evictionResponders is set"));
    }
}

/// Validates the resource claims of a pod (KEP-4381). `path` is that of the list.
fn resource_claims(path: &Path<'_>, spec: &Object, meta: Option<&Object>, errors: &mut ErrorList) {
    let annotations = meta.and_then(|meta| child(meta, "annotations"));
    let mirror = annotations.is_some_and(|annotations| annotations.contains_key(MIRROR_POD));
    let mut names = BTreeSet::new();
    for (index, claim) in children(spec, "resourceClaims").enumerate() {
        let path = path.index(index);
        if mirror {
            let detail = "static pods do not support resource claims";
            errors.push(Error::forbidden(&Path::root(""), detail));
            continue;
        }
        match text(claim, "name") {
            "" => errors.push(Error::required(&path.child("name"), "")),
            name if !names.insert(name) => errors.push(Error::duplicate(&path.child("name"), name)),
            name => dns_label(&path.child("name"), name, errors),
        }
        let members = ["resourceClaimName", "resourceClaimTemplateName"];
        let references = members.map(|member| (member, maybe_text(claim, member)));
        let detail = match references.iter().filter(|(_, name)| name.is_some()).count() {
            0 => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            2 => Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
            _ => None,
        };
        errors.extend(detail.map(|detail| Error::invalid(&path, go_value(&RESOURCE_CLAIM, claim), detail)));
        for (member, name) in references {
            if let Some(name) = name {
                dns_subdomain(&path.child(member), name, errors);
            }
        }
    }
}
