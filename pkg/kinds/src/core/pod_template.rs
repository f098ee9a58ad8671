//! PodTemplates.

use super::pod::{PodOptions, validate_pod_template_spec};
use crate::kind::{Kind, OnUpdate, Validation, WarningRules};
use crate::strategy::gated::places;
use crate::validation::NameRule;
use crate::validation::kinds::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::warnings;
use api::tree::child;
use apimachinery::field::{ErrorList, Path};
use schema::object::Object;

pub(crate) static POD_TEMPLATE: Kind = Kind {
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::workload::pod_template,
        update: OnUpdate::Own(warnings::workload::pod_template_update),
        ..WarningRules::NONE
    },
    gated: places::POD_TEMPLATE,
    ..Kind::PLAIN
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

fn create(new: &Object, given: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    errors.append(template(new, None, given));
    errors
}

fn update(_: &str, new: &Object, old: &Object, given: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    errors.append(template(new, Some(old), given));
    errors
}

fn template(new: &Object, old: Option<&Object>, given: &ValidationContext) -> ErrorList {
    let empty = Object::new();
    let template = child(new, "template").unwrap_or(&empty);
    let options = PodOptions::new(false, old.and_then(|old| child(old, "template")), given);
    validate_pod_template_spec(template, &Path::root("template"), &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::Error;
    use jsontree::{Value, json};

    fn pod_template(pod: Value) -> Object {
        let mut spec = json!({
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always",
                "terminationMessagePolicy": "File"}],
        });
        if let (Some(spec), Value::Object(pod)) = (spec.as_object_mut(), pod) {
            spec.extend(pod);
        }
        let meta = json!({"name": "n", "namespace": "ns", "resourceVersion": "1"});
        let members = [("metadata", meta), ("template", json!({"spec": spec}))];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn any_restart_policy_and_deadline_is_valid() {
        let object = pod_template(json!({"restartPolicy": "Never", "activeDeadlineSeconds": 5}));
        assert_eq!(fields(&create(&object, &ValidationContext::default())), [""; 0]);
    }

    #[test]
    fn existing_bad_selector_is_allowed() {
        let requirement = json!({"key": "a", "operator": "In", "values": ["-"]});
        let term = json!({"topologyKey": "t", "labelSelector": {"matchExpressions": [requirement]}});
        let affinity = json!({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}});
        let bad = pod_template(json!({"affinity": affinity}));
        assert_eq!(create(&bad, &ValidationContext::default()).len(), 1);
        assert_eq!(fields(&update("", &bad, &bad, &ValidationContext::default())), [""; 0]);
    }
}
