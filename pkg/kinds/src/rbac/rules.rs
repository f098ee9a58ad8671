//! Roles and their bindings, for namespaces and for the cluster.

use crate::validation::NameRule;
use crate::validation::go_value::go_value;
use crate::validation::immutable::IMMUTABLE;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::selector::label_selector;
use crate::validation::value::invalid_each;
use api::tree::{child, children, list, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::labels::from_label_selector;
use apimachinery::names;
use schema::builtin::IO_K8S_API_RBAC_V1_ROLEREF as ROLE_REF;
use schema::object::Object;

pub(crate) const ROLES: Rules = Rules { create: role, update: role_update };
pub(crate) const CLUSTER_ROLES: Rules = Rules { create: new_cluster_role, update: cluster_role_update };
pub(crate) const ROLE_BINDINGS: Rules = Rules { create: role_binding, update: role_binding_update };
pub(crate) const CLUSTER_ROLE_BINDINGS: Rules =
    Rules { create: cluster_role_binding, update: cluster_role_binding_update };

const GROUP: &str = "rbac.authorization.k8s.io";

fn role(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::FinishedPathSegment);
    policy_rules(new, true, &mut errors);
    errors
}

fn role_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = role(new);
    errors.append(metadata_update(new, old));
    errors
}

fn new_cluster_role(new: &Object) -> ErrorList {
    cluster_role(new, false)
}

fn cluster_role_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    // If an old selector has any error, invalid label values are allowed.
    let mut before = ErrorList::new();
    for selector in aggregated(old) {
        label_selector(&Path::NIL, Some(selector), false, &mut before);
    }
    let mut errors = cluster_role(new, !before.is_empty());
    errors.append(metadata_update(new, old));
    errors
}

fn cluster_role(new: &Object, bad_selectors: bool) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::FinishedPathSegment);
    policy_rules(new, false, &mut errors);
    let path = Path::root("aggregationRule.clusterRoleSelectors");
    if child(new, "aggregationRule").is_some_and(|rule| list(rule, "clusterRoleSelectors").is_empty()) {
        let detail = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(Error::required(&path, detail));
    }
    for (index, selector) in aggregated(new).enumerate() {
        let path = path.index(index);
        label_selector(&path, Some(selector), bad_selectors, &mut errors);
        if from_label_selector(Some(selector)).is_err() {
            // Upstream shows a nil selector here.
            let value = BadValue::Plain("null".to_owned());
            errors.push(Error::invalid(&path, value, "invalid label selector."));
        }
    }
    errors
}

/// Iterates over the selectors of the roles that a role aggregates.
fn aggregated(role: &Object) -> impl Iterator<Item = &Object> {
    child(role, "aggregationRule").into_iter().flat_map(|rule| children(rule, "clusterRoleSelectors"))
}

fn policy_rules(role: &Object, namespaced: bool, errors: &mut ErrorList) {
    let path = Path::root("rules");
    for (index, rule) in children(role, "rules").enumerate() {
        policy_rule(&path.index(index), rule, namespaced, errors);
    }
}

fn policy_rule(path: &Path<'_>, rule: &Object, namespaced: bool, errors: &mut ErrorList) {
    let names = |member: &str| !list(rule, member).is_empty();
    if !names("verbs") {
        errors.push(Error::required(&path.child("verbs"), "verbs must contain at least one value"));
    }
    if let Some(urls) = rule.get("nonResourceURLs").filter(|_| names("nonResourceURLs")) {
        let path = path.child("nonResourceURLs");
        if namespaced {
            let detail = "namespaced rules cannot apply to non-resource URLs";
            errors.push(Error::invalid(&path, urls, detail));
        }
        if ["apiGroups", "resources", "resourceNames"].into_iter().any(names) {
            let detail = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(Error::invalid(&path, urls, detail));
        }
        return;
    }
    if !names("apiGroups") {
        let detail = "resource rules must supply at least one api group";
        errors.push(Error::required(&path.child("apiGroups"), detail));
    }
    if !names("resources") {
        let detail = "resource rules must supply at least one resource";
        errors.push(Error::required(&path.child("resources"), detail));
    }
}

fn role_binding(new: &Object) -> ErrorList {
    binding(new, true)
}

fn role_binding_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    binding_update(new, old, true)
}

fn cluster_role_binding(new: &Object) -> ErrorList {
    binding(new, false)
}

fn cluster_role_binding_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    binding_update(new, old, false)
}

fn binding(new: &Object, namespaced: bool) -> ErrorList {
    let mut errors = metadata(new, namespaced, NameRule::FinishedPathSegment);
    let empty = Object::new();
    let role = child(new, "roleRef").unwrap_or(&empty);
    let path = Path::root("roleRef");
    supported(&path.child("apiGroup"), text(role, "apiGroup"), &[GROUP], &mut errors);
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    supported(&path.child("kind"), text(role, "kind"), kinds, &mut errors);
    let name = text(role, "name");
    let path = path.child("name");
    match name {
        "" => errors.push(Error::required(&path, "")),
        _ => invalid_each(&path, name, names::is_path_segment_name(name), &mut errors),
    }
    let path = Path::root("subjects");
    for (index, subject_of_role) in children(new, "subjects").enumerate() {
        subject(&path.index(index), subject_of_role, namespaced, &mut errors);
    }
    errors
}

