//! Resource quotas: limits for a namespace, for all or for some of its pods.

mod columns;
mod defaults;
mod warnings;

use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::go_value::go_value;
use crate::validation::resource_name::{is_standard_for_quota, quota_resource};
use crate::validation::resources::{resource_list, resource_quantity};
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::tree::{child, children, list, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::builtin::IO_K8S_API_CORE_V1_SCOPESELECTOR as SCOPE_SELECTOR;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::resource_quota)],
    validation: Validation::Objects(RULES),
    warnings: WarningRules {
        create: warnings::resource_quota,
        update: OnUpdate::Custom(|_, _, _| {}),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

const SCOPES: &[&str] = &[
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

/// Scopes without values: a pod is either in them or not.
const SCOPES_WITHOUT_VALUES: &[&str] =
    &["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"];

/// Mutually exclusive scopes.
const OPPOSITES: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["NotTerminating", "Terminating"]];

const NOT_FOR_RESOURCE: &str = "unsupported scope applied to resource";
const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
    ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
    ResourceQuotaScopeCrossNamespacePodAffinity";

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    spec(new, &mut errors);
    status(new, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        if child(new, "metadata").is_none_or(|meta| text(meta, "resourceVersion").is_empty()) {
            errors.push(Error::required(&Path::root("resourceVersion"), ""));
        }
        status(new, &mut errors);
        return errors;
    }
    spec(new, &mut errors);
    let empty = Object::new();
    let scopes =
        |quota| -> BTreeSet<&str> { texts(child(quota, "spec").unwrap_or(&empty), "scopes").collect() };
    if scopes(new) != scopes(old) {
        let value = scopes_value(child(new, "spec").unwrap_or(&empty));
        errors.push(Error::invalid(&Path::root("spec.scopes"), value, "field is immutable"));
    }
    errors
}

fn spec(quota: &Object, errors: &mut ErrorList) {
    let Some(spec) = child(quota, "spec") else { return };
    let path = Path::root("spec");
    amounts(spec, "hard", &path, errors);
    scopes(spec, &path.child("scopes"), errors);
    if let Some(selector) = child(spec, "scopeSelector") {
        let path = path.child("scopeSelector");
        scope_selector(spec, selector, &path.child("matchExpressions"), errors);
    }
}

fn status(quota: &Object, errors: &mut ErrorList) {
    let Some(status) = child(quota, "status") else { return };
    let path = Path::root("status");
    amounts(status, "hard", &path, errors);
    amounts(status, "used", &path, errors);
}

fn amounts(object: &Object, member: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let path = path.child(member);
    for (name, amount) in resource_list(object, member) {
        quota_resource(&path.key(name), name, errors);
        resource_quantity(&path.key(name), name, &amount, errors);
    }
}

fn scopes(spec: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let invalid = |detail: &str| Error::invalid(path, scopes_value(spec), detail);
    let mut foreign = Foreign::default();
    for scope in texts(spec, "scopes") {
        if !SCOPES.contains(&scope) {
            errors.push_with(|| invalid("unsupported scope"));
        }
        errors.push_times(foreign.count(spec, scope), || invalid(NOT_FOR_RESOURCE));
    }
    let scopes: BTreeSet<&str> = texts(spec, "scopes").collect();
    errors.extend(conflicts(&scopes).map(|()| invalid("conflicting scopes")));
}

/// Validates scopes with value selectors. `path` is that of the expressions, without an index.
fn scope_selector(spec: &Object, selector: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let mut scopes = BTreeSet::new();
    let mut foreign = Foreign::default();
    for requirement in children(selector, "matchExpressions") {
        let scope = text(requirement, "scopeName");
        scopes.insert(scope);
        if !SCOPES.contains(&scope) {
            let value = BadValue::json_text(scope);
            errors.push(Error::invalid(&path.child("scopeName"), value, "unsupported scope"));
        }
        let invalid = || Error::invalid(path, go_value(&SCOPE_SELECTOR, selector), NOT_FOR_RESOURCE);
        errors.push_times(foreign.count(spec, scope), invalid);
        operator(requirement, scope, path, errors);
    }
    let invalid = |()| Error::invalid(path, scopes_value(spec), "conflicting scopes");
    errors.extend(conflicts(&scopes).map(invalid));
}

fn operator(requirement: &Object, scope: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let operator = text(requirement, "operator");
    let values = list(requirement, "values");
    let operator_path = path.child("operator");
    let invalid = |detail: &str| Error::invalid(&operator_path, BadValue::json_text(operator), detail);
    if SCOPES_WITHOUT_VALUES.contains(&scope) && operator != "Exists" {
        errors.push(invalid(ONLY_EXISTS));
    }
    let path = path.child("values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push(Error::required(&path, detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.push(Error::invalid(&path, &Value::from(values), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => errors.push(invalid("not a valid selector operator")),
    }
}

/// Number of the quota's resources that a scope does not apply to, cached by scope because requested scopes
/// can repeat.
#[derive(Default)]
struct Foreign<'o>(BTreeMap<&'o str, usize>);

