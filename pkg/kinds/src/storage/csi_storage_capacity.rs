//! Storage capacities: available storage of a class in a topology segment.

mod warnings;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::resources::{nonnegative_quantity, quantity};
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::selector::{has_bad_values, label_selector};
use crate::validation::value::dns_subdomain;
use api::tree::{child, text};
use apimachinery::field::{ErrorList, Path};
use schema::builtin::IO_K8S_API_STORAGE_V1_CSISTORAGECAPACITY as MESSAGE;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules { create: warnings::capacity, ..WarningRules::NONE },
    // Upstream has a printer for capacities, but does not use it.
    columns: Columns::NameAndCreation,
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create: |new| validate(new, false), update };

fn validate(capacity: &Object, bad_selector: bool) -> ErrorList {
    let mut errors = metadata(capacity, true, NameRule::DnsSubdomain);
    label_selector(&Path::root("nodeTopology"), child(capacity, "nodeTopology"), bad_selector, &mut errors);
    dns_subdomain(&Path::root("storageClassName"), text(capacity, "storageClassName"), &mut errors);
    nonnegative_quantity(&Path::root("capacity"), &quantity(capacity.get("capacity")), &mut errors);
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = validate(new, child(old, "nodeTopology").is_some_and(has_bad_values));
    errors.append(metadata_update(new, old));
    for member in ["nodeTopology", "storageClassName"] {
        immutable(&Path::root(member), &MESSAGE, member, new, old, &mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::Error;
    use jsontree::{Value, json};

    fn capacity(rest: Value) -> Object {
        let mut object = json!({"metadata": {"name": "c", "namespace": "n", "resourceVersion": "1"}, "storageClassName": "a"});
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
            object.extend(rest);
        }
        object.as_object().cloned().unwrap_or_default()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn capacities_have_class_and_topology() {
        assert_eq!(validate(&capacity(json!({"capacity": "1Gi"})), false), ErrorList::new());
        let bad =
            json!({"capacity": "-1", "storageClassName": "A", "nodeTopology": {"matchLabels": {"a b": "c"}}});
        assert_eq!(
            fields(&validate(&capacity(bad), false)),
            ["nodeTopology.matchLabels", "storageClassName", "capacity"]
        );
        let errors =
            update("", &capacity(json!({"nodeTopology": {"matchLabels": {"a": "c"}}})), &capacity(json!({})));
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert_eq!(
            texts,
            ["nodeTopology: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"]
        );
    }
}