fn binding_update(new: &Object, old: &Object, namespaced: bool) -> ErrorList {
    let mut errors = binding(new, namespaced);
    errors.append(metadata_update(new, old));
    let empty = Object::new();
    let [new, old] = [new, old].map(|object| child(object, "roleRef").unwrap_or(&empty));
    if ["apiGroup", "kind", "name"].into_iter().any(|member| text(new, member) != text(old, member)) {
        errors.push(Error::invalid(&Path::root("roleRef"), go_value(&ROLE_REF, new), IMMUTABLE));
    }
    errors
}

fn subject(path: &Path<'_>, subject: &Object, namespaced: bool, errors: &mut ErrorList) {
    let name = text(subject, "name");
    let name_path = path.child("name");
    if name.is_empty() {
        errors.push(Error::required(&name_path, ""));
    }
    let group = text(subject, "apiGroup");
    let group_path = path.child("apiGroup");
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                invalid_each(&name_path, name, names::name_is_dns_subdomain(name, false), errors);
            }
            supported(&group_path, group, &[""], errors);
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(Error::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => supported(&group_path, group, &[GROUP], errors),
        kind => supported(&path.child("kind"), kind, &["ServiceAccount", "User", "Group"], errors),
    }
}

/// Checks that a text is a supported value.
fn supported(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    if !supported.contains(&value) {
        errors.push(Error::not_supported(path, value, supported));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn object(namespace: &str, members: Value) -> Object {
        let Value::Object(mut object) = members else { unreachable!("tests give objects") };
        let meta = json!({"name": "system:n", "namespace": namespace, "resourceVersion": "1"});
        object.insert("metadata", meta);
        object
    }

    fn check(errors: &ErrorList, expected: &[(&str, &str)]) {
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected);
    }

    const INVALID: &str = "FieldValueInvalid";
    const REQUIRED: &str = "FieldValueRequired";
    const UNSUPPORTED: &str = "FieldValueNotSupported";

    #[test]
    fn rules_are_about_resources_or_urls() {
        let check = |rule: Value, expected: &[(&str, &str)]| {
            check(&new_cluster_role(&object("", json!({"rules": [rule]}))), expected);
        };
        check(json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}), &[]);
        check(json!({"verbs": ["get"], "nonResourceURLs": ["/x"]}), &[]);
        check(
            json!({}),
            &[
                (REQUIRED, "rules[0].verbs"),
                (REQUIRED, "rules[0].apiGroups"),
                (REQUIRED, "rules[0].resources"),
            ],
        );
        check(
            json!({"verbs": ["get"], "nonResourceURLs": ["/x"], "resourceNames": ["a"]}),
            &[(INVALID, "rules[0].nonResourceURLs")],
        );
    }

    #[test]
    fn namespaced_roles_have_no_urls() {
        let rules = json!({"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]});
        check(&role(&object("ns", rules)), &[(INVALID, "rules[0].nonResourceURLs")]);
    }

    #[test]
    fn aggregation_needs_valid_selectors() {
        let of = |rule: Value| object("", json!({"aggregationRule": rule}));
        let path = "aggregationRule.clusterRoleSelectors";
        check(&new_cluster_role(&of(json!({}))), &[(REQUIRED, path)]);
        check(&new_cluster_role(&of(json!({"clusterRoleSelectors": [{}]}))), &[]);
        let bad = of(json!({"clusterRoleSelectors": [
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}
        ]}));
        let first = "aggregationRule.clusterRoleSelectors[0]";
        let value = "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values[0]";
        check(&new_cluster_role(&bad), &[(INVALID, value), (INVALID, first)]);
        check(&cluster_role_update("", &bad, &bad), &[(INVALID, first)]);
    }

    #[test]
    fn bindings_name_a_role_and_subjects() {
        let of = |kind: &str, subject: Value| {
            let role = json!({"apiGroup": GROUP, "kind": kind, "name": "r"});
            object("ns", json!({"roleRef": role, "subjects": [subject]}))
        };
        let account = json!({"kind": "ServiceAccount", "name": "a"});
        check(&role_binding(&of("Role", account.clone())), &[]);
        let mut cluster = of("Role", account);
        cluster.insert("metadata", json!({"name": "n"}));
        check(
            &cluster_role_binding(&cluster),
            &[(UNSUPPORTED, "roleRef.kind"), (REQUIRED, "subjects[0].namespace")],
        );
        check(
            &role_binding(&of("ClusterRole", json!({"kind": "User", "name": "u", "apiGroup": GROUP}))),
            &[],
        );
        check(
            &role_binding(&of("Role", json!({"kind": "Group"}))),
            &[(REQUIRED, "subjects[0].name"), (UNSUPPORTED, "subjects[0].apiGroup")],
        );
        check(
            &role_binding(&of("Role", json!({"kind": "Robot", "name": "x"}))),
            &[(UNSUPPORTED, "subjects[0].kind")],
        );
        check(
            &role_binding(&object("ns", json!({}))),
            &[(UNSUPPORTED, "roleRef.apiGroup"), (UNSUPPORTED, "roleRef.kind"), (REQUIRED, "roleRef.name")],
        );
    }

    #[test]
    fn a_binding_keeps_its_role() {
        let of =
            |name: &str| object("ns", json!({"roleRef": {"apiGroup": GROUP, "kind": "Role", "name": name}}));
        let texts: Vec<String> =
            role_binding_update("", &of("b"), &of("a")).iter().map(Error::to_string).collect();
        let value = "{\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"b\"}";
        assert_eq!(texts, [format!("roleRef: Invalid value: {value}: field is immutable")]);
    }
}
