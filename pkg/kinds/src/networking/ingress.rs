//! Ingresses: routing of URLs to services.

mod columns;
mod defaults;
mod warnings;

use super::typed_reference;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::cidr::legacy_ip;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::{dns_subdomain, host_name, invalid_each};
use crate::validation::{NameRule, Spelling, canonical_ip};
use api::tree::{child, children, integer, is_set, list, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use component_base::features::{Gate, Gates};
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        // The path type is required in this version.
        Version::without_defaults("networking.k8s.io/v1"),
        Version::with_defaults("networking.k8s.io/v1beta1", defaults::ingress_v1beta1),
        Version::with_defaults("extensions/v1beta1", defaults::ingress_v1beta1),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::ingress,
        update: OnUpdate::Custom(|_, _, _| {}),
        update_status: crate::warnings::addresses::load_balancer_status,
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Relaxed rules: for updates of objects that already break them, or by a feature gate.
#[derive(Clone, Copy, Default)]
struct Options {
    /// Allows invalid names of secrets.
    bad_secret_name: bool,
    /// Allows invalid rules for wildcard hosts.
    bad_wildcard_rule: bool,
    /// Allows names of services that start with a digit.
    relaxed_service_names: bool,
}

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let relaxed_service_names = context.settings.gates.enabled(Gate::RelaxedServiceNameValidation);
    let mut errors = validate(new, Options { relaxed_service_names, ..Options::default() });
    let annotations = child(new, "metadata").and_then(|meta| child(meta, "annotations"));
    let annotated = annotations.and_then(|annotations| maybe_text(annotations, CLASS_ANNOTATION));
    let class = child(new, "spec").and_then(|spec| maybe_text(spec, "ingressClassName"));
    if let (Some(annotated), Some(class)) = (annotated, class)
        && annotated != class
    {
        let path = Path::root("annotations");
        let detail = "must match `ingressClassName` when both are specified";
        errors.push(Error::invalid(&path.child(CLASS_ANNOTATION), annotated, detail));
    }
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    match subresource {
        "status" => status(new, old, context.spelling(), &mut errors),
        _ => errors.append(validate(new, options(old, &context.settings.gates))),
    }
    errors
}

fn options(old: &Object, gates: &Gates) -> Options {
    let empty = Object::new();
    let spec = child(old, "spec").unwrap_or(&empty);
    let bad_secret = |tls| {
        let name = text(tls, "secretName");
        !name.is_empty() && !names::is_dns1123_subdomain(name).is_empty()
    };
    let bad_wildcard = |rule_of| {
        let mut bad = ErrorList::new();
        if text(rule_of, "host").contains('*') {
            rule(&Path::NIL, rule_of, Options::default(), &mut bad);
        }
        !bad.is_empty()
    };
    Options {
        bad_secret_name: children(spec, "tls").any(bad_secret),
        bad_wildcard_rule: children(spec, "rules").any(bad_wildcard),
        relaxed_service_names: gates.enabled(Gate::RelaxedServiceNameValidation)
            || service_names(spec).any(is_relaxed_name),
    }
}

/// Returns the names of the services of all backends.
fn service_names(spec: &Object) -> impl Iterator<Item = &str> {
    let https = children(spec, "rules").filter_map(|rule| child(rule, "http"));
    let backends = https.flat_map(|http| children(http, "paths")).filter_map(|path| child(path, "backend"));
    let backends = child(spec, "defaultBackend").into_iter().chain(backends);
    backends.filter_map(|backend| child(backend, "service")).map(|service| text(service, "name"))
}

/// True for a name that only the relaxed rule allows.
fn is_relaxed_name(name: &str) -> bool {
    names::is_dns1123_label(name).is_empty() && !names::is_dns1035_label(name).is_empty()
}

