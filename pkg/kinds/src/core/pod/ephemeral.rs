//! Changes through `pods/ephemeralcontainers`: only adding containers is allowed (upstream's
//! `ValidatePodEphemeralContainersUpdate`).

use super::annotations::is_mirror_pod;
use crate::validation::go_value::go_lines;
use crate::validation::unified_diff::unified_diff;
use api::semantic;
use api::tree::{child, children, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use schema::builtin::IO_K8S_API_CORE_V1_EPHEMERALCONTAINER as CONTAINER;
use schema::object::Object;
use std::collections::BTreeMap;

/// Validates the change of a pod's ephemeral containers. `errors` already contains those of its metadata, its
/// spec and their annotations.
pub(super) fn validate_ephemeral_containers_update(
    new: &Object,
    old: &Object,
    mut errors: ErrorList,
) -> ErrorList {
    if is_mirror_pod(old) {
        let detail = "static pods do not support ephemeral containers";
        return [Error::forbidden(&Path::root(""), detail)].into();
    }
    let containers =
        |pod| child(pod, "spec").into_iter().flat_map(|spec| children(spec, "ephemeralContainers"));
    // The order may change, because patches do not preserve it. The last container with the same name counts.
    let by_name: BTreeMap<&str, &Object> =
        containers(new).map(|container| (text(container, "name"), container)).collect();
    let path = Path::root("spec.ephemeralContainers");
    for old in containers(old) {
        let name = text(old, "name");
        let existing = format!("existing ephemeral containers {}", quote(name));
        match by_name.get(name) {
            None => errors.push(Error::forbidden(&path, format!("{existing} may not be removed\n"))),
            Some(new) if semantic::equal(&CONTAINER, old, new) => {}
            Some(new) => errors.push_with(|| {
                let diff = unified_diff(&go_lines(&CONTAINER, old), &go_lines(&CONTAINER, new));
                Error::forbidden(&path, format!("{existing} may not be changed\n{diff}"))
            }),
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(new: Value, old: Value, expected: &[&str]) {
        let pod = |containers: Value| {
            let spec = Object::from_iter([("ephemeralContainers".to_owned(), containers)]);
            Object::from_iter([("spec".to_owned(), Value::Object(spec))])
        };
        let errors = validate_ephemeral_containers_update(&pod(new), &pod(old), ErrorList::new());
        assert_eq!(errors.iter().map(Error::detail).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn containers_can_be_added_in_any_order() {
        let a = json!({"name": "a"});
        let b = json!({"name": "b", "targetContainerName": ""});
        check(json!([b, a]), json!([a, {"name": "b"}]), &[]);
        check(json!([b, a]), json!([a]), &[]);
    }

    #[test]
    fn containers_cannot_be_removed_or_changed() {
        let old = json!([{"name": "a", "image": "x"}]);
        check(json!([]), old.clone(), &["existing ephemeral containers \"a\" may not be removed\n"]);
        let diff = "@@ -1,6 +1,6 @@\n {\n  \"Name\": \"a\",\n- \"Image\": \"x\",\n+ \"Image\": \"y\",\n  \
            \"Command\": null,\n  \"Args\": null,\n  \"WorkingDir\": \"\",\n";
        let detail = format!("existing ephemeral containers \"a\" may not be changed\n{diff}");
        check(json!([{"name": "a", "image": "y"}]), old, &[&detail]);
    }

    #[test]
    fn static_pods_have_none() {
        let Value::Object(pod) = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}})
        else {
            unreachable!("a literal object")
        };
        let errors = [Error::required(&Path::root("x"), "")].into();
        let errors = validate_ephemeral_containers_update(&pod, &pod, errors);
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert_eq!(texts, ["[]: Forbidden: static pods do not support ephemeral containers"]);
    }
}
