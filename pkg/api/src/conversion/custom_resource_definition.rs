//! CustomResourceDefinitions: `v1`, the served version, and `v1beta1`, the stored one.
//!
//! `v1beta1` has top-level fields in the spec for settings that `v1` has in each version. A setting is
//! hoisted to the top if, and only if, it is the same in all versions.

use super::kind::{Conversion, NONE, Spoke};
use super::{json_text, move_member};
use crate::semantic;
use crate::tree::{child_mut, children, children_mut, flag, list, rename, text};
use jsontree::{Value, json};
use schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITIONVERSION as VERSION;
use schema::object::Object;
use schema::table::{Cardinality, Message, Shape, Type};

pub(super) static CONVERSION: Conversion =
    Conversion { spokes: &[Spoke::of("apiextensions.k8s.io/v1beta1", v1beta1_to_v1, v1_to_v1beta1)], ..NONE };

/// Field of a version in `v1`, and its name at the top of a `v1beta1` spec.
const COMMON_FIELDS: [(&str, &str); 4] = [
    ("subresources", "subresources"),
    ("schema", "validation"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
];

/// Converts to the stored form. Raw values in schemas (defaults, examples, enumerations) are rewritten in the
/// same way as by a decode and encode in upstream.
fn v1_to_v1beta1(definition: &mut Object) {
    let Some(spec) = child_mut(definition, "spec") else { return };
    for version in children_mut(spec, "versions") {
        canonicalise_raw_values(&VERSION, version);
    }
    let first = list(spec, "versions").first().and_then(Value::as_object);
    if let Some(name) = first.map(|version| text(version, "name").to_owned()) {
        spec.insert("version", Value::from(name));
        hoist(spec);
    }
    rename_column_paths(spec, "jsonPath", "JSONPath");
    let preserve = flag(spec, "preserveUnknownFields");
    spec.insert("preserveUnknownFields", Value::from(preserve));
    let Some(conversion) = child_mut(spec, "conversion") else { return };
    if let Some(Value::Object(mut webhook)) = conversion.remove("webhook") {
        move_member(&mut webhook, "clientConfig", conversion, "webhookClientConfig");
        move_member(&mut webhook, "conversionReviewVersions", conversion, "conversionReviewVersions");
    }
}

/// Converts to the served form.
fn v1beta1_to_v1(definition: &mut Object) {
    let Some(spec) = child_mut(definition, "spec") else { return };
    let version = spec.remove("version");
    if list(spec, "versions").is_empty()
        && let Some(name @ Value::String(_)) = version
    {
        spec.insert("versions", json!([{"name": name, "served": true, "storage": true}]));
    }
    for (of_version, of_spec) in COMMON_FIELDS {
        let Some(value) = spec.remove(of_spec).filter(|value| !value.is_null()) else { continue };
        for version in children_mut(spec, "versions") {
            version.insert(of_version.to_owned(), value.clone());
        }
    }
    rename_column_paths(spec, "JSONPath", "jsonPath");
    if !flag(spec, "preserveUnknownFields") {
        spec.remove("preserveUnknownFields");
    }
    let Some(conversion) = child_mut(spec, "conversion") else { return };
    let mut webhook = Object::new();
    move_member(conversion, "webhookClientConfig", &mut webhook, "clientConfig");
    move_member(conversion, "conversionReviewVersions", &mut webhook, "conversionReviewVersions");
    if !webhook.is_empty() {
        conversion.insert("webhook", Value::Object(webhook));
    }
}

/// Moves settings that are equal in all versions to the top of the spec.
fn hoist(spec: &mut Object) {
    for (of_version, of_spec) in COMMON_FIELDS {
        let Some(field) = VERSION.member(of_version) else { continue };
        let first = list(spec, "versions").first().and_then(|version| version.get(of_version)).cloned();
        let agrees =
            |version: &Object| semantic::equal_members(field, first.as_ref(), version.get(of_version));
        if !children(spec, "versions").all(agrees) {
            continue;
        }
        for version in children_mut(spec, "versions") {
            version.remove(of_version);
        }
        if let Some(value) = first {
            spec.insert(of_spec.to_owned(), value);
        }
    }
}

/// Renames the paths of printer columns, in the versions and at the top.
fn rename_column_paths(spec: &mut Object, from: &str, to: &str) {
    let columns = "additionalPrinterColumns";
    children_mut(spec, columns).for_each(|column| rename(column, from, to));
    for version in children_mut(spec, "versions") {
        children_mut(version, columns).for_each(|column| rename(column, from, to));
    }
}

fn canonicalise_raw_values(message: &Message, object: &mut Object) {
    for (name, value) in object.iter_mut() {
        let Some(field) = message.member(name) else { continue };
        let Type::Message(message) = field.ty else { continue };
        match (field.cardinality, value) {
            (Cardinality::Map, Value::Object(entries)) => {
                entries.values_mut().for_each(|value| canonicalise_raw_value(message, value));
            }
            (Cardinality::List, Value::Array(items)) => {
                items.iter_mut().for_each(|value| canonicalise_raw_value(message, value));
            }
            (Cardinality::One, value) => canonicalise_raw_value(message, value),
            _ => {}
        }
    }
}

fn canonicalise_raw_value(message: &Message, value: &mut Value) {
    match (message.shape, value) {
        (Shape::Json, Value::String(text)) => {
            if let Some(canonical) = json_text::canonical(text) {
                *text = canonical.into();
            }
        }
        (Shape::Struct, Value::Object(object)) => canonicalise_raw_values(message, object),
        (Shape::SchemaOrArray | Shape::SchemaOrBool | Shape::SchemaOrStringArray, value) => {
            let Some(schema) = semantic::schema_of(message) else { return };
            match value {
                Value::Object(object) => canonicalise_raw_values(schema, object),
                Value::Array(items) => items.iter_mut().for_each(|item| canonicalise_raw_value(schema, item)),
                _ => {}
            }
        }
        _ => {}
    }
}
