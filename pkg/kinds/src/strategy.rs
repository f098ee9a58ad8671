//! Kind-specific behaviour of the verbs. A kind with behaviour of its own implements [`Strategy`]; its descriptor
//! ([`Kind`](crate::kind::Kind)) names it, together with reset fields, generation rules and name rules.

pub(crate) mod gated;
pub(crate) mod hooks;
mod scale;
pub mod service_fields;

use crate::builtin::kind_of;
use crate::declarative;
use crate::kind::Generation;
use crate::validation::kinds;
use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use api::conversion::convert;
use api::options::DeleteOptions;
use api::resources::Resource;
use api::semantic::equal_members;
use hooks::{Common, restore, restore_metadata};

use apimachinery::field::{self, Path};
use apimachinery::time::UnixTime;
use component_base::features::Gates;
use jsontree::Value;
use schema::object::Object;

use api::meta;

pub use crate::core::pod::strategy::conditions as pod_conditions;
pub use gated::shared::drop_init_containers;
pub use hooks::{Context, Entropy, SpecialDelete, Strategy};
pub use scale::{NO_REPLICAS, apply_scale, missing_replicas, scale_of, validate_scale};

fn of(row: &Resource) -> &'static dyn Strategy {
    kind_of(row).map_or(&Common, |kind| kind.strategy)
}

/// Fields that an update through an endpoint takes from the old object (upstream's `PrepareForUpdate`). Rows
/// contain the fields that upstream declares (`GetResetFields`); the difference is listed here.
fn reset_paths<'a>(endpoint: &Resource<'a>, gates: &Gates) -> &'a [&'a str] {
    if endpoint.reset_gate.is_some_and(|gate| !gates.enabled(gate)) {
        return &[];
    }
    let resets = kind_of(endpoint).map_or(&[][..], |kind| kind.rare_properties.resets);
    let of_subresource = resets.iter().find(|(subresource, _)| *subresource == endpoint.subresource);
    of_subresource.map_or(endpoint.reset_fields, |(_, paths)| paths)
}

/// True if the status is kept on create: kubelets create their nodes with it, and pods use it once.
fn keeps_initial_status(row: &Resource) -> bool {
    kind_of(row).is_some_and(|kind| kind.rare_properties.initial_status)
}

/// Prepares an object before it is created.
pub fn prepare_for_create(row: &Resource, object: &mut Object, context: &Context<'_>) {
    if !keeps_initial_status(row) {
        for path in reset_paths(row, context.gates()).iter().filter(|path| path.starts_with(".status")) {
            restore(object, None, path);
        }
    }
    if row.sets_generation && generation_is_enabled(row, context.gates()) {
        meta::set_generation(object, 1);
    }
    gated::drop_unused(row, "", object, None, context.gates());
    of(row).prepare_for_create(object, context);
}

/// False if the generation of the kind is behind a disabled gate.
fn generation_is_enabled(row: &Resource, gates: &Gates) -> bool {
    match kind_of(row).map(|kind| kind.rare_properties.generation) {
        Some(Generation::Gated(gate)) => gates.enabled(gate),
        _ => true,
    }
}

/// Validates an object before it is created.
pub fn validate(row: &Resource, object: &Object, context: &Context<'_>) -> field::ErrorList {
    let mut errors = kinds::validate(row, object, &context.validation_context());
    if errors.is_empty() {
        // Required of every kind, even without rules of its own.
        errors = validate_object_meta(object, row.namespaced, NameRule::PathSegment, &Path::root("metadata"));
    }
    with_declarative(row, object, None, context, errors)
}

/// Adds the errors of declarative rules to those of hand-written ones, which upstream reports only once then.
fn with_declarative(
    row: &Resource,
    new: &Object,
    old: Option<&Object>,
    context: &Context<'_>,
    mut errors: field::ErrorList,
) -> field::ErrorList {
    if errors.len() > 1 && has_declarative_strategy(row) {
        errors.remove_repeated();
    }
    let Some(storage) = &row.storage else { return errors };
    if row.message.name == storage.message.name {
        return declarative::validate(row.message, new, old, context.gates(), errors);
    }
    if !declarative::has_rules(row.message) {
        return errors;
    }
    // Errors have the paths of the request's version.
    let requested =
        |object: &Object| convert(object.clone(), storage.group_version, row.group_version, row.kind);
    let old = old.map(requested);
    declarative::validate(row.message, &requested(new), old.as_ref(), context.gates(), errors)
}

/// True for the kinds whose strategy runs declarative validation in upstream: all but CRDs, custom resources and
/// APIServices.
fn has_declarative_strategy(row: &Resource) -> bool {
    row.custom.is_none() && !matches!(row.group, "apiextensions.k8s.io" | "apiregistration.k8s.io")
}

/// Prepares an object before it replaces `old` through `endpoint` (the resource itself or a subresource).
/// Fields that the endpoint may not change are taken from `old`.
pub fn prepare_for_update(
    endpoint: &Resource,
    row: &Resource,
    new: &mut Object,
    old: &Object,
    context: &Context<'_>,
) {
    meta::set_generation(new, meta::generation(old));
    if row.message.open && endpoint.subresource == "status" {
        keep_all_but_status(new, old);
    } else {
        restore_paths(endpoint, new, old, context);
    }
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        inherit(new, old, name);
    }
    // For slices the requested changes count, for others the effective ones.
    let counts_first = kind_of(row).is_some_and(|kind| kind.rare_properties.counts_before_strategy);
    if counts_first {
        count_change(endpoint, row, new, old, context.gates());
    }
    gated::drop_unused(row, endpoint.subresource, new, Some(old), context.gates());
    of(row).prepare_for_update(endpoint.subresource, new, old, context);
    if !counts_first {
        count_change(endpoint, row, new, old, context.gates());
    }
}

