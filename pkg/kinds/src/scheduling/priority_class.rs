//! Priority classes of pods.

use crate::defaults::fill::if_nil;
use crate::kind::{Columns, Generation, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::required_one_of;
use api::tree::{child, flag, integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_SCHEDULING_V1_PRIORITYCLASS as MESSAGE;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("scheduling.k8s.io/v1", |class| {
            if_nil(class, "preemptionPolicy", "PreemptLowerPriority")
        }),
        Version::with_defaults("scheduling.k8s.io/v1beta1", |class| {
            if_nil(class, "preemptionPolicy", "PreemptLowerPriority")
        }),
    ],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::integer("Value", |object, _| object.get("value").int().into())
            .with_description_of("io.k8s.api.scheduling.v1.PriorityClass", "value"),
        Column::boolean("Global-Default", |object, _| object.get("globalDefault").flag().into())
            .with_description_of("io.k8s.api.scheduling.v1.PriorityClass", "globalDefault"),
        AGE,
        Column::text("PreemptionPolicy", |object, _| object.get("preemptionPolicy").into())
            .with_description_of("io.k8s.api.scheduling.v1.PriorityClass", "preemptionPolicy"),
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties { generation: Generation::Constant, undeletable, ..RareProperties::NONE },
};

pub(crate) const RULES: Rules = Rules { create, update };

/// Highest priority for users; higher ones are reserved.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;
const SYSTEM_PREFIX: &str = "system-";
const SYSTEM_CLASSES: &[(&str, i64)] =
    &[("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let name = child(new, "metadata").map_or("", |meta| text(meta, "name"));
    let value = integer(new, "value");
    if name.starts_with(SYSTEM_PREFIX) {
        if let Some(wrong) = system_class_error(new, name, value) {
            let detail = format!(
                "priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {wrong}"
            );
            errors.push(Error::forbidden(&Path::root("metadata.name"), detail));
        }
    } else if value > USER_PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        errors.push(Error::forbidden(&Path::root("value"), detail));
    }
    if let Some(policy) = maybe_text(new, "preemptionPolicy") {
        let supported = ["PreemptLowerPriority", "Never"];
        required_one_of(&Path::root("preemptionPolicy"), policy, &supported, &mut errors);
    }
    errors
}

/// True for a system priority class, which must not be deleted (upstream's `priorityclass/storage`).
fn is_system_class(name: &str) -> bool {
    SYSTEM_CLASSES.iter().any(|(class, _)| *class == name)
}

fn undeletable(name: &str) -> Option<&'static str> {
    is_system_class(name).then_some("this is a system priority class and cannot be deleted")
}

/// Returns the difference between a class and the system class of the same name.
fn system_class_error(class: &Object, name: &str, value: i64) -> Option<String> {
    match SYSTEM_CLASSES.iter().find(|(class_name, _)| *class_name == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, system)) if *system != value => {
            Some(format!("value of {name} PriorityClass must be {system}"))
        }
        Some(_) if flag(class, "globalDefault") => {
            Some(format!("globalDefault of {name} PriorityClass must be false"))
        }
        Some(_) => None,
    }
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if integer(new, "value") != integer(old, "value") {
        errors.push(Error::forbidden(&Path::root("value"), "may not be changed in an update."));
    }
    let path = Path::root("preemptionPolicy");
    immutable(&path, &MESSAGE, "preemptionPolicy", new, old, &mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn class(name: &str, rest: Value) -> Object {
        let mut object = json!({"metadata": {"name": name, "resourceVersion": "1"}});
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
            object.extend(rest);
        }
        object.as_object().cloned().unwrap_or_default()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn high_priorities_are_the_systems() {
        let check = |name: &str, rest: Value, expected: &[&str]| {
            assert_eq!(fields(&create(&class(name, rest))), expected);
        };
        check("a", json!({"value": 1_000_000_000}), &[]);
        check("a", json!({"value": 1_000_000_001}), &["value"]);
        check("system-node-critical", json!({"value": 2_000_001_000}), &[]);
        check("system-node-critical", json!({"value": 1}), &["metadata.name"]);
        check("system-x", json!({"value": 1}), &["metadata.name"]);
        check("a", json!({"preemptionPolicy": "x"}), &["preemptionPolicy"]);
    }

    #[test]
    fn a_priority_stays() {
        let errors = update(
            "",
            &class("a", json!({"value": 1, "preemptionPolicy": "Never"})),
            &class("a", json!({"value": 2, "preemptionPolicy": "PreemptLowerPriority"})),
        );
        assert_eq!(fields(&errors), ["value", "preemptionPolicy"]);
    }
}
