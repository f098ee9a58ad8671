//! Warnings about webhook configurations.

use api::tree::{children, texts};
use component_base::features::Gate;
use schema::object::Object;

use super::collector::Warnings;
use super::common;

/// Group and plural of the access and token reviews. With `ExcludeAdmissionWebhookVirtualResources` they never reach a
/// webhook, so that a broken one cannot lock users out (upstream's `admission/exclusion`).
const EXCLUDED: [(&str, &str); 6] = [
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "localsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

/// True for resources that no webhook receives.
pub fn is_excluded_from_webhooks(group: &str, plural: &str) -> bool {
    EXCLUDED.contains(&(group, plural))
}

/// Warnings about a new configuration.
pub(crate) fn created(new: &Object, out: &mut Warnings) {
    common::new_manifest_kind(new, out);
    excluded_rules(new, out);
}

/// Warnings about a replaced configuration.
pub(crate) fn updated(new: &Object, out: &mut Warnings) {
    common::static_name(new, out);
    excluded_rules(new, out);
}

/// Warns about rules that name an excluded resource. A rule with a wildcard may have been meant for others.
fn excluded_rules(configuration: &Object, out: &mut Warnings) {
    if !out.enabled(Gate::ExcludeAdmissionWebhookVirtualResources) {
        return;
    }
    for (hook_index, hook) in children(configuration, "webhooks").enumerate() {
        for (rule_index, rule) in children(hook, "rules").enumerate() {
            if out.is_full() {
                return;
            }
            for name in excluded_names(rule) {
                out.add(format_args!(
                    "webhooks[{hook_index}].rules[{rule_index}]: {name} is excluded from admission webhooks; this rule \
                     will have no effect"
                ));
            }
        }
    }
}

/// Returns the excluded resources that a rule names, in the order of the rule.
fn excluded_names(rule: &Object) -> Vec<String> {
    let has_wildcard = |member| texts(rule, member).any(|text| text == "*");
    if has_wildcard("apiGroups") || has_wildcard("resources") {
        return Vec::new();
    }
    let mut names = Vec::new();
    for (group, plural) in EXCLUDED {
        let group_at = texts(rule, "apiGroups").position(|text| text == group);
        let plural_at = texts(rule, "resources").position(|text| text == plural);
        names.extend(group_at.zip(plural_at).map(|position| (position, format!("{plural}.{group}"))));
    }
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use crate::warnings::testing::{created, created_with, updated};
    use component_base::features::{Gate, Gates};
    use jsontree::{Value, json};

    const GROUP: &str = "admissionregistration.k8s.io";

    fn configuration(groups: &[&str], resources: &[&str]) -> Value {
        let rule = json!({"apiGroups": groups, "resources": resources});
        json!({"metadata": {"name": "w"}, "webhooks": [{"rules": [{}, rule]}]})
    }

    #[test]
    fn rule_for_an_excluded_resource_has_a_warning() {
        let text = |name: &str| {
            format!(
                "webhooks[0].rules[1]: {name} is excluded from admission webhooks; this rule will have no effect"
            )
        };
        let subject = text("subjectaccessreviews.authorization.k8s.io");
        let own = text("selfsubjectaccessreviews.authorization.k8s.io");
        let token = text("tokenreviews.authentication.k8s.io");
        let reviews = configuration(
            &["", "authorization.k8s.io", "authentication.k8s.io"],
            &["subjectaccessreviews", "selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"],
        );
        for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
            let gates = Gates::default().with(Gate::ExcludeAdmissionWebhookVirtualResources, false);
            created_with(gates, GROUP, plural, reviews.clone(), &[]);
            created(GROUP, plural, reviews.clone(), &[&subject, &own, &token]);
            updated(GROUP, plural, reviews.clone(), reviews.clone(), &[&subject, &own, &token]);
            created(GROUP, plural, configuration(&["*"], &["tokenreviews"]), &[]);
            created(GROUP, plural, configuration(&["authentication.k8s.io"], &["*", "tokenreviews"]), &[]);
            created(GROUP, plural, configuration(&["authentication.k8s.io"], &["tokenreviews/status"]), &[]);
        }
    }
}