impl<'o> Foreign<'o> {
    fn count(&mut self, spec: &Object, scope: &'o str) -> usize {
        if !SCOPES.contains(&scope) {
            return 0;
        }
        *self.0.entry(scope).or_insert_with(|| {
            let names = child(spec, "hard").into_iter().flat_map(Object::keys).map(jsontree::Key::as_str);
            names.filter(|name| is_standard_for_quota(name) && !applies(scope, name)).count()
        })
    }
}

/// True if a known scope applies to a resource: pods, or volume claims.
fn applies(scope: &str, resource: &str) -> bool {
    let compute = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"]
        .contains(&resource);
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => resource == "pods" || compute,
    }
}

fn conflicts<'s>(scopes: &'s BTreeSet<&str>) -> impl Iterator<Item = ()> + use<'s> {
    let has_pair = |pair: &[&str; 2]| pair.iter().all(|scope| scopes.contains(scope));
    OPPOSITES.iter().filter(move |pair| has_pair(pair)).map(|_| ())
}

fn scopes_value(spec: &Object) -> BadValue {
    BadValue::from(spec.get("scopes").unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::ErrorType::{self, *};
    use jsontree::json;

    fn quota(spec: Value) -> Object {
        let meta = json!({"name": "n", "namespace": "ns", "resourceVersion": "1"});
        Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), spec)])
    }

    fn check(spec: Value, expected: &[(ErrorType, &str)]) {
        let errors = create(&quota(spec.clone()));
        let actual: Vec<(ErrorType, &str)> =
            errors.iter().map(|error| (error.kind(), error.field())).collect();
        assert_eq!(actual, expected, "{spec}");
    }

    #[test]
    fn quotas_bound_known_resources() {
        check(json!({"hard": {"pods": "1", "count/jobs.batch": "2", "requests.example.com/gpu": "3"}}), &[]);
        check(json!({"hard": {"gpu": "1"}}), &[(Invalid, "spec.hard[gpu]"), (Invalid, "spec.hard[gpu]")]);
        check(
            json!({"hard": {"pods": "-1500m"}}),
            &[(Invalid, "spec.hard[pods]"), (Invalid, "spec.hard[pods]")],
        );
    }

    #[test]
    fn scopes_fit_the_resources_and_each_other() {
        check(json!({"scopes": ["BestEffort"], "hard": {"pods": "1"}}), &[]);
        check(json!({"scopes": ["PriorityClass"], "hard": {"cpu": "1", "count/x": "1"}}), &[]);
        let path = (Invalid, "spec.scopes");
        check(json!({"scopes": ["BestEffort"], "hard": {"cpu": "1"}}), &[path]);
        check(json!({"scopes": ["Bogus"], "hard": {"secrets": "1"}}), &[path]);
        check(
            json!({"scopes": ["VolumeAttributesClass"], "hard": {"pods": "1", "requests.storage": "1"}}),
            &[path],
        );
        check(json!({"scopes": ["Terminating", "NotTerminating"]}), &[path]);
    }

    #[test]
    fn selected_scopes_have_operators() {
        let selector = |scope: &str, operator: &str, values: Value| {
            let requirement = json!({"scopeName": scope, "operator": operator, "values": values});
            json!({"scopeSelector": {"matchExpressions": [requirement]}, "hard": {"pods": "1"}})
        };
        let operator = "spec.scopeSelector.matchExpressions.operator";
        let values = "spec.scopeSelector.matchExpressions.values";
        check(selector("PriorityClass", "In", json!(["high"])), &[]);
        check(selector("PriorityClass", "In", json!([])), &[(Required, values)]);
        check(selector("PriorityClass", "Exists", json!(["x"])), &[(Invalid, values)]);
        check(selector("PriorityClass", "x", json!([])), &[(Invalid, operator)]);
        check(selector("Terminating", "In", json!(["x"])), &[(Invalid, operator)]);
        let name = "spec.scopeSelector.matchExpressions.scopeName";
        check(selector("x", "Exists", json!([])), &[(Invalid, name)]);
        let mut storage = selector("BestEffort", "Exists", json!([]));
        storage["hard"] = json!({"cpu": "1"});
        check(storage, &[(Invalid, "spec.scopeSelector.matchExpressions")]);
    }

    #[test]
    fn scopes_stay() {
        let quota = |scopes: Value| quota(json!({"scopes": scopes}));
        let a = json!(["Terminating", "BestEffort"]);
        let b = json!(["BestEffort", "Terminating"]);
        assert_eq!(update("", &quota(a.clone()), &quota(b)), ErrorList::new());
        let errors = update("", &quota(json!(["BestEffort"])), &quota(a));
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert_eq!(texts, ["spec.scopes: Invalid value: [\"BestEffort\"]: field is immutable"]);
    }

    #[test]
    fn status_is_validated_separately() {
        let mut quota = quota(json!({"hard": {"gpu": "1"}}));
        quota.insert("status", json!({"used": {"pods": "500m"}}));
        let errors = update("status", &quota, &quota);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["status.used[pods]"]);
    }
}
