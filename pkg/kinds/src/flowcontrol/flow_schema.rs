//! Flow schemas: assignment of requests to priority levels.

mod columns;
mod defaults;

use super::{CATCH_ALL, EXEMPT, conditions, name};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::go_value::go_value;
use crate::validation::rules::{Rules, metadata};
use crate::validation::value::{dns_label, dns_subdomain};
use api::semantic::equal;
use api::tree::{child, children, flag, integer, is_set, list, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::{Value, json};
use schema::builtin::{
    IO_K8S_API_FLOWCONTROL_V1_FLOWDISTINGUISHERMETHOD as DISTINGUISHER_METHOD,
    IO_K8S_API_FLOWCONTROL_V1_FLOWSCHEMASPEC as SPEC,
};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1", defaults::flow_schema),
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1beta3", defaults::flow_schema),
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1beta2", defaults::flow_schema),
        Version::with_defaults("flowcontrol.apiserver.k8s.io/v1beta1", defaults::flow_schema),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties { resets: super::RESETS, ..RareProperties::NONE },
};

pub(crate) const RULES: Rules = Rules { create, update };

const PRECEDENCE_MAX: i64 = 10_000;
const VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];
/// Subject members with their kinds.
const SUBJECTS: &[(&str, &str)] =
    &[("serviceAccount", "ServiceAccount"), ("user", "User"), ("group", "Group")];

fn update(subresource: &str, new: &Object, _: &Object) -> ErrorList {
    let mut errors = ErrorList::new();
    match subresource {
        "status" => conditions(new, &mut errors),
        _ => errors = create(new),
    }
    errors
}

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(new, "spec").unwrap_or(&empty);
    precedence(
        &path.child("matchingPrecedence"),
        integer(spec, "matchingPrecedence"),
        name(new),
        &mut errors,
    );
    if let Some(method) = child(spec, "distinguisherMethod")
        && !matches!(text(method, "type"), "ByNamespace" | "ByUser")
    {
        let path = path.child("distinguisherMethod.type");
        let value = go_value(&DISTINGUISHER_METHOD, method);
        errors.push(Error::not_supported(&path, value, &["ByNamespace", "ByUser"]));
    }
    let level_path = path.child("priorityLevelConfiguration.name");
    match child(spec, "priorityLevelConfiguration").map_or("", |level| text(level, "name")) {
        "" => errors.push(Error::required(&level_path, "must reference a priority level")),
        level => dns_subdomain(&level_path, level, &mut errors),
    }
    let rules = path.child("rules");
    for (index, rule_of) in children(spec, "rules").enumerate() {
        rule(&rules.index(index), rule_of, &mut errors);
    }
    if fixed_spec(name(new))
        .is_some_and(|fixed| !fixed.as_object().is_some_and(|fixed| equal(&SPEC, spec, fixed)))
    {
        let detail = format!("spec of '{}' must equal the fixed value", name(new));
        errors.push(Error::invalid(&path, go_value(&SPEC, spec), detail));
    }
    conditions(new, &mut errors);
    errors
}

/// Returns the required spec of the server's own flow schemas.
fn fixed_spec(name: &str) -> Option<Value> {
    let rule = |groups: &[&str]| {
        let subjects: Vec<Value> =
            groups.iter().map(|group| json!({"kind": "Group", "group": {"name": group}})).collect();
        json!([{
            "subjects": subjects,
            "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": true}],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }])
    };
    match name {
        EXEMPT => Some(json!({
            "priorityLevelConfiguration": {"name": EXEMPT},
            "matchingPrecedence": 1,
            "rules": rule(&["system:masters"]),
        })),
        CATCH_ALL => Some(json!({
            "priorityLevelConfiguration": {"name": CATCH_ALL},
            "matchingPrecedence": PRECEDENCE_MAX,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": rule(&["system:unauthenticated", "system:authenticated"]),
        })),
        _ => None,
    }
}

fn precedence(path: &Path<'_>, precedence: i64, name: &str, errors: &mut ErrorList) {
    let detail = match precedence {
        ..=0 => "must be a positive value".to_owned(),
        _ if precedence == 1 && name != EXEMPT => {
            "only the schema named 'exempt' may have matchingPrecedence 1".to_owned()
        }
        1..=PRECEDENCE_MAX => return,
        _ => format!("must not be greater than {PRECEDENCE_MAX}"),
    };
    errors.push(Error::invalid(path, precedence, detail));
}

