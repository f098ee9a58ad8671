//! Defaults of webhooks and admission policies.

use crate::defaults::fill::{default_struct, each, if_nil, if_present, is_zero};
use crate::defaults::object::Object;
use jsontree::json;

/// Sets the defaults of a webhook's service reference, which other groups have too.
pub(crate) fn service_reference(holder: &mut Object) {
    if_present(holder, "service", |service| if_nil(service, "port", 443));
}

pub(super) fn webhook(webhook: &mut Object) {
    if_nil(webhook, "failurePolicy", "Fail");
    if_nil(webhook, "matchPolicy", "Equivalent");
    if_nil(webhook, "timeoutSeconds", 10);
    any_version_webhook(webhook);
}

pub(super) fn mutating_webhook(hook: &mut Object) {
    webhook(hook);
    if_nil(hook, "reinvocationPolicy", "Never");
}

pub(super) fn webhook_v1beta1(webhook: &mut Object) {
    if_nil(webhook, "failurePolicy", "Ignore");
    if_nil(webhook, "matchPolicy", "Exact");
    if_nil(webhook, "sideEffects", "Unknown");
    if_nil(webhook, "timeoutSeconds", 30);
    if is_zero(webhook, "admissionReviewVersions") {
        webhook.set("admissionReviewVersions", json!(["v1beta1"]));
    }
    any_version_webhook(webhook);
}

pub(super) fn mutating_webhook_v1beta1(webhook: &mut Object) {
    webhook_v1beta1(webhook);
    if_nil(webhook, "reinvocationPolicy", "Never");
}

fn any_version_webhook(webhook: &mut Object) {
    select_everything(webhook);
    if_present(webhook, "clientConfig", service_reference);
    each(webhook, "rules", rule_scope);
}

pub(super) fn policy(policy: &mut Object) {
    default_struct(policy, "spec", |spec| {
        if_nil(spec, "failurePolicy", "Fail");
        if_present(spec, "matchConstraints", match_resources);
    });
}

pub(super) fn binding(binding: &mut Object) {
    if_present(binding, "spec", |spec| if_present(spec, "matchResources", match_resources));
}

pub(super) fn binding_v1alpha1(object: &mut Object) {
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
