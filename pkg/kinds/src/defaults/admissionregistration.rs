//! admissionregistration.k8s.io: webhooks and admission policies.

use super::Rule;
use super::fill::{each, if_nil, if_present, is_zero, within};
use super::object::Object;
use jsontree::json;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1", "MutatingWebhookConfiguration") => |all| each(all, "webhooks", mutating_webhook),
        ("v1", "ValidatingWebhookConfiguration") => |all| each(all, "webhooks", webhook),
        ("v1beta1", "MutatingWebhookConfiguration") => |all| each(all, "webhooks", mutating_webhook_v1beta1),
        ("v1beta1", "ValidatingWebhookConfiguration") => |all| each(all, "webhooks", webhook_v1beta1),
        ("v1" | "v1beta1" | "v1alpha1", "MutatingAdmissionPolicy" | "ValidatingAdmissionPolicy") => policy,
        ("v1" | "v1beta1", "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding") => binding,
        ("v1alpha1", "MutatingAdmissionPolicyBinding" | "ValidatingAdmissionPolicyBinding") => {
            binding_v1alpha1
        }
        _ => return None,
    })
}

/// Sets the defaults of a webhook's service reference, which other groups have too.
pub(super) fn service_reference(holder: &mut Object) {
    if_present(holder, "service", |service| if_nil(service, "port", 443));
}

fn webhook(webhook: &mut Object) {
    if_nil(webhook, "failurePolicy", "Fail");
    if_nil(webhook, "matchPolicy", "Equivalent");
    if_nil(webhook, "timeoutSeconds", 10);
    any_version_webhook(webhook);
}

fn mutating_webhook(hook: &mut Object) {
    webhook(hook);
    if_nil(hook, "reinvocationPolicy", "Never");
}

fn webhook_v1beta1(webhook: &mut Object) {
    if_nil(webhook, "failurePolicy", "Ignore");
    if_nil(webhook, "matchPolicy", "Exact");
    if_nil(webhook, "sideEffects", "Unknown");
    if_nil(webhook, "timeoutSeconds", 30);
    if is_zero(webhook, "admissionReviewVersions") {
        webhook.set("admissionReviewVersions", json!(["v1beta1"]));
    }
    any_version_webhook(webhook);
}

fn mutating_webhook_v1beta1(webhook: &mut Object) {
    webhook_v1beta1(webhook);
    if_nil(webhook, "reinvocationPolicy", "Never");
}

fn any_version_webhook(webhook: &mut Object) {
    select_everything(webhook);
    if_present(webhook, "clientConfig", service_reference);
    each(webhook, "rules", rule_scope);
}

fn policy(policy: &mut Object) {
    within(policy, "spec", |spec| {
        if_nil(spec, "failurePolicy", "Fail");
        if_present(spec, "matchConstraints", match_resources);
    });
}

fn binding(binding: &mut Object) {
    if_present(binding, "spec", |spec| if_present(spec, "matchResources", match_resources));
}

fn binding_v1alpha1(object: &mut Object) {
    binding(object);
    if_present(object, "spec", |spec| {
        if_present(spec, "paramRef", |reference| if_nil(reference, "parameterNotFoundAction", "Deny"));
    });
}

fn match_resources(resources: &mut Object) {
    if_nil(resources, "matchPolicy", "Equivalent");
    select_everything(resources);
    for list in ["resourceRules", "excludeResourceRules"] {
        each(resources, list, rule_scope);
    }
}

fn select_everything(holder: &mut Object) {
    if_nil(holder, "namespaceSelector", json!({}));
    if_nil(holder, "objectSelector", json!({}));
}

fn rule_scope(rule: &mut Object) {
    if_nil(rule, "scope", "*");
}
