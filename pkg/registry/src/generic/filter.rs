//! What a request's selectors narrow: the keys it is about and the elements it wants.

use api::options::ListOptions;
use apimachinery::{fields, labels};
use cacher::{Field, FieldTerm, Predicate, Scope};

use super::{StoredResource, Target};

/// The keys and elements that a request on a collection is about.
pub(super) struct Selection {
    /// Which keys.
    pub(super) scope: Scope,
    /// Which elements.
    pub(super) predicate: Predicate,
}

/// Reads the selectors of a request. A `metadata.namespace` selector narrows a request across all
/// namespaces; a `metadata.name` selector makes it one about a single key, unless `continued`.
pub(super) fn of(
    target: &Target<'_>,
    stored: &StoredResource,
    options: &ListOptions,
    continued: bool,
) -> Selection {
    let namespace = namespace_of(target, options);
    let mut prefix = stored.key_prefix(namespace);
    let keyed = !continued && (!target.row.namespaced || !namespace.is_empty());
    let name = name_of(options).filter(|_| keyed);
    prefix.push_str(name.unwrap_or(""));
    let scope = Scope { prefix, exact: name.is_some() };
    Selection { scope, predicate: predicate(target, stored, options) }
}

/// The name that the options ask for, if they ask for exactly one.
fn name_of(options: &ListOptions) -> Option<&str> {
    let name = options.field_selector.requires_exact_match("metadata.name")?;
    is_path_segment(name).then_some(name)
}

fn namespace_of<'t>(target: &Target<'t>, options: &'t ListOptions) -> &'t str {
    if !target.row.namespaced {
        return "";
    }
    if !target.namespace.is_empty() {
        return target.namespace;
    }
    let selected = options.field_selector.requires_exact_match("metadata.namespace");
    selected.filter(|name| is_path_segment(name)).unwrap_or("")
}

fn is_path_segment(name: &str) -> bool {
    !name.is_empty() && apimachinery::names::name_is_path_segment(name, false).is_empty()
}

fn predicate(target: &Target<'_>, stored: &StoredResource, options: &ListOptions) -> Predicate {
    let mut predicate = Predicate { labels: options.label_selector.clone(), fields: Vec::new() };
    for term in options.field_selector.requirements() {
        match field(target, stored, &term.field) {
            Some(field) => predicate.fields.push(FieldTerm {
                field,
                equal: term.operator == fields::Operator::Equals,
                value: term.value.clone(),
            }),
            // What an object does not have is empty.
            None if (term.operator == fields::Operator::Equals) == term.value.is_empty() => {}
            None => predicate.labels = labels::Selector::nothing(),
        }
    }
    predicate
}

/// What a (converted) field label selects by.
fn field(target: &Target<'_>, stored: &StoredResource, label: &str) -> Option<Field> {
    match label {
        "metadata.name" => Some(Field::Name),
        "metadata.namespace" => target.row.namespaced.then_some(Field::Namespace),
        _ => {
            let selectors = target.row.field_selectors;
            let (_, path) = selectors.iter().find(|(from, to)| *from == label || *to == label)?;
            stored.fields.position(path).map(Field::Header)
        }
    }
}
