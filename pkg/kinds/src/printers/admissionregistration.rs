//! Rows of webhook configurations and admission policies.

use super::column::{AGE, Column, NAME, integer, text};
use super::format::UNSET;
use super::view::View;

pub(super) static MUTATING_ADMISSION_POLICY: &[Column] = &[
    NAME,
    integer("Mutations", |object, _| object.at("spec.mutations").count())
        .described("Mutation indicates the number of mutations rules defined in this configuration"),
    text("ParamKind", |object, _| param_kind(object).into())
        .described("ParamKind specifies the kind of resources used to parameterize this policy"),
    AGE,
];

pub(super) static VALIDATING_ADMISSION_POLICY: &[Column] = &[
    NAME,
    integer("Validations", |object, _| object.at("spec.validations").count())
        .described("Validations indicates the number of validation rules defined in this configuration"),
    text("ParamKind", |object, _| param_kind(object).into())
        .described("ParamKind specifies the kind of resources used to parameterize this policy"),
    AGE,
];

pub(super) static POLICY_BINDING: &[Column] = &[
    NAME,
    text("PolicyName", |object, _| object.at("spec.policyName").into())
        .described("PolicyName indicates the policy definition which the policy binding binded to"),
    text("ParamRef", |object, _| parameter(object.at("spec.paramRef")).into())
        .described("ParamRef indicates the param resource which sets the configuration param"),
    AGE,
];

pub(super) static WEBHOOK_CONFIGURATION: &[Column] = &[
    NAME,
    integer("Webhooks", |object, _| object.get("webhooks").count())
        .described("Webhooks indicates the number of webhooks registered in this configuration"),
    AGE,
];

fn param_kind(policy: View<'_>) -> String {
    let kind = policy.at("spec.paramKind");
    if !kind.exists() {
        return UNSET.to_owned();
    }
    format!("{}/{}", kind.get("apiVersion").text(), kind.get("kind").text())
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