fn rule(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    let subjects = path.child("subjects");
    if list(rule, "subjects").is_empty() {
        errors.push(Error::required(&subjects, "subjects must contain at least one value"));
    }
    for (index, subject_of) in children(rule, "subjects").enumerate() {
        subject(&subjects.index(index), subject_of, errors);
    }
    if list(rule, "resourceRules").is_empty() && list(rule, "nonResourceRules").is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(Error::required(path, detail));
    }
    let rules = path.child("resourceRules");
    for (index, rule) in children(rule, "resourceRules").enumerate() {
        resource_rule(&rules.index(index), rule, errors);
    }
    let rules = path.child("nonResourceRules");
    for (index, rule) in children(rule, "nonResourceRules").enumerate() {
        non_resource_rule(&rules.index(index), rule, errors);
    }
}

fn subject(path: &Path<'_>, subject: &Object, errors: &mut ErrorList) {
    let kind = text(subject, "kind");
    let Some((member, _)) = SUBJECTS.iter().find(|(_, listed)| *listed == kind) else {
        let supported = ["Group", "ServiceAccount", "User"];
        errors.push(Error::not_supported(&path.child("kind"), BadValue::json_text(kind), &supported));
        return;
    };
    match child(subject, member) {
        None => {
            let detail = format!("{member} is required when subject kind is '{kind}'");
            errors.push(Error::required(&path.child(member), detail));
        }
        Some(object) => named_subject(&path.child(member), object, kind, errors),
    }
    for (other, its_kind) in SUBJECTS.iter().filter(|(other, _)| other != member && is_set(subject, other)) {
        let detail = format!("{other} is forbidden when subject kind is not '{its_kind}'");
        errors.push(Error::forbidden(&path.child(other), detail));
    }
}

fn named_subject(path: &Path<'_>, subject: &Object, kind: &str, errors: &mut ErrorList) {
    let account = kind == "ServiceAccount";
    match text(subject, "name") {
        "" => errors.push(Error::required(&path.child("name"), "")),
        name if account && name != "*" => dns_subdomain(&path.child("name"), name, errors),
        _ => {}
    }
    match text(subject, "namespace") {
        _ if !account => {}
        "" => {
            let detail = "must specify namespace for service account";
            errors.push(Error::required(&path.child("namespace"), detail));
        }
        namespace => dns_label(&path.child("namespace"), namespace, errors),
    }
}

fn has_wildcard(rule: &Object, member: &str) -> bool {
    texts(rule, member).any(|value| value == "*")
}

/// Reports an empty list, or one with `*` and other items.
fn wildcard_alone(
    path: &Path<'_>,
    rule: &Object,
    member: &str,
    missing: &str,
    others: &str,
    errors: &mut ErrorList,
) {
    let path = path.child(member);
    match list(rule, member).len() {
        0 => errors.push(Error::required(&path, missing)),
        1 => {}
        _ if has_wildcard(rule, member) => {
            let value = rule.get(member).unwrap_or(&Value::Null);
            let detail = format!("if '*' is present, must not specify other {others}");
            errors.push(Error::invalid(&path, value, detail));
        }
        _ => {}
    }
}

fn verbs(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    let missing = "verbs must contain at least one value";
    wildcard_alone(path, rule, "verbs", missing, "verbs", errors);
    if !has_wildcard(rule, "verbs") && !texts(rule, "verbs").all(|verb| VERBS.contains(&verb)) {
        let value = rule.get("verbs").unwrap_or(&Value::Null);
        errors.push(Error::not_supported(&path.child("verbs"), value, VERBS));
    }
}

fn resource_rule(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    verbs(path, rule, errors);
    let missing = "resource rules must supply at least one api group";
    wildcard_alone(path, rule, "apiGroups", missing, "api groups", errors);
    let missing = "resource rules must supply at least one resource";
    wildcard_alone(path, rule, "resources", missing, "resources", errors);
    if list(rule, "namespaces").is_empty() && flag(rule, "clusterScope") {
        return;
    }
    let missing = "resource rules that are not cluster scoped must supply at least one namespace";
    wildcard_alone(path, rule, "namespaces", missing, "namespaces", errors);
    if has_wildcard(rule, "namespaces") {
        return;
    }
    let path = path.child("namespaces");
    for (index, namespace) in texts(rule, "namespaces").enumerate() {
        for message in names::is_dns1123_label(namespace) {
            let detail = format!("each member of this list must be '*' or a DNS-1123 label; {message}");
            errors.push(Error::invalid(&path.index(index), namespace, detail));
        }
    }
}

