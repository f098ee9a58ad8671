//! Rows of webhook configurations and admission policies.

use super::format::{UNSET, age};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "mutatingadmissionpolicies" => |object, now| policy(object, "mutations", now),
        "validatingadmissionpolicies" => |object, now| policy(object, "validations", now),
        "mutatingadmissionpolicybindings" | "validatingadmissionpolicybindings" => policy_binding,
        "mutatingwebhookconfigurations" | "validatingwebhookconfigurations" => webhooks,
        _ => return None,
    })
}

fn webhooks(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![object.name(), object.get("webhooks").count(), age(object, now)]
}

fn policy<'a>(object: View<'a>, steps: &str, now: UnixTime) -> Vec<Cell<'a>> {
    let kind = object.at("spec.paramKind");
    let kind = if kind.exists() {
        format!("{}/{}", kind.get("apiVersion").text(), kind.get("kind").text())
    } else {
        UNSET.to_owned()
    };
    vec![object.name(), object.get("spec").get(steps).count(), kind.into(), age(object, now)]
}

fn policy_binding(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    vec![
        object.name(),
        object.at("spec.policyName").into(),
        parameter(object.at("spec.paramRef")).into(),
        age(object, now),
    ]
}

fn parameter(reference: View<'_>) -> String {
    let (namespace, selector) = (reference.get("namespace").text(), reference.get("selector"));
    match reference.get("name").text() {
        "" if selector.exists() => go_label_selector(selector),
        "" => UNSET.to_owned(),
        name if namespace.is_empty() => format!("*/{name}"),
        name => format!("{namespace}/{name}"),
    }
}

/// The text that Go's generated `String` method makes of a label selector.
fn go_label_selector(selector: View<'_>) -> String {
    let labels: String = selector
        .get("matchLabels")
        .entries()
        .map(|(key, value)| format!("{key}: {},", value.text()))
        .collect();
    let expressions: String = selector
        .get("matchExpressions")
        .items()
        .map(|expression| {
            format!(
                "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
                expression.get("key").text(),
                expression.get("operator").text(),
                expression.get("values").texts().join(" ")
            )
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}
