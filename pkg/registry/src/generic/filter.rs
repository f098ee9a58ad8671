//! Applies a request's selectors: restricts the keys and filters the elements.

use api::options::ListOptions;
use apimachinery::sharding::{ShardKey, Shards};
use apimachinery::{fields, labels};
use cacher::{Field, FieldTerm, Predicate, Scope, ShardTerm};

use super::{StoredResource, Target};

/// Keys and elements of a collection request.
pub(super) struct Selection {
    pub(super) scope: Scope,
    pub(super) predicate: Predicate,
}

/// Parses the selectors of a request. A `metadata.namespace` selector restricts a request across all
/// namespaces. A `metadata.name` selector makes it a request for a single key, unless `continued`.
pub(super) fn of(
    target: &Target<'_>,
    stored: &StoredResource,
    options: &ListOptions,
    continued: bool,
    shards: Option<Shards>,
) -> Selection {
    let namespace = namespace_of(target, options);
    let mut prefix = stored.key_prefix(namespace);
    let keyed = !continued && (!target.resource.namespaced || !namespace.is_empty());
    let name = name_of(options).filter(|_| keyed);
    prefix.push_str(name.unwrap_or(""));
    let scope = Scope { prefix, exact: name.is_some() };
    let shard = shards.map(|shards| ShardTerm { field: shard_field(target, stored, shards.key()), shards });
    let shard = shard.map(Box::new);
    Selection { scope, predicate: Predicate { shard, ..predicate(target, stored, options) } }
}

fn shard_field(target: &Target<'_>, stored: &StoredResource, key: ShardKey) -> Option<Field> {
    match key {
        ShardKey::Uid => Some(Field::Header(stored.fields.uid_position())),
        ShardKey::Namespace => target.resource.namespaced.then_some(Field::Namespace),
    }
}

/// Returns the name in the options, if they select exactly one.
fn name_of(options: &ListOptions) -> Option<&str> {
    let name = options.field_selector.requires_exact_match("metadata.name")?;
    is_path_segment(name).then_some(name)
}

fn namespace_of<'t>(target: &Target<'t>, options: &'t ListOptions) -> &'t str {
    if !target.resource.namespaced {
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
    let mut labels = options.label_selector.clone();
    let mut terms = Vec::new();
    for term in options.field_selector.requirements() {
        match field(target, stored, &term.field) {
            Some(field) => terms.push(FieldTerm {
                field,
                equal: term.operator == fields::Operator::Equals,
                value: term.value.clone(),
            }),
            // A missing field counts as empty.
            None if (term.operator == fields::Operator::Equals) == term.value.is_empty() => {}
            None => labels = labels::Selector::nothing(),
        }
    }
    Predicate { labels, fields: terms.into_iter().collect(), shard: None }
}

fn field(target: &Target<'_>, stored: &StoredResource, label: &str) -> Option<Field> {
    match label {
        "metadata.name" => Some(Field::Name),
        "metadata.namespace" => target.resource.namespaced.then_some(Field::Namespace),
        _ => {
            let selectors = target.resource.field_selectors;
            let (_, path) = selectors.iter().find(|(from, to)| *from == label || *to == label)?;
            stored.fields.position(path).map(Field::Header)
        }
    }
}
