//! Strictness of the validation of a CRD: all rules for a new definition, and for an update those that the
//! old definition does not break.

use super::rules::Stored;
use super::subschemas::{any_in_spec, roots, schema_in, strings};
use super::validation_rules::ValidationRules;
use super::webhook::{ca_bundle_error, has_known_review_version};
use super::{defaults, extensions, schema, structural};
use crate::validation::expression::Releases;
use ::schema::object::Object;
use api::tree::{child, children, list, text};

impl<'o> ValidationRules<'o> {
    /// Strictness for a definition with the old spec `old`.
    pub(super) fn after(old: &'o Object, established: bool, releases: Releases, stored: &'o Stored) -> Self {
        let conversion = child(old, "conversion");
        let is_supported =
            |conversion| has_known_review_version(strings(conversion, "conversionReviewVersions"));
        let none = |conversion: &Object| list(conversion, "conversionReviewVersions").is_empty();
        let has_schemas = schema_in(old, "validation").is_some()
            || children(old, "versions").all(|version| schema_in(version, "schema").is_some());
        let old_bundle = conversion
            .and_then(|conversion| child(conversion, "webhookClientConfig"))
            .map(|config| text(config, "caBundle"));
        Self {
            known_review_version: conversion
                .is_none_or(|conversion| none(conversion) || is_supported(conversion)),
            schemas: has_schemas,
            types: !any_in_spec(old, &schema::has_unknown_type),
            structural: roots(old).all(structural::is_structural),
            pruned_defaults: !any_in_spec(old, &defaults::has_unpruned),
            atomic_sets: !any_in_spec(old, &|schema| extensions::set_item_error(schema).is_some()),
            map_keys: !any_in_spec(old, &extensions::has_bad_items),
            bundle: established
                && old_bundle.is_none_or(|bundle| bundle.is_empty() || ca_bundle_error(bundle).is_none()),
            old: Some(old),
            new: None,
            releases,
            stored,
        }
    }
}
