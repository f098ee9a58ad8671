//! Runtime classes: container runtimes with their overhead.

mod warnings;

use crate::core::pod::tolerations;
use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::hooks::Common;
use crate::validation::go_value::go_value;
use crate::validation::immutable::immutable;
use crate::validation::resource_name::container_resource;
use crate::validation::resources::Requirements;
use crate::validation::rules::Rules;
use crate::validation::value::dns_label;
use crate::validation::{NameRule, validate_labels, validate_object_meta, validate_object_meta_update};
use api::tree::{child, children, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::{
    IO_K8S_API_CORE_V1_TOLERATION as TOLERATION, IO_K8S_API_NODE_V1_RUNTIMECLASS as MESSAGE,
};
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: false,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules { create: warnings::runtime_class, ..WarningRules::NONE },
    columns: Columns::Custom(&[NAME, Column::text("Handler", |object, _| object.get("handler").into()), AGE]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

fn create(new: &Object) -> ErrorList {
    let mut errors = validate_object_meta(new, false, NameRule::DnsSubdomain, &Path::root("metadata"));
    match text(new, "handler") {
        "" => errors.push(Error::required(&Path::root("handler"), "")),
        handler => dns_label(&Path::root("handler"), handler, &mut errors),
    }
    if let Some(overhead) = child(new, "overhead") {
        // Validated like the limits of a container.
        let fixed = overhead.get("podFixed").cloned();
        let limits: Object = fixed.into_iter().map(|fixed| ("limits".to_owned(), fixed)).collect();
        let rule = Requirements {
            name: container_resource,
            claims: &BTreeSet::new(),
            allow_partial_huge_pages: false,
        };
        rule.validate(&limits, &Path::root("overhead"), &mut errors);
    }
    if let Some(object) = child(new, "scheduling") {
        scheduling(object, &mut errors);
    }
    errors
}

fn scheduling(scheduling: &Object, errors: &mut ErrorList) {
    let path = Path::root("scheduling");
    errors.append(validate_labels(scheduling, "nodeSelector", &path.child("nodeSelector")));
    let path = path.child("tolerations");
    tolerations(&path, children(scheduling, "tolerations"), false, errors);
    let mut seen = BTreeSet::new();
    for (index, item) in children(scheduling, "tolerations").enumerate() {
        if !seen.insert(["key", "operator", "value", "effect"].map(|member| text(item, member))) {
            errors.push(Error::duplicate(&path.index(index), go_value(&TOLERATION, item)));
        }
    }
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = create(new);
    errors.append(validate_object_meta_update(new, old, &Path::root("metadata")));
    immutable(&Path::root("handler"), &MESSAGE, "handler", new, old, &mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(rest: Value, expected: &[&str]) {
        let mut object = json!({"metadata": {"name": "r"}, "handler": "a"});
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest.clone()) {
            object.extend(rest);
        }
        let errors = create(object.as_object().unwrap_or(&Object::new()));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{rest}");
    }

    #[test]
    fn a_class_has_a_handler_and_known_costs() {
        check(json!({"overhead": {"podFixed": {"cpu": "1"}}}), &[]);
        check(json!({"handler": ""}), &["handler"]);
        check(json!({"handler": "A"}), &["handler"]);
        check(json!({"overhead": {"podFixed": {"cpu": "-1"}}}), &["overhead.limits[cpu]"]);
    }

    #[test]
    fn tolerations_are_different() {
        let item = json!({"key": "a", "operator": "Exists"});
        check(json!({"scheduling": {"tolerations": [item]}}), &[]);
        check(json!({"scheduling": {"tolerations": [item, item]}}), &["scheduling.tolerations[1]"]);
        check(json!({"scheduling": {"nodeSelector": {"a b": "c"}}}), &["scheduling.nodeSelector"]);
    }
}
