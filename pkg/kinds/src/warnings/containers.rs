//! Warnings about containers: annotations that became fields, fractional bytes, and variables that hide
//! others.

use super::app_armor;
use super::collector::Warnings;
use super::common::each;
use api::tree::{child, children, text};
use apimachinery::field::Path;
use apimachinery::go_quote::Quoted;
use apimachinery::quantity::Quantity;
use schema::object::{Object, get_object};
use std::collections::BTreeSet;

/// Annotation prefix, followed by the container's name; replaced by `securityContext.seccompProfile`.
const SECCOMP_PREFIX: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// Annotations of a pod or template.
pub(super) struct Annotated<'a, 'o> {
    /// Path of the annotations.
    pub(super) at_annotations: Path<'a>,
    pub(super) annotations: &'o Object,
    /// True for a template. The annotations of a pod have been copied to fields.
    pub(super) is_template: bool,
}

pub(super) fn containers(path: &Path<'_>, spec: &Object, pod: &Annotated<'_, '_>, out: &mut Warnings) {
    for (list, index, container) in each(spec) {
        let path = path.child(list);
        let path = path.index(index);
        seccomp(pod, container, out);
        if pod.is_template {
            app_armor::in_template(&pod.at_annotations, pod.annotations, spec, container, out);
        }
        resources(&path, container, out);
        hidden_variables(&path.child("env"), container, out);
    }
}

fn seccomp(pod: &Annotated<'_, '_>, container: &Object, out: &mut Warnings) {
    if pod.annotations.is_empty() || get_object(container, &["securityContext", "seccompProfile"]).is_some() {
        return;
    }
    let key = format!("{SECCOMP_PREFIX}{}", text(container, "name"));
    if pod.annotations.contains_key(&key) {
        let path = pod.at_annotations.key(&key);
        out.add(format_args!("{path}: non-functional in v1.27+; use the \"seccompProfile\" field instead"));
    }
}

fn resources(path: &Path<'_>, container: &Object, out: &mut Warnings) {
    let Some(resources) = child(container, "resources") else { return };
    let path = path.child("resources");
    for resource in ["memory", "ephemeral-storage"] {
        for list in ["limits", "requests"] {
            fractions(&path.child(list), child(resources, list), &[resource], out);
        }
    }
}

/// Warns about fractional byte quantities of the named resources.
pub(super) fn fractions(path: &Path<'_>, list: Option<&Object>, names: &[&str], out: &mut Warnings) {
    let Some(list) = list else { return };
    for name in names {
        let Ok(quantity) = text(list, name).parse::<Quantity>() else { continue };
        if quantity.milli_value() % 1000 != 0 {
            out.add(format_args!(
                "{}: fractional byte value {} is invalid, must be an integer",
                path.key(name),
                Quoted(&quantity.to_string())
            ));
        }
    }
}

/// Warns about repeated variables, unless the later one extends the earlier value: `X=$(X)1`.
fn hidden_variables(path: &Path<'_>, container: &Object, out: &mut Warnings) {
    let mut seen = BTreeSet::new();
    for (index, variable) in children(container, "env").enumerate() {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let value = text(variable, "value");
        let before = format!("$({name})");
        let adds = value != before && value.contains(&before);
        if !adds || child(variable, "valueFrom").is_some() {
            out.add(format_args!(
                "{}: hides previous definition of {}, which may be dropped when using apply",
                path.index(index),
                Quoted(name)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::created;
    use jsontree::{Value, json};

    fn check(container: Value, expected: &[&str]) {
        let spec = json!({"containers": [{"name": "a"}, container]});
        created("", "pods", json!({"metadata": {"name": "a"}, "spec": spec}), expected);
    }

    #[test]
    fn bytes_are_whole() {
        check(
            json!({"name": "c", "resources": {
                "limits": {"cpu": "1500m", "memory": "1500m", "ephemeral-storage": "100m"},
                "requests": {"memory": "500m", "ephemeral-storage": "1Gi"},
            }}),
            &[
                "spec.containers[1].resources.limits[memory]: fractional byte value \"1500m\" is invalid, must \
                 be an integer",
                "spec.containers[1].resources.requests[memory]: fractional byte value \"500m\" is invalid, must \
                 be an integer",
                "spec.containers[1].resources.limits[ephemeral-storage]: fractional byte value \"100m\" is \
                 invalid, must be an integer",
            ],
        );
    }

    #[test]
    fn variables_may_be_added_to_but_not_hidden() {
        let hides = |index: usize, name: &str| {
            format!(
                "spec.containers[1].env[{index}]: hides previous definition of \"{name}\", which may be dropped \
                 when using apply"
            )
        };
        let env = json!([
            {"name": "A", "value": "1"},
            {"name": "A", "value": "$(A)2"},
            {"name": "A", "value": "$(A)"},
            {"name": "A", "value": "3"},
            {"name": "B"},
            {"name": "B", "value": "x$(B)", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "B"},
        ]);
        check(
            json!({"name": "c", "env": env}),
            &[&hides(2, "A"), &hides(3, "A"), &hides(5, "B"), &hides(6, "B")],
        );
    }

    #[test]
    fn seccomp_annotations_do_nothing() {
        let annotations = json!({
            "container.seccomp.security.alpha.kubernetes.io/a": "x",
            "container.seccomp.security.alpha.kubernetes.io/b": "x",
        });
        let containers = json!([
            {"name": "a"},
            {"name": "b", "securityContext": {"seccompProfile": {"type": "Unconfined"}}},
        ]);
        let pod = json!({"metadata": {"name": "a", "annotations": annotations}, "spec": {"containers": containers}});
        let expected = "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/a]: non-functional \
            in v1.27+; use the \"seccompProfile\" field instead";
        created("", "pods", pod, &[expected]);
    }
}
