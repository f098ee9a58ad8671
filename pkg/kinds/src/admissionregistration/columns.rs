//! Table columns that kinds of the group share.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::UNSET;
use api::table::view::View;

pub(super) static POLICY_BINDING: &[Column] = &[
    NAME,
    Column::text("PolicyName", |object, _| object.get_path("spec.policyName").into())
        .with_description("PolicyName indicates the policy definition which the policy binding binded to"),
    Column::text("ParamRef", |object, _| parameter(object.get_path("spec.paramRef")).into())
        .with_description("ParamRef indicates the param resource which sets the configuration param"),
    AGE,
];

pub(super) static WEBHOOK_CONFIGURATION: &[Column] = &[
    NAME,
    Column::integer("Webhooks", |object, _| object.get("webhooks").count())
        .with_description("Webhooks indicates the number of webhooks registered in this configuration"),
    AGE,
];

pub(super) fn param_kind(policy: View<'_>) -> String {
    let kind = policy.get_path("spec.paramKind");
    if !kind.exists() {
        return UNSET.to_owned();
    }
    format!("{}/{}", kind.get("apiVersion").text(), kind.get("kind").text())
}

fn parameter(reference: View<'_>) -> String {
    let namespace = reference.get("namespace").text();
    let selector = reference.get("selector");
    match reference.get("name").text() {
        "" if selector.exists() => go_label_selector(selector),
        "" => UNSET.to_owned(),
        name if namespace.is_empty() => format!("*/{name}"),
        name => format!("{namespace}/{name}"),
    }
}

/// Formats a label selector like Go's generated `String` method.
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
