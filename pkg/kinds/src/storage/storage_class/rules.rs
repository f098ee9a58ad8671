//! Validation of storage classes.

use crate::storage::class::{driver, parameters};
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::{qualified_name, supported_value};
use api::tree::{children, list, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_STORAGE_V1_STORAGECLASS as STORAGE_CLASS;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULES: Rules = Rules { create: storage_class, update: storage_class_update };

fn storage_class(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    driver(&Path::root("provisioner"), text(new, "provisioner"), &mut errors);
    parameters(new, false, &mut errors);
    let policy = text(new, "reclaimPolicy");
    if !policy.is_empty() {
        supported_value(&Path::root("reclaimPolicy"), policy, &["Delete", "Retain"], &mut errors);
    }
    let path = Path::root("volumeBindingMode");
    match maybe_text(new, "volumeBindingMode") {
        None => errors.push(Error::required(&path, "")),
        Some(mode) => supported_value(&path, mode, &["Immediate", "WaitForFirstConsumer"], &mut errors),
    }
    topologies(new, &mut errors);
    errors
}

fn storage_class_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = storage_class(new);
    errors.append(metadata_update(new, old));
    for member in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        immutable(&Path::root(member), &STORAGE_CLASS, member, new, old, &mut errors);
    }
    errors
}

/// Validates the allowed topologies. Terms must be unique. In upstream, an empty term equals as many others
/// as there are terms.
fn topologies(class: &Object, errors: &mut ErrorList) {
    let path = Path::root("allowedTopologies");
    let count = list(class, "allowedTopologies").len();
    let mut seen: Vec<BTreeMap<&str, BTreeSet<&str>>> = vec![BTreeMap::new(); count];
    for (index, term) in children(class, "allowedTopologies").enumerate() {
        let path = path.index(index);
        let path = path.child("matchLabelExpressions");
        let mut map = BTreeMap::new();
        for (index, requirement) in children(term, "matchLabelExpressions").enumerate() {
            let path = path.index(index);
            let key = text(requirement, "key");
            let values = topology_values(&path.child("values"), requirement, errors);
            qualified_name(&path.child("key"), key, errors);
            if map.insert(key, values).is_some() {
                errors.push(Error::duplicate(&path.child("key"), key));
            }
        }
        let duplicates = seen.iter().filter(|other| **other == map).count();
        errors.extend((0..duplicates).map(|_| Error::duplicate(&path, "")));
        seen.push(map);
    }
}

fn topology_values<'o>(
    path: &Path<'_>,
    requirement: &'o Object,
    errors: &mut ErrorList,
) -> BTreeSet<&'o str> {
    if list(requirement, "values").is_empty() {
        errors.push(Error::required(path, ""));
    }
    let mut values = BTreeSet::new();
    for (index, value) in texts(requirement, "values").enumerate() {
        if !values.insert(value) {
            errors.push(Error::duplicate(&path.index(index), value));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::class::PARAMETERS_BYTES_MAX;
    use jsontree::{Value, json};

    fn class(rest: Value) -> Object {
        let mut object = json!({"metadata": {"name": "c", "resourceVersion": "1"}, "provisioner": "A.b/c",
            "driverName": "d", "volumeBindingMode": "Immediate"});
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
            object.extend(rest);
        }
        object.as_object().cloned().unwrap_or_default()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn a_class_has_a_provisioner_and_a_mode() {
        let check =
            |rest: Value, expected: &[&str]| assert_eq!(fields(&storage_class(&class(rest))), expected);
        check(json!({}), &[]);
        check(
            json!({"provisioner": "", "reclaimPolicy": "Recycle", "volumeBindingMode": "x"}),
            &["provisioner", "reclaimPolicy", "volumeBindingMode"],
        );
        check(json!({"parameters": {"": "a"}}), &["parameters"]);
        check(json!({"parameters": {"a": "b".repeat(PARAMETERS_BYTES_MAX)}}), &["parameters"]);
        let term = json!({"matchLabelExpressions": [{"key": "a", "values": ["b"]}]});
        check(json!({"allowedTopologies": [term]}), &[]);
        check(json!({"allowedTopologies": [term, term]}), &["allowedTopologies[1].matchLabelExpressions"]);
        let term = json!({"matchLabelExpressions": [{"key": "a"}, {"key": "a", "values": ["b", "b"]}]});
        let step = |step: &str| format!("allowedTopologies[0].matchLabelExpressions{step}");
        check(
            json!({"allowedTopologies": [term]}),
            &[&step("[0].values"), &step("[1].values[1]"), &step("[1].key")],
        );
    }

    #[test]
    fn class_parameters_are_immutable() {
        let errors = storage_class_update("", &class(json!({"parameters": {"a": "b"}})), &class(json!({})));
        assert_eq!(fields(&errors), ["parameters"]);
    }
}
