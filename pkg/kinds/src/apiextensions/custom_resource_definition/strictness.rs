//! Which rules hold: all for a new definition; for one that is there, those that it does not break.

use super::rules::Stored;
use super::subschemas::{any_in_spec, roots, schema_in, strings};
use super::webhook::{bundle_problem, has_known_review_version};
use super::{defaults, extensions, schema, structural};
use crate::validation::expression::Releases;
use ::schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_CUSTOMRESOURCEDEFINITIONVERSION as VERSION;
use ::schema::object::Object;
use api::semantic::equal_members;
use api::tree::{child, children, list, text};

/// How many fields of a version clients may select by.
pub(super) const SELECTABLE_FIELDS_MAX: usize = 8;

/// Which rules hold.
#[derive(Clone, Copy)]
pub(super) struct Strictness<'o> {
    /// A webhook must understand a version of conversion reviews that servers send.
    pub known_review_version: bool,
    /// Each version must have a schema.
    pub schemas: bool,
    /// Types must be those of OpenAPI.
    pub types: bool,
    /// Schemas must be structural.
    pub structural: bool,
    /// Defaults must not have fields that would be pruned.
    pub pruned_defaults: bool,
    /// The items of a set must be atomic.
    pub atomic_sets: bool,
    /// The keys of lists of type map must be there and must not be null.
    pub map_keys: bool,
    /// The certificates of a webhook must be readable.
    pub bundle: bool,
    /// The spec before, of an update.
    pub old: Option<&'o Object>,
    /// The spec that is validated.
    pub new: Option<&'o Object>,
    /// The releases whose environments expressions are compiled in.
    pub releases: Releases,
    /// The expressions of the spec before.
    pub stored: &'o Stored,
}

impl<'o> Strictness<'o> {
    /// Of a new definition. Nothing uses its webhook before it is established.
    pub(super) fn full(releases: Releases, stored: &'o Stored) -> Self {
        Self {
            known_review_version: true,
            schemas: true,
            types: true,
            structural: true,
            pruned_defaults: true,
            atomic_sets: true,
            map_keys: true,
            bundle: false,
            old: None,
            new: None,
            releases,
            stored,
        }
    }

    /// Of a definition whose spec was `old`.
    pub(super) fn after(old: &'o Object, established: bool, releases: Releases, stored: &'o Stored) -> Self {
        let conversion = child(old, "conversion");
        let known = |conversion| has_known_review_version(strings(conversion, "conversionReviewVersions"));
        let none = |conversion: &Object| list(conversion, "conversionReviewVersions").is_empty();
        let has_schemas = schema_in(old, "validation").is_some()
            || children(old, "versions").all(|version| schema_in(version, "schema").is_some());
        let old_bundle =
            conversion.and_then(|it| child(it, "webhookClientConfig")).map(|it| text(it, "caBundle"));
        Self {
            known_review_version: conversion.is_none_or(|it| none(it) || known(it)),
            schemas: has_schemas,
            types: !any_in_spec(old, &schema::has_unknown_type),
            structural: roots(old).all(structural::is_structural),
            pruned_defaults: !any_in_spec(old, &defaults::has_unpruned),
            atomic_sets: !any_in_spec(old, &|schema| extensions::set_item_error(schema).is_some()),
            map_keys: !any_in_spec(old, &extensions::has_bad_items),
            bundle: established && old_bundle.is_none_or(|it| it.is_empty() || bundle_problem(it).is_none()),
            old: Some(old),
            new: None,
            releases,
            stored,
        }
    }

    /// Whether a version has the schema that it had before.
    pub(super) fn is_schema_unchanged(&self, version: &str) -> bool {
        let (Some(new), Some(old)) = (self.new, self.old) else { return false };
        match (schema_for(new, version), schema_for(old, version)) {
            (Some(new), Some(old)) => new == old,
            _ => false,
        }
    }

    /// Whether a version, or with no name what all share, may have too many selectable fields because
    /// it has had the same before.
    pub(super) fn may_select_too_many(&self, version: &str, holder: &Object) -> bool {
        let Some(old) = self.old else { return false };
        let old = match version {
            "" => Some(old),
            // The last of that name counts.
            name => children(old, "versions").filter(|version| text(version, "name") == name).last(),
        };
        let (Some(old), Some(field)) = (old, VERSION.member("selectableFields")) else { return false };
        list(old, "selectableFields").len() > SELECTABLE_FIELDS_MAX
            && equal_members(field, old.get("selectableFields"), holder.get("selectableFields"))
    }
}

/// What holds the schema of a version, its own or that of all; none if the spec does not say clearly which.
fn schema_for<'o>(spec: &'o Object, version: &str) -> Option<Option<&'o Object>> {
    let shared = child(spec, "validation");
    if !children(spec, "versions").any(|version| child(version, "schema").is_some()) {
        return Some(shared);
    }
    let found = children(spec, "versions").find(|found| text(found, "name") == version)?;
    shared.is_none().then(|| child(found, "schema"))
}