fn validate(ingress: &Object, options: Options) -> ErrorList {
    let mut errors = metadata(ingress, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(ingress, "spec").unwrap_or(&empty);
    if list(spec, "rules").is_empty() && !is_set(spec, "defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        // An empty list and an absent one differ in Go.
        let rules = if spec.contains_key("rules") { "[]" } else { "null" };
        errors.push(Error::invalid(&path, BadValue::Plain(rules.to_owned()), detail));
    }
    if let Some(default_backend) = child(spec, "defaultBackend") {
        backend(&path.child("defaultBackend"), default_backend, options, &mut errors);
    }
    let rules_path = path.child("rules");
    for (index, rule_of) in children(spec, "rules").enumerate() {
        let path = rules_path.index(index);
        let host = text(rule_of, "host");
        rule_host(&path.child("host"), host, &mut errors);
        if !(host.contains('*') && options.bad_wildcard_rule) {
            rule(&path, rule_of, options, &mut errors);
        }
    }
    let tls_path = path.child("tls");
    for (index, tls_of) in children(spec, "tls").enumerate() {
        tls(&tls_path.index(index), tls_of, options, &mut errors);
    }
    if let Some(class) = maybe_text(spec, "ingressClassName") {
        dns_subdomain(&path.child("ingressClassName"), class, &mut errors);
    }
    errors
}

/// Checks for a host, or a wildcard for the hosts of a domain.
fn host_pattern(path: &Path<'_>, host: &str, errors: &mut ErrorList) {
    if host.contains('*') {
        invalid_each(path, host, names::is_wildcard_dns1123_subdomain(host), errors)
    } else {
        dns_subdomain(path, host, errors)
    }
}

fn rule_host(path: &Path<'_>, host: &str, errors: &mut ErrorList) {
    if host.is_empty() {
        return;
    }
    if canonical_ip(host).is_some() {
        errors.push(Error::invalid(path, host, "must be a DNS name, not an IP address"));
    }
    host_pattern(path, host, errors);
}

fn tls(path: &Path<'_>, tls: &Object, options: Options, errors: &mut ErrorList) {
    let hosts_path = path.child("hosts");
    for (index, host) in texts(tls, "hosts").enumerate() {
        host_pattern(&hosts_path.index(index), host, errors);
    }
    let secret = text(tls, "secretName");
    if !secret.is_empty() && !options.bad_secret_name {
        dns_subdomain(&path.child("secretName"), secret, errors);
    }
}

/// Validates the actions of a rule. `path` is that of the rule.
fn rule(path: &Path<'_>, rule: &Object, options: Options, errors: &mut ErrorList) {
    let Some(http) = child(rule, "http") else { return };
    let path = path.child("http.paths");
    if list(http, "paths").is_empty() {
        errors.push(Error::required(&path, ""));
    }
    for (index, route) in children(http, "paths").enumerate() {
        url_path(&path.index(index), route, options, errors);
    }
}

fn url_path(path: &Path<'_>, route: &Object, options: Options, errors: &mut ErrorList) {
    let value = text(route, "path");
    let value_path = path.child("path");
    let Some(kind) = maybe_text(route, "pathType") else {
        errors.push(Error::required(&path.child("pathType"), "pathType must be specified"));
        return;
    };
    let exact = matches!(kind, "Exact" | "Prefix");
    if !exact && kind != "ImplementationSpecific" {
        let supported = ["Exact", "ImplementationSpecific", "Prefix"];
        errors.push(Error::not_supported(&path.child("pathType"), BadValue::json_text(kind), &supported));
    } else if !value.starts_with('/') && (exact || !value.is_empty()) {
        errors.push(Error::invalid(&value_path, value, "must be an absolute path"));
    }
    if exact {
        let sequences = ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|part| value.contains(part));
        let suffixes = ["/..", "/."].into_iter().filter(|suffix| value.ends_with(suffix));
        let details = sequences.map(|part| format!("must not contain '{part}'"));
        let details = details.chain(suffixes.map(|suffix| format!("cannot end with '{suffix}'")));
        errors.extend(details.map(|detail| Error::invalid(&value_path, value, detail)));
    }
    let empty = Object::new();
    backend(&path.child("backend"), child(route, "backend").unwrap_or(&empty), options, errors);
}

fn backend(path: &Path<'_>, backend: &Object, options: Options, errors: &mut ErrorList) {
    let service = match (child(backend, "resource"), child(backend, "service")) {
        (Some(_), Some(_)) => {
            errors.push(Error::invalid(path, "", "cannot set both resource and service backends"));
            return;
        }
        (Some(resource), None) => return typed_reference(&path.child("resource"), resource, errors),
        (None, Some(service)) => service,
        (None, None) => {
            errors.push(Error::invalid(path, "", "resource or service backend is required"));
            return;
        }
    };
    let service_path = path.child("service");
    match text(service, "name") {
        "" => errors.push(Error::required(&service_path.child("name"), "")),
        name => {
            let check =
                if options.relaxed_service_names { names::is_dns1123_label } else { names::is_dns1035_label };
            invalid_each(&service_path.child("name"), name, check(name), errors);
        }
    }
    let port = child(service, "port");
    let name = port.map_or("", |port| text(port, "name"));
    let number = port.map_or(0, |port| integer(port, "number"));
    match (name, number) {
        ("", 0) => errors.push(Error::required(path, "port name or number is required")),
        ("", number) => {
            let path = service_path.child("port.number");
            invalid_each(&path, number, names::is_port_number(number), errors);
        }
        (name, 0) => invalid_each(&service_path.child("port.name"), name, names::is_port_name(name), errors),
        _ => errors.push(Error::invalid(path, "", "cannot set both port name & port number")),
    }
}

fn status(new: &Object, old: &Object, spelling: Spelling, errors: &mut ErrorList) {
    let old_ips: BTreeSet<&str> = points(old).map(|point| text(point, "ip")).collect();
    let path = Path::root("status.loadBalancer.ingress");
    for (index, point) in points(new).enumerate() {
        let path = path.index(index);
        let ip = text(point, "ip");
        let host = text(point, "hostname");
        if !ip.is_empty() {
            legacy_ip(&path.child("ip"), ip, &old_ips, spelling, errors);
        }
        if !host.is_empty() {
            host_name(&path.child("hostname"), host, errors);
        }
    }
}

/// Iterates over the ingress points of the load balancer.
fn points(ingress: &Object) -> impl Iterator<Item = &Object> {
    let balancer = child(ingress, "status").and_then(|status| child(status, "loadBalancer"));
    balancer.into_iter().flat_map(|balancer| children(balancer, "ingress"))
}

#[cfg(test)]
#[path = "ingress_tests.rs"]
mod tests;
