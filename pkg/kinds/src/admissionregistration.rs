//! The kinds of admissionregistration.k8s.io. Their CEL expressions are compiled in the environments in which
//! they run.

pub(crate) mod binding;
pub(crate) mod client;
pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod match_condition;
pub(crate) mod mutating_admission_policy;
pub(crate) mod mutating_admission_policy_binding;
pub(crate) mod mutating_webhook_configuration;
pub(crate) mod policy;
pub(crate) mod policy_expressions;
pub(crate) mod rule;
pub(crate) mod validating_admission_policy;
pub(crate) mod validating_admission_policy_binding;
pub(crate) mod validating_webhook_configuration;
pub(crate) mod webhook;

pub(crate) use binding::{MUTATING_BINDINGS, VALIDATING_BINDINGS};
pub(crate) use client::{client_config, is_url_with_host};
pub(crate) use policy::{MUTATING_POLICIES, VALIDATING_POLICIES};
pub(crate) use webhook::{MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS};

const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];

#[cfg(test)]
mod tests {
    use component_base::features::{Gate, Gates};
    use jsontree::json;
    use schema::object::Object;

    use crate::validation::kinds::{validate, validate_manifest};
    use crate::validation::rules::{Settings, ValidationContext};
    use api::resources;

    fn errors(name: &str, open: bool, from_disk: bool) -> Vec<String> {
        let Some(row) =
            resources::find("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "")
        else {
            return vec!["no row".to_owned()];
        };
        let gates = Gates::default().with(Gate::ManifestBasedAdmissionControlConfig, open);
        let context = ValidationContext {
            settings: Settings { gates, ..Settings::default() },
            ..ValidationContext::default()
        };
        let object: Object = json!({"metadata": {"name": name}}).as_object().cloned().unwrap_or_default();
        let of = if from_disk { validate_manifest } else { validate };
        of(row, &object, &context).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn manifest_names_are_refused_with_the_gate() {
        assert_eq!(
            errors("a.static.k8s.io", true, false),
            [
                "metadata.name: Invalid value: \"a.static.k8s.io\": names ending with \".static.k8s.io\" are reserved \
                 for static manifest-based configurations and cannot be managed via the API"
            ]
        );
        let none: [&str; 0] = [];
        assert_eq!(errors("a.static.k8s.io", false, false), none);
        assert_eq!(errors("a.k8s.io", true, false), none);
        assert_eq!(errors("a.static.k8s.io", true, true), none);
    }
}
