//! Metrics of an autoscaler: each has one source, of the declared type.

use super::{ApiVersion, reference, segment};
use crate::validation::resource_name::container_resource;
use crate::validation::resources::quantity;
use crate::validation::value::{dns_label, supported_value};
use api::tree::{child, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;
use std::cmp::Ordering;

const TYPES: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Source members in upstream's order, with their types.
const SOURCES: &[(&str, &str)] = &[
    ("object", "Object"),
    ("external", "External"),
    ("pods", "Pods"),
    ("resource", "Resource"),
    ("containerResource", "ContainerResource"),
];

const VALUE_OR_UTILIZATION: &str = "must set either a target raw value or a target utilization";
const VALUE_AND_UTILIZATION: &str = "may not set both a target raw value and a target utilization";

/// Validates a metric. `path` is that of the metric; `version` is the rule for references.
pub(super) fn metric(path: &Path<'_>, metric: &Object, version: ApiVersion, errors: &mut ErrorList) {
    let kind = text(metric, "type");
    let type_path = path.child("type");
    if kind.is_empty() {
        errors.push(Error::required(&type_path, "must specify a metric source type"));
    }
    supported_value(&type_path, kind, TYPES, errors);
    let mut present: Vec<&str> =
        SOURCES.iter().map(|(member, _)| *member).filter(|member| metric.contains_key(*member)).collect();
    if let Some((member, source)) = present.first().and_then(|member| Some((*member, child(metric, member)?)))
    {
        source_of(member, source, &path.child(member), version, errors);
    }
    match SOURCES.iter().find(|(_, of)| *of == kind) {
        Some((member, _)) if !metric.contains_key(*member) => {
            let detail = "must populate information for the given metric source";
            errors.push(Error::required(&path.child(member), detail));
        }
        Some(_) => {}
        // Upstream reports this twice.
        None => supported_value(&type_path, kind, TYPES, errors),
    }
    if present.len() != 1 {
        present.sort_unstable();
        let others = present.iter().filter(|member| !SOURCES.contains(&(member, kind)));
        let detail = "must populate the given metric source only";
        errors.extend(others.map(|member| Error::forbidden(&path.child(member), detail)));
    }
}

fn source_of(member: &str, source: &Object, path: &Path<'_>, version: ApiVersion, errors: &mut ErrorList) {
    let empty = Object::new();
    let target = child(source, "target").unwrap_or(&empty);
    let target_path = path.child("target");
    let is_set = |member: &str| target.contains_key(member);
    match member {
        "object" => {
            let object = child(source, "describedObject").unwrap_or(&empty);
            reference(&path.child("describedObject"), object, version, errors);
            identifier(path, source, errors);
            metric_target(&target_path, target, errors);
            if !is_set("value") && !is_set("averageValue") {
                let detail = "must set either a target value or averageValue";
                errors.push(Error::required(&target_path.child("averageValue"), detail));
            }
        }
        "external" => {
            identifier(path, source, errors);
            metric_target(&target_path, target, errors);
            if !is_set("value") && !is_set("averageValue") {
                let detail = "must set either a target value for metric or a per-pod target";
                errors.push(Error::required(&target_path.child("averageValue"), detail));
            }
            if is_set("value") && is_set("averageValue") {
                let detail = "may not set both a target value for metric and a per-pod target";
                errors.push(Error::forbidden(&target_path.child("value"), detail));
            }
        }
        "pods" => {
            identifier(path, source, errors);
            metric_target(&target_path, target, errors);
            if !is_set("averageValue") {
                let detail = "must specify a positive target averageValue";
                errors.push(Error::required(&target_path.child("averageValue"), detail));
            }
        }
        _ => resource(member, source, path, errors),
    }
}

/// Validates a source for a resource of pods or of one of their containers.
fn resource(member: &str, source: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let empty = Object::new();
    let of_container = member == "containerResource";
    let name = text(source, "name");
    let name_path = path.child("name");
    if name.is_empty() {
        errors.push(Error::required(&name_path, "must specify a resource name"));
    } else if of_container {
        container_resource(&name_path, name, errors);
    }
    if of_container {
        let path = path.child("container");
        match text(source, "container") {
            "" => errors.push(Error::required(&path, "must specify a container")),
            container => dns_label(&path, container, errors),
        }
    }
    let target = child(source, "target").unwrap_or(&empty);
    let path = path.child("target");
    metric_target(&path, target, errors);
    match (target.contains_key("averageUtilization"), target.contains_key("averageValue")) {
        (false, false) => {
            errors.push(Error::required(&path.child("averageUtilization"), VALUE_OR_UTILIZATION))
        }
        (true, true) => errors.push(Error::forbidden(&path.child("averageValue"), VALUE_AND_UTILIZATION)),
        _ => {}
    }
}

fn identifier(path: &Path<'_>, source: &Object, errors: &mut ErrorList) {
    let name = child(source, "metric").map_or("", |metric| text(metric, "name"));
    segment(&path.child("metric.name"), name, "must specify a metric name", errors);
}

fn metric_target(path: &Path<'_>, target: &Object, errors: &mut ErrorList) {
    let kind = text(target, "type");
    let type_path = path.child("type");
    if kind.is_empty() {
        errors.push(Error::required(&type_path, "must specify a metric target type"));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let detail = "must be either Utilization, Value, or AverageValue";
        errors.push(Error::invalid(&type_path, BadValue::json_text(kind), detail));
    }
    for member in ["value", "averageValue"] {
        let Some(value) = target.get(member) else { continue };
        let value = quantity(Some(value));
        if value.sign() != Ordering::Greater {
            errors.push(Error::invalid(&path.child(member), value.to_string(), "must be positive"));
        }
    }
    if let Some(percent) = maybe_integer(target, "averageUtilization").filter(|percent| *percent < 1) {
        errors.push(Error::invalid(&path.child("averageUtilization"), percent, "must be greater than 0"));
    }
}