/// Takes the fields that the endpoint does not change from `old`.
fn restore_paths(endpoint: &Resource, new: &mut Object, old: &Object, context: &Context<'_>) {
    for path in reset_paths(endpoint, context.gates()) {
        match *path {
            ".metadata" => restore_metadata(new, old),
            path => restore(new, Some(old), path),
        }
    }
}

/// Takes everything from `old` except the status and the managed fields, which describe this write. Custom resources may
/// have more members than metadata and spec.
fn keep_all_but_status(new: &mut Object, old: &Object) {
    let managers = meta::metadata_mut(new).remove("managedFields");
    new.retain(|name, _| name == "status");
    let old_members = old.iter().filter(|(name, _)| *name != "status");
    new.extend(old_members.map(|(name, value)| (name.clone(), value.clone())));
    meta::set(new, "managedFields", managers);
}

/// Increments the generation if the desired state changes.
fn count_change(endpoint: &Resource, row: &Resource, new: &mut Object, old: &Object, gates: &Gates) {
    let counts = match kind_of(row).map(|kind| kind.rare_properties.generation) {
        Some(Generation::FromFirstUpdate) => true,
        Some(Generation::Constant) => false,
        Some(Generation::OfResource | Generation::Gated(_)) | None => row.sets_generation,
    };
    if counts
        && generation_is_enabled(row, gates)
        && endpoint.subresource != "status"
        && desired_state_changed(row, new, old)
    {
        meta::set_generation(new, meta::generation(old) + 1);
    }
}

/// Takes a metadata field from `old`: the creation and deletion timestamps always, the others if the new
/// object has none. An empty text or null counts as none.
fn inherit(new: &mut Object, old: &Object, name: &str) {
    let Some(value) = meta::metadata(old).and_then(|m| m.get(name)) else { return };
    let always = matches!(name, "creationTimestamp" | "deletionTimestamp");
    let is_empty = |value: &Value| value.is_null() || value.as_str() == Some("");
    if always || meta::metadata(new).and_then(|m| m.get(name)).is_none_or(is_empty) {
        meta::set(new, name, Some(value.clone()));
    }
}

/// True if anything outside metadata and status differs. For deployments, annotations count too, because
/// `kubectl rollout` uses the generation after changing only those. For endpoint slices, labels count,
/// because they name the Service.
fn desired_state_changed(row: &Resource, new: &Object, old: &Object) -> bool {
    let Some(storage) = &row.storage else { return false };
    if storage.message.open {
        // A status without a subresource counts. With one, the old status has already been restored.
        let member_count = |object: &'_ Object| object.iter().filter(|(name, _)| *name != "metadata").count();
        let is_unchanged =
            |(name, value): (&jsontree::Key, &Value)| name == "metadata" || old.get(name) == Some(value);
        return member_count(new) != member_count(old) || !new.iter().all(is_unchanged);
    }
    let observed = |name: &str| matches!(name, "metadata" | "status");
    let desired = storage.message.members.iter().filter(|member| !observed(member.name));
    let differs = |name: &str| {
        let some = |map: &&Object| !map.is_empty();
        let of = |object| meta::metadata(object).and_then(|m| m.get(name)?.as_object()).filter(some);
        of(new) != of(old)
    };
    let metadata_changed =
        kind_of(row).and_then(|kind| kind.rare_properties.counted_metadata).is_some_and(differs);
    metadata_changed || desired.into_iter().any(|m| !equal_members(m.field, new.get(m.name), old.get(m.name)))
}

/// Validates an object before it replaces `old`. Adds the warnings of ratcheted rules to `warnings`.
pub fn validate_update(
    endpoint: &Resource,
    row: &Resource,
    new: &Object,
    old: &Object,
    context: &Context<'_>,
    warnings: &mut Vec<String>,
) -> field::ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(new, row.namespaced, NameRule::PathSegment, &path);
    errors.append(validate_object_meta_update(new, old, &path));
    let settings = context.validation_context();
    errors.append(kinds::validate_update(row, endpoint.subresource, new, old, &settings, warnings));
    with_declarative(row, new, Some(old), context, errors)
}

/// See [`Strategy::canonicalize`].
pub fn canonicalize(row: &Resource, object: &mut Object) {
    of(row).canonicalize(object);
}

/// True if an update completes a deletion: no finalizer and no grace period are left.
pub fn deletes_on_update(row: &Resource, new: &Object, old: &Object) -> bool {
    meta::finalizers(new).is_empty()
        && meta::is_deleting(old)
        && meta::integer(old, "deletionGracePeriodSeconds").unwrap_or(0) == 0
        && of(row).deletes_on_update(new)
}

/// See [`Strategy::grace_period`].
pub fn grace_period(row: &Resource, object: &Object, options: &DeleteOptions) -> Option<i64> {
    of(row).grace_period(object, options)
}

/// See [`Strategy::special_delete`].
pub fn special_delete(row: &Resource, object: &Object) -> Option<SpecialDelete> {
    of(row).special_delete(object)
}

/// See [`Strategy::begin_special_delete`].
pub fn begin_special_delete(row: &Resource, object: &mut Object, now: UnixTime) {
    of(row).begin_special_delete(object, now);
}

/// True for namespaces and CRDs, which check preconditions of a deletion before the common path does.
pub fn checks_preconditions_early(row: &Resource) -> bool {
    kind_of(row).is_some_and(|kind| kind.rare_properties.early_preconditions)
}

#[cfg(test)]
mod tests;
