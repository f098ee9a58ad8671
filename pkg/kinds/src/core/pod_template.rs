//! PodTemplates.

mod warnings;

use super::pod::{PodOptions, validate_pod_template_spec};
use crate::defaults::fill::default_struct;
use crate::defaults::pod_spec;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{Column, NAME};
use crate::printers::format::{container_images, container_names, labels};
use crate::strategy::gated::fields::gated_path;
use crate::strategy::gated::shared::{OLD_ANNOTATIONS, POD_SPEC};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use api::tree::child;
use apimachinery::field::{ErrorList, Path};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", |object| {
        default_struct(object, "template", pod_spec::template)
    })],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::create,
        update: OnUpdate::Custom(warnings::update),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[
        NAME,
        Column::text("Containers", |object, _| container_names(object.get_path("template.spec")))
            .with_description("Names of each container in the template."),
        Column::text("Images", |object, _| container_images(object.get_path("template.spec")))
            .with_description("Images referenced by each container in the template."),
        Column::text("Pod Labels", |object, _| labels(object.get_path("template.metadata.labels")).into())
            .with_description("The labels for the pod template."),
    ]),
    gated: &[gated_path(&["template"], OLD_ANNOTATIONS), gated_path(&["template", "spec"], POD_SPEC)],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    errors.append(template(new, None, context));
    errors
}

fn update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    errors.append(template(new, Some(old), context));
    errors
}

fn template(new: &Object, old: Option<&Object>, context: &ValidationContext) -> ErrorList {
    let empty = Object::new();
    let template = child(new, "template").unwrap_or(&empty);
    let options = PodOptions::new(false, old.and_then(|old| child(old, "template")), context);
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
