//! CSI nodes: the drivers on a node.

mod storage_health;

use crate::kind::{Columns, Kind, NO_DEFAULTS, RareProperties, Validation, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::go_value::go_value;
use crate::validation::immutable::IMMUTABLE;
use crate::validation::rules::{Rules, metadata};
use crate::validation::value::{nonnegative, qualified_name};
use crate::validation::volume_source::csi_driver;
use api::semantic::equal;
use api::tree::{child, children, maybe_integer, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::Gate;
use schema::builtin::IO_K8S_API_STORAGE_V1_CSINODEDRIVER as CSI_NODE_DRIVER;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: NO_DEFAULTS,
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::Custom(&[
        NAME,
        Column::integer("Drivers", |object, _| object.get_path("spec.drivers").count())
            .with_description("Drivers indicates the number of CSI drivers registered on the node"),
        AGE,
    ]),
    gated: &[gated_path(&["status"], &[gated_by(Gate::CSIVolumeHealth, &[&["storageHealth"]])])],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: Rules = Rules { create, update };

/// Length limit of a driver's node id in bytes.
const NODE_ID_BYTES_MAX: usize = 256;

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let path = Path::root("spec.drivers");
    let mut names = BTreeSet::new();
    for (index, driver_of) in drivers(new).enumerate() {
        driver(&path.index(index), driver_of, &mut names, &mut errors);
    }
    errors
}

fn drivers(node: &Object) -> impl Iterator<Item = &Object> {
    child(node, "spec").into_iter().flat_map(|spec| children(spec, "drivers"))
}

/// Checks that drivers are unchanged, except for their allocatable volume count (KEP-4876).
fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    if subresource == "status" {
        return storage_health::update(new, old);
    }
    let mut errors = create(new);
    let counted_out = |driver: &Object| {
        let mut driver = driver.clone();
        driver.remove("allocatable");
        driver
    };
    for old in drivers(old).map(counted_out) {
        for new in drivers(new).map(counted_out).filter(|new| text(new, "name") == text(&old, "name")) {
            if !equal(&CSI_NODE_DRIVER, &new, &old) {
                let value = go_value(&CSI_NODE_DRIVER, &new);
                errors.push(Error::invalid(&Path::root("spec.drivers"), value, IMMUTABLE));
            }
        }
    }
    errors
}

fn driver<'o>(path: &Path<'_>, driver: &'o Object, names: &mut BTreeSet<&'o str>, errors: &mut ErrorList) {
    let name = text(driver, "name");
    let id = text(driver, "nodeID");
    csi_driver(&path.child("name"), name, errors);
    if id.is_empty() {
        errors.push(Error::required(&path.child("nodeID"), ""));
    }
    if id.len() > NODE_ID_BYTES_MAX {
        let detail = format!("must be {NODE_ID_BYTES_MAX} characters or less");
        errors.push(Error::invalid(&path.child("nodeID"), id, detail));
    }
    if let Some(count) =
        child(driver, "allocatable").and_then(|allocatable| maybe_integer(allocatable, "count"))
    {
        nonnegative(&path.child("allocatable.count"), count, errors);
    }
    if !names.insert(name) {
        errors.push(Error::duplicate(&path.child("name"), name));
    }
    let mut keys = BTreeSet::new();
    for key in texts(driver, "topologyKeys") {
        if key.is_empty() {
            errors.push(Error::required(path, ""));
        }
        if !keys.insert(key) {
            errors.push(Error::duplicate(path, key));
        }
        qualified_name(path, key, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn node(drivers: &Value) -> Object {
        let object = json!({"metadata": {"name": "n", "resourceVersion": "1"}, "spec": {"drivers": drivers}});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(drivers: Value, expected: &[&str]) {
        let errors = create(&node(&drivers));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{drivers}");
    }

    #[test]
    fn drivers_are_unique_and_have_node_ids() {
        check(json!([{"name": "a", "nodeID": "x", "topologyKeys": ["k"]}]), &[]);
        check(
            json!([{"name": "a", "nodeID": "x"}, {"name": "a"}]),
            &["spec.drivers[1].nodeID", "spec.drivers[1].name"],
        );
        let bad = json!([{"name": "", "nodeID": "x".repeat(257), "allocatable": {"count": -1}, "topologyKeys": ["k", "k"]}]);
        let path = |step: &str| format!("spec.drivers[0]{step}");
        check(bad, &[&path(".name"), &path(".nodeID"), &path(".allocatable.count"), &path("")]);
    }

    #[test]
    fn drivers_are_immutable_except_for_allocatable() {
        let with = |id: &str, count: i64| {
            node(&json!([{"name": "a", "nodeID": id, "allocatable": {"count": count}}]))
        };
        assert_eq!(update("", &with("x", 1), &with("x", 2)), ErrorList::new());
        let errors = update("", &with("y", 1), &with("x", 1));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["spec.drivers"]);
    }
}
