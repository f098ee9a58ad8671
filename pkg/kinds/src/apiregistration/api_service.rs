//! API services: the server of a group version.

mod columns;
mod strategy;

use crate::admissionregistration::defaults::service_reference;
use crate::defaults::fill::if_present;
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::validation::rules::Rules;
use crate::validation::value::{dns_subdomain, invalid_each, supported_value};
use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use api::tree::{child, children, flag, integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::ApiService,
    qualified_finalizers: false,
    defaults: &[
        Version::with_defaults("apiregistration.k8s.io/v1", |service| {
            if_present(service, "spec", service_reference)
        }),
        Version::with_defaults("apiregistration.k8s.io/v1beta1", |service| {
            if_present(service, "spec", service_reference)
        }),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &strategy::ApiServices,
    rare_properties: RareProperties { resets: RESETS, ..RareProperties::NONE },
};

/// Validation compares the other metadata.
const RESETS: &[(&str, &[&str])] = &[(
    "status",
    &[
        ".spec",
        ".metadata.labels",
        ".metadata.annotations",
        ".metadata.finalizers",
        ".metadata.ownerReferences",
    ],
)];

pub(crate) const RULES: Rules = Rules { create, update };

const GROUP_PRIORITY_MAX: i64 = 20_000;
const VERSION_PRIORITY_MAX: i64 = 1000;

fn create(new: &Object) -> ErrorList {
    let mut errors =
        validate_object_meta(new, false, NameRule::ApiService, &Path::root("metadata")).distinct();
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    let group = text(spec, "group");
    let version = text(spec, "version");
    match group {
        "" if version != "v1" => {
            let detail = "only v1 may have an empty group and it better be legacy kube";
            errors.push(Error::required(&path.child("group"), detail));
        }
        "" => {}
        group => dns_subdomain(&path.child("group"), group, &mut errors),
    }
    invalid_each(&path.child("version"), version, names::is_dns1035_label(version), &mut errors);
    for (member, max) in
        [("groupPriorityMinimum", GROUP_PRIORITY_MAX), ("versionPriority", VERSION_PRIORITY_MAX)]
    {
        let priority = integer(spec, member);
        if !(1..=max).contains(&priority) {
            let detail = format!("must be positive and less than {max}");
            errors.push(Error::invalid(&path.child(member), priority, detail));
        }
    }
    backend(&path, spec, &mut errors);
    errors
}

/// Validates the location of the server: this process, or a service.
fn backend(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let bundle = STANDARD.decode(text(spec, "caBundle")).map_or(0, |bytes| bytes.len());
    let insecure = flag(spec, "insecureSkipTLSVerify");
    let insecure_path = path.child("insecureSkipTLSVerify");
    let Some(service) = child(spec, "service") else {
        if bundle > 0 {
            let detail = "local APIServices may not have a caBundle";
            errors.push(Error::invalid(&path.child("caBundle"), format!("{bundle} bytes"), detail));
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(Error::invalid(&insecure_path, true, detail));
        }
        return;
    };
    let service_path = path.child("service");
    let missing = ["namespace", "name"].into_iter().filter(|member| text(service, member).is_empty());
    errors.extend(missing.map(|member| Error::required(&service_path.child(member), "")));
    let port = integer(service, "port");
    let messages = names::is_port_number(port);
    if !messages.is_empty() {
        let detail = format!("port is not valid: {}", messages.join(", "));
        errors.push(Error::invalid(&service_path.child("port"), port, detail));
    }
    if insecure && bundle > 0 {
        errors.push(Error::invalid(&insecure_path, true, "may not be true if caBundle is present"));
    }
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = validate_object_meta_update(new, old, &Path::root("metadata")).distinct();
    if subresource != "status" {
        errors.append(create(new));
        return errors;
    }
    let path = Path::root("status.conditions");
    let conditions = child(new, "status").into_iter().flat_map(|status| children(status, "conditions"));
    for (index, condition) in conditions.enumerate() {
        let path = path.index(index);
        supported_value(
            &path.child("status"),
            text(condition, "status"),
            &["True", "False", "Unknown"],
            &mut errors,
        );
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(name: &str, changes: Value, expected: &[&str]) {
        let mut spec =
            json!({"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1000});
        if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes.clone()) {
            spec.extend(changes);
        }
        let object = json!({"metadata": {"name": name}, "spec": spec});
        let errors = create(object.as_object().unwrap_or(&Object::new()));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{changes}");
    }

    #[test]
    fn name_is_version_and_group() {
        check("v1.a.b", json!({}), &[]);
        check("v1", json!({}), &["metadata.name"]);
        check(
            "v1.a.b",
            json!({"groupPriorityMinimum": 20_001, "versionPriority": 0}),
            &["spec.groupPriorityMinimum", "spec.versionPriority"],
        );
        check("v2.", json!({"group": "", "version": "v2"}), &["spec.group"]);
    }

    #[test]
    fn a_local_service_needs_no_trust() {
        check(
            "v1.a.b",
            json!({"caBundle": "AAAA", "insecureSkipTLSVerify": true}),
            &["spec.caBundle", "spec.insecureSkipTLSVerify"],
        );
        let service = json!({"name": "a", "namespace": "b", "port": 443});
        check("v1.a.b", json!({"service": service, "caBundle": "AAAA"}), &[]);
        check(
            "v1.a.b",
            json!({"service": service, "caBundle": "AAAA", "insecureSkipTLSVerify": true}),
            &["spec.insecureSkipTLSVerify"],
        );
        check(
            "v1.a.b",
            json!({"service": {}}),
            &["spec.service.namespace", "spec.service.name", "spec.service.port"],
        );
    }
}
