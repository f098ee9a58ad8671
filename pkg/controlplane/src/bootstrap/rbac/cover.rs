//! Which permissions some rules leave uncovered (component-helpers' `auth/rbac/validation`).

use api::tree;
use schema::object::Object;
use serde_json::{Value, json};

/// A permission that cannot be taken apart any further.
#[derive(Debug, Clone, Copy)]
enum Atom<'r> {
    Resource { verb: &'r str, group: &'r str, resource: &'r str, name: Option<&'r str> },
    Path { verb: &'r str, path: &'r str },
}

impl Atom<'_> {
    fn rule(self) -> Value {
        match self {
            Atom::Resource { verb, group, resource, name: None } => {
                json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})
            }
            Atom::Resource { verb, group, resource, name: Some(name) } => {
                json!({"apiGroups": [group], "resourceNames": [name], "resources": [resource], "verbs": [verb]})
            }
            Atom::Path { verb, path } => json!({"nonResourceURLs": [path], "verbs": [verb]}),
        }
    }
}

/// What `wanted` permits and `present` does not, as rules of one permission each.
pub(super) fn missing(present: &[Value], wanted: &[Value]) -> Vec<Value> {
    let present: Vec<&Object> = present.iter().filter_map(Value::as_object).collect();
    let covered = |atom: &Atom<'_>| present.iter().any(|rule| covers(rule, *atom));
    let wanted = wanted.iter().filter_map(Value::as_object);
    wanted.flat_map(atoms).filter(|atom| !covered(atom)).map(Atom::rule).collect()
}

fn atoms(rule: &Object) -> Vec<Atom<'_>> {
    let mut atoms = Vec::new();
    let names: Vec<Option<&str>> = match tree::list(rule, "resourceNames") {
        [] => vec![None],
        _ => tree::texts(rule, "resourceNames").map(Some).collect(),
    };
    for group in tree::texts(rule, "apiGroups") {
        for resource in tree::texts(rule, "resources") {
            for verb in tree::texts(rule, "verbs") {
                let atom = |&name| Atom::Resource { verb, group, resource, name };
                atoms.extend(names.iter().map(atom));
            }
        }
    }
    for path in tree::texts(rule, "nonResourceURLs") {
        atoms.extend(tree::texts(rule, "verbs").map(|verb| Atom::Path { verb, path }));
    }
    atoms
}

fn covers(rule: &Object, atom: Atom<'_>) -> bool {
    let has = |list: &str, wanted: &str| tree::texts(rule, list).any(|text| text == wanted);
    let has_or_all = |list: &str, wanted: &str| has(list, wanted) || has(list, "*");
    match atom {
        Atom::Resource { verb, group, resource, name } => {
            let subresource_of_all = || {
                let (_, subresource) = resource.split_once('/')?;
                Some(has("resources", &format!("*/{subresource}")))
            };
            let any_name = tree::list(rule, "resourceNames").is_empty();
            has_or_all("verbs", verb)
                && has_or_all("apiGroups", group)
                && (has_or_all("resources", resource) || subresource_of_all() == Some(true))
                && (any_name || name.is_some_and(|name| has("resourceNames", name)))
        }
        Atom::Path { verb, path } => {
            let covers_path = |pattern: &str| {
                let prefix = pattern.trim_end_matches('*');
                pattern == path || (pattern.ends_with('*') && path.starts_with(prefix))
            };
            has_or_all("verbs", verb) && tree::texts(rule, "nonResourceURLs").any(covers_path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_that_no_rule_covers_are_missing_one_by_one() {
        let check = |present: Value, wanted: Value, expected: Value| {
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            assert_eq!(Value::from(missing(&list(&present), &list(&wanted))), expected, "{present} {wanted}");
        };
        let pods = |verbs: &[&str]| json!({"apiGroups": [""], "resources": ["pods"], "verbs": verbs});
        let named = |name: &str| json!({"apiGroups": [""], "resourceNames": [name], "resources": ["pods"], "verbs": ["get"]});
        let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
        check(json!([]), json!([]), json!([]));
        check(json!([]), json!([pods(&["get", "list"])]), json!([pods(&["get"]), pods(&["list"])]));
        check(json!([pods(&["get"])]), json!([pods(&["get", "list"])]), json!([pods(&["list"])]));
        check(json!([pods(&["get"]), pods(&["list"])]), json!([pods(&["get", "list"])]), json!([]));
        check(all.clone(), json!([pods(&["get"]), named("a")]), json!([]));
        check(json!([pods(&["get"])]), all.clone(), all);
        // A name is covered by the same one and by none, no name only by none.
        check(
            json!([named("a")]),
            json!([named("a"), named("b"), pods(&["get"])]),
            json!([named("b"), pods(&["get"])]),
        );
        check(json!([pods(&["*"])]), json!([named("a")]), json!([]));

        let status = json!({"apiGroups": [""], "resources": ["pods/status"], "verbs": ["get"]});
        let any_status = json!({"apiGroups": [""], "resources": ["*/status"], "verbs": ["get"]});
        check(json!([any_status]), json!([status, pods(&["get"])]), json!([pods(&["get"])]));

        let path = |path: &str| json!({"nonResourceURLs": [path], "verbs": ["get"]});
        check(
            json!([path("/api/*")]),
            json!([path("/api/v1"), path("/api"), path("/api/*")]),
            json!([path("/api")]),
        );
        check(json!([path("*")]), json!([path("/healthz")]), json!([]));
        check(json!([pods(&["*"])]), json!([path("/healthz")]), json!([path("/healthz")]));
    }
}
