//! Ingress classes: the controllers of ingresses.

mod columns;
mod defaults;

use super::typed_reference;
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::{dns_label, dns_subdomain};
use api::tree::{child, is_set, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::IO_K8S_API_NETWORKING_V1_INGRESSCLASSSPEC as SPEC;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("networking.k8s.io/v1", defaults::ingress_class)],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

/// Length limit of a controller's name in bytes.
const CONTROLLER_BYTES_MAX: usize = 250;

/// Characters of a URL path (RFC 3986), as in upstream's pattern.
const URL_PATH_REGEX: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    let controller = text(spec, "controller");
    if controller.len() > CONTROLLER_BYTES_MAX {
        errors.push(Error::too_long(&path.child("controller"), Some(CONTROLLER_BYTES_MAX)));
    }
    domain_prefixed_path(&path.child("controller"), controller, &mut errors);
    if let Some(object) = child(spec, "parameters") {
        parameters(&path.child("parameters"), object, &mut errors);
    }
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let empty = Object::new();
    let new_spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    immutable(&Path::root("spec.controller"), &SPEC, "controller", new_spec, old_spec, &mut errors);
    errors.append(create(new));
    errors
}

/// Checks for a domain, a slash and a path (`IsDomainPrefixedPath`).
fn domain_prefixed_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if value.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let parts = value.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty());
    let Some((host, rest)) = parts else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(Error::invalid(path, value, detail));
        return;
    };
    dns_subdomain(path, host, errors);
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !rest.bytes().all(allowed) {
        errors.push(Error::invalid(path, rest, names::regex_error("Invalid path", URL_PATH_REGEX, &[])));
    }
}

fn parameters(path: &Path<'_>, parameters: &Object, errors: &mut ErrorList) {
    typed_reference(path, parameters, errors);
    let scope_path = path.child("scope");
    let path = path.child("namespace");
    match (maybe_text(parameters, "scope"), maybe_text(parameters, "namespace")) {
        (None, _) => errors.push(Error::required(&scope_path, "")),
        (Some("Namespace"), Some(namespace)) => dns_label(&path, namespace, errors),
        (Some("Namespace"), None) => {
            errors.push(Error::required(&path, "`parameters.scope` is set to 'Namespace'"));
        }
        (Some("Cluster"), _) if is_set(parameters, "namespace") => {
            errors.push(Error::forbidden(&path, "`parameters.scope` is set to 'Cluster'"));
        }
        (Some("Cluster"), _) => {}
        (Some(scope), _) => errors.push(Error::not_supported(&scope_path, scope, &["Cluster", "Namespace"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn class(spec: &Value) -> Object {
        let object = json!({"metadata": {"name": "c", "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(spec: Value, expected: &[(&str, &str)]) {
        let errors = create(&class(&spec));
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected, "{spec}");
    }

    #[test]
    fn a_controller_has_a_domain() {
        let controller = ("FieldValueInvalid", "spec.controller");
        check(json!({"controller": "a.b/c/d%20"}), &[]);
        check(json!({}), &[("FieldValueRequired", "spec.controller")]);
        check(json!({"controller": "a"}), &[controller]);
        check(json!({"controller": "A/b c"}), &[controller, controller]);
        let long = format!("a/{}", "b".repeat(249));
        check(json!({"controller": long}), &[("FieldValueTooLong", "spec.controller")]);
        let errors = update("", &class(&json!({"controller": "a/b"})), &class(&json!({"controller": "a/c"})));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["spec.controller"]);
    }

    #[test]
    fn parameters_have_a_scope() {
        let with = |rest: Value| {
            let mut parameters = json!({"kind": "a", "name": "b"});
            if let (Some(parameters), Some(rest)) = (parameters.as_object_mut(), rest.as_object()) {
                parameters.extend(rest.clone());
            }
            json!({"controller": "a/b", "parameters": parameters})
        };
        check(with(json!({"scope": "Cluster"})), &[]);
        check(with(json!({"scope": "Namespace", "namespace": "a"})), &[]);
        check(with(json!({})), &[("FieldValueRequired", "spec.parameters.scope")]);
        check(with(json!({"scope": "x"})), &[("FieldValueNotSupported", "spec.parameters.scope")]);
        check(with(json!({"scope": "Namespace"})), &[("FieldValueRequired", "spec.parameters.namespace")]);
        let cluster_with_namespace = with(json!({"scope": "Cluster", "namespace": "a"}));
        check(cluster_with_namespace, &[("FieldValueForbidden", "spec.parameters.namespace")]);
    }
}