fn non_resource_rule(path: &Path<'_>, rule: &Object, errors: &mut ErrorList) {
    verbs(path, rule, errors);
    let missing = "nonResourceURLs must contain at least one value";
    wildcard_alone(path, rule, "nonResourceURLs", missing, "non-resource URLs", errors);
    if has_wildcard(rule, "nonResourceURLs") {
        return;
    }
    let path = path.child("nonResourceURLs");
    for (index, url) in texts(rule, "nonResourceURLs").enumerate() {
        errors.extend(bad_url_path(url).map(|detail| Error::invalid(&path.index(index), url, detail)));
    }
}

/// Returns the error of a URL path, in which `*` may only be the end.
fn bad_url_path(path: &str) -> Option<&'static str> {
    let stars = path.matches('*').count();
    match path {
        "" => Some("must not be empty"),
        "/" => None,
        _ if !path.starts_with('/') => Some("must start with slash"),
        _ if path.contains(' ') => Some("must not contain white-space"),
        _ if path.contains("//") => Some("must not contain double slash"),
        _ if stars > 1 || (stars == 1 && !path.ends_with("/*")) => {
            Some("wildcard can only do suffix matching")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_named(name: &str, spec: Value, expected: &[&str]) {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        let errors = create(object.as_object().unwrap_or(&Object::new()));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{spec}");
    }

    fn check(changes: Value, expected: &[&str]) {
        let mut spec = json!({"matchingPrecedence": 2, "priorityLevelConfiguration": {"name": "a"}});
        if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
            spec.extend(changes);
        }
        check_named("s", spec, expected);
    }

    #[test]
    fn the_servers_own_schemas_are_fixed() {
        for name in [EXEMPT, CATCH_ALL] {
            let fixed = fixed_spec(name).unwrap_or_default();
            check_named(name, fixed.clone(), &[]);
            let mut changed = fixed;
            changed["matchingPrecedence"] = 2.into();
            check_named(name, changed, &["spec"]);
        }
    }

    #[test]
    fn a_schema_has_a_precedence_and_a_level() {
        check(json!({}), &[]);
        for precedence in [0, 1, 10_001] {
            check(json!({"matchingPrecedence": precedence}), &["spec.matchingPrecedence"]);
        }
        check(json!({"priorityLevelConfiguration": {}}), &["spec.priorityLevelConfiguration.name"]);
        check(json!({"distinguisherMethod": {"type": "x"}}), &["spec.distinguisherMethod.type"]);
    }

    #[test]
    fn rules_have_subjects_verbs_and_resources() {
        let with = |rule: Value| json!({"rules": [rule]});
        let step = |step: &str| format!("spec.rules[0]{step}");
        check(with(json!({})), &[&step(".subjects"), &step("")]);
        let subjects = json!([{"kind": "User", "user": {"name": "a"}}]);
        let resource = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true});
        check(with(json!({"subjects": subjects, "resourceRules": [resource]})), &[]);
        let resource =
            json!({"verbs": ["*", "get"], "apiGroups": [], "resources": ["*", "a"], "namespaces": ["A"]});
        let member = |member: &str| step(&format!(".resourceRules[0].{member}"));
        check(
            with(json!({"subjects": subjects, "resourceRules": [resource]})),
            &[&member("verbs"), &member("apiGroups"), &member("resources"), &member("namespaces[0]")],
        );
        let urls = json!({"verbs": ["x"], "nonResourceURLs": ["/a/*", "/*/a", "a"]});
        let member = |member: &str| step(&format!(".nonResourceRules[0].{member}"));
        check(
            with(json!({"subjects": subjects, "nonResourceRules": [urls]})),
            &[&member("verbs"), &member("nonResourceURLs[1]"), &member("nonResourceURLs[2]")],
        );
    }

    #[test]
    fn subjects_match_their_kind() {
        let urls = json!([{"verbs": ["get"], "nonResourceURLs": ["/"]}]);
        let with = |subject: Value| json!({"rules": [{"subjects": [subject], "nonResourceRules": urls}]});
        let step = |step: &str| format!("spec.rules[0].subjects[0].{step}");
        check(
            with(json!({"kind": "ServiceAccount", "serviceAccount": {"name": "*", "namespace": "a"}})),
            &[],
        );
        check(
            with(json!({"kind": "ServiceAccount", "serviceAccount": {"name": "A"}, "user": {"name": "a"}})),
            &[&step("serviceAccount.name"), &step("serviceAccount.namespace"), &step("user")],
        );
        check(with(json!({"kind": "Group"})), &[&step("group")]);
        check(with(json!({"kind": "x"})), &[&step("kind")]);
    }
}
