//! Selectors over stored values: labels and selectable fields are read straight from the stored
//! protobuf; only kinds that are stored as JSON are decoded.

use std::sync::Arc;

use api::options::ListOptions;
use api::resources::{Encoding, Resource, Storage as StorageRow};
use apimachinery::fields;
use cacher::Filter;
use schema::object::Object;
use schema::proto::meta::Header;
use schema::proto::{self, Envelope, ScalarRef};
use serde_json::Value;
use storage::KeyValue;

use super::Target;
use crate::{Stored, codec};

/// The name that the options ask for, if they ask for exactly one.
pub(super) fn name_of(options: &ListOptions) -> Option<&str> {
    let name = options.field_selector.requires_exact_match("metadata.name")?;
    is_path_segment(name).then_some(name)
}

/// The namespace of the request; a `metadata.namespace` selector narrows a request across all of them.
pub(super) fn namespace_of(target: &Target<'_>, options: &ListOptions) -> String {
    if !target.namespace.is_empty() || !target.row.namespaced {
        return if target.row.namespaced { target.namespace.to_owned() } else { String::new() };
    }
    let selected = options.field_selector.requires_exact_match("metadata.namespace");
    selected.filter(|n| is_path_segment(n)).unwrap_or("").to_owned()
}

fn is_path_segment(name: &str) -> bool {
    !name.is_empty() && apimachinery::names::name_is_path_segment(name, false).is_empty()
}

/// The filter for a request's selectors; `None` when everything matches.
pub(super) fn of(row: &'static Resource, options: &ListOptions) -> Option<Filter> {
    if options.label_selector.is_empty() && options.field_selector.is_empty() {
        return None;
    }
    let storage = row.storage.as_ref()?;
    let (labels, fields) = (options.label_selector.clone(), options.field_selector.clone());
    Some(Arc::new(move |kv: &KeyValue| {
        let view = View::of(row, storage, kv)?;
        Ok(view.matches_labels(&labels) && view.matches_fields(&fields))
    }))
}

/// A stored object as selectors see it.
enum View<'v> {
    /// The message inside a canonical envelope.
    Raw(&'static Resource, &'v StorageRow, &'v [u8]),
    /// Anything else, decoded.
    Tree(&'static Resource, Object),
}

impl<'v> View<'v> {
    fn of(row: &'static Resource, storage: &'v StorageRow, kv: &'v KeyValue) -> Result<Self, String> {
        if storage.encoding == Encoding::Protobuf && Envelope::recognizes(&kv.value) {
            let envelope = Envelope::parse(&kv.value).map_err(|e| e.to_string())?;
            if envelope.api_version == storage.group_version {
                return Ok(View::Raw(row, storage, envelope.raw));
            }
        }
        let stored = Stored { key: kv.key.clone(), value: kv.value.clone(), revision: kv.mod_revision };
        Ok(View::Tree(row, codec::decode(storage, &stored)?))
    }

    fn matches_labels(&self, selector: &apimachinery::labels::Selector) -> bool {
        if selector.is_empty() {
            return true;
        }
        match self {
            View::Raw(_, _, raw) => {
                Header::parse(raw).is_ok_and(|header| selector.matches(|key| header.label(key)))
            }
            View::Tree(_, object) => {
                let labels =
                    crate::meta::metadata(object).and_then(|m| m.get("labels")).and_then(Value::as_object);
                selector.matches(|key| labels?.get(key)?.as_str())
            }
        }
    }

    fn matches_fields(&self, selector: &fields::Selector) -> bool {
        selector.requirements().iter().all(|term| {
            let value = self.field(&term.field);
            match term.operator {
                fields::Operator::Equals => value == term.value,
                fields::Operator::NotEquals => value != term.value,
            }
        })
    }

    /// The value of a selectable field by its (converted) label; empty when absent.
    fn field(&self, label: &str) -> String {
        let path = selectable_path(self.row(), label);
        match self {
            View::Raw(_, storage, raw) => scalar_text(proto::field_at(raw, storage.message, &path)),
            View::Tree(_, object) => tree_text(object, &path),
        }
    }

    fn row(&self) -> &'static Resource {
        match self {
            View::Raw(row, ..) | View::Tree(row, _) => row,
        }
    }
}

/// Where a selectable field is in the stored object. Rows name paths of upstream's internal objects;
/// where storage spells them differently, the difference is here.
fn selectable_path(row: &Resource, label: &str) -> Vec<&'static str> {
    let path = row
        .field_selectors
        .iter()
        .find(|(from, to)| *from == label || *to == label)
        .map_or("", |(_, to)| *to);
    match (row.plural, path) {
        ("pods", "status.podIP" | "status.podIPs") => vec!["status", "podIPs", "ip"],
        ("events", "source") => vec!["source", "component"],
        _ => path.split('.').collect(),
    }
}

fn tree_text(object: &Object, path: &[&str]) -> String {
    let mut names = path.iter();
    let Some(first) = names.next().and_then(|name| object.get(*name)) else { return String::new() };
    let found = names.try_fold(first, |at, name| match at {
        Value::Array(items) => items.first()?.get(*name),
        other => other.get(*name),
    });
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn scalar_text(value: Option<ScalarRef<'_>>) -> String {
    match value {
        Some(ScalarRef::Str(text)) => text.to_owned(),
        Some(ScalarRef::Bool(flag)) => flag.to_string(),
        Some(ScalarRef::Int(number)) => number.to_string(),
        _ => String::new(),
    }
}
