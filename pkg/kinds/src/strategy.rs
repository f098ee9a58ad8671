//! Kind-specific behaviour of the verbs. A kind with behaviour of its own implements [`Strategy`]; its descriptor
//! ([`Kind`](crate::kind::Kind)) names it, together with reset fields, generation rules and name rules.

pub(crate) mod daemon_set;
pub(crate) mod endpoint_slice;
pub(crate) mod gated;
pub(crate) mod job;
pub(crate) mod namespace;
pub(crate) mod persistent_volume;
pub(crate) mod persistent_volume_claim;
pub(crate) mod pod;
pub(crate) mod resource_claim;
mod scale;
pub(crate) mod service;
pub mod service_fields;
pub(crate) mod signing_request;
pub(crate) mod small;

use crate::kind::{Generation, Kind};
use crate::validation::kinds::{self, Settings};
use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use api::options::DeleteOptions;
use api::resources::Resource;
use api::semantic::equal_members;

use apimachinery::field::{self, Path};
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use component_base::features::Gates;
use jsontree::Value;
use schema::object::Object;

use api::meta;

pub use pod::conditions as pod_conditions;
pub use scale::{NO_REPLICAS, apply_scale, missing_replicas, scale_of, validate_scale};

/// Source of uids and generated names.
pub trait Entropy: Send + Sync {
    /// Returns a new random uid (UUID version 4, lower case).
    fn uid(&self) -> String;
    /// Returns a uniformly distributed number.
    fn number(&self) -> u32;
}

#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub user: &'a UserInfo,
    pub now: UnixTime,
    /// Randomness for kinds with generated names.
    pub entropy: &'a dyn Entropy,
    pub settings: Settings,
    /// A new object's labels are those of its pod template, and a label that one gets the other has too
    /// ([`crate::defaults::shares_labels`]).
    pub shares_labels: bool,
}

impl Context<'_> {
    /// Time of the write for object fields, in whole seconds.
    fn timestamp(&self) -> Value {
        Value::from(UnixTime { nanos: 0, ..self.now }.rfc3339().to_string())
    }

    fn gates(&self) -> &Gates {
        &self.settings.gates
    }

    /// Input of the validation.
    fn given(&self) -> kinds::ValidationContext {
        kinds::ValidationContext { settings: self.settings, now: self.now }
    }
}

/// Kind-specific hooks. Every default is the behaviour of most kinds.
pub trait Strategy: Sync {
    /// Changes an object before it is created, after system metadata were set and read-only fields were
    /// cleared.
    fn prepare_for_create(&self, _object: &mut Object, _context: &Context<'_>) {}

    /// Changes an object before it replaces `old` through a subresource (empty for the resource itself),
    /// after the endpoint's reset fields were restored.
    fn prepare_for_update(&self, _: &str, _new: &mut Object, _old: &Object, _context: &Context<'_>) {}

    /// Returns the grace period of a deletion in seconds, or `None` for kinds without graceful deletion.
    /// Never negative.
    fn grace_period(&self, _object: &Object, _options: &DeleteOptions) -> Option<i64> {
        None
    }

    /// True if an update that removes the last finalizer of a terminating object deletes it.
    fn deletes_on_update(&self, _new: &Object) -> bool {
        true
    }

    /// Returns the next step of a deletion that differs from the common one, if any.
    fn special_delete(&self, _object: &Object) -> Option<SpecialDelete> {
        None
    }

    /// Changes an object at the start of such a deletion.
    fn begin_special_delete(&self, _object: &mut Object, _now: UnixTime) {}
}

/// Step of a kind-specific deletion.
pub enum SpecialDelete {
    /// Marks the object, which remains.
    Begin,
    /// Leaves the object unchanged, because it is already terminating.
    Leave,
}

pub(crate) struct Common;

impl Strategy for Common {}

fn of(row: &Resource) -> &'static dyn Strategy {
    Kind::of(row).map_or(&Common, |kind| kind.strategy)
}

/// Fields that an update through an endpoint takes from the old object (upstream's `PrepareForUpdate`). Rows
/// contain the fields that upstream declares (`GetResetFields`); the difference is listed here.
fn reset_paths<'a>(endpoint: &Resource<'a>) -> &'a [&'a str] {
    let resets = Kind::of(endpoint).map_or(&[][..], |kind| kind.resets);
    let own = resets.iter().find(|(subresource, _)| *subresource == endpoint.subresource);
    own.map_or(endpoint.reset_fields, |(_, paths)| paths)
}

/// True if the status is kept on create: kubelets create their nodes with it, and pods use it once.
fn keeps_initial_status(row: &Resource) -> bool {
    Kind::of(row).is_some_and(|kind| kind.initial_status)
}

/// Prepares an object before it is created.
pub fn prepare_for_create(row: &Resource, object: &mut Object, context: &Context<'_>) {
    if !keeps_initial_status(row) {
        for path in reset_paths(row).iter().filter(|path| path.starts_with(".status")) {
            restore(object, None, path);
        }
    }
    if row.sets_generation {
        meta::set_generation(object, 1);
    }
    gated::drop_unused(row, "", object, None, context.gates());
    of(row).prepare_for_create(object, context);
}

/// Validates an object before it is created.
pub fn validate(row: &Resource, object: &Object, context: &Context<'_>) -> field::ErrorList {
    let errors = kinds::validate(row, object, &context.given());
    if errors.is_empty() {
        // Required of every kind, even without rules of its own.
        validate_object_meta(object, row.namespaced, NameRule::PathSegment, &Path::root("metadata"))
    } else {
        errors
    }
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
    }
    for path in reset_paths(endpoint) {
        match *path {
            ".metadata" => restore_metadata(new, old),
            path => restore(new, Some(old), path),
        }
    }
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        inherit(new, old, name);
    }
    // For slices the requested changes count, for others the effective ones.
    let counts_first = Kind::of(row).is_some_and(|kind| kind.counts_first);
    if counts_first {
        count_change(endpoint, row, new, old);
    }
    gated::drop_unused(row, endpoint.subresource, new, Some(old), context.gates());
    of(row).prepare_for_update(endpoint.subresource, new, old, context);
    if !counts_first {
        count_change(endpoint, row, new, old);
    }
}

/// Takes everything except the status from `old`. Custom resources may have more members than metadata and
/// spec.
fn keep_all_but_status(new: &mut Object, old: &Object) {
    let of_new = |name: &str| matches!(name, "status" | "metadata");
    new.retain(|name, _| of_new(name));
    let kept = old.iter().filter(|(name, _)| !of_new(name));
    new.extend(kept.map(|(name, value)| (name.clone(), value.clone())));
}

/// Increments the generation if the desired state changes.
fn count_change(endpoint: &Resource, row: &Resource, new: &mut Object, old: &Object) {
    let counts = match Kind::of(row).map(|kind| kind.generation) {
        Some(Generation::Counted) => true,
        Some(Generation::Constant) => false,
        Some(Generation::OfResource) | None => row.sets_generation,
    };
    if counts && endpoint.subresource != "status" && desired_state_changed(row, new, old) {
        meta::set_generation(new, meta::generation(old) + 1);
    }
}

/// Takes metadata from `old`, except managed fields, which describe this write.
fn restore_metadata(new: &mut Object, old: &Object) {
    let managers = meta::metadata_mut(new).remove("managedFields");
    restore(new, Some(old), ".metadata");
    meta::set(new, "managedFields", managers);
}

/// Takes a metadata field from `old`: the creation and deletion timestamps always, the others if the new
/// object has none.
fn inherit(new: &mut Object, old: &Object, name: &str) {
    let Some(value) = meta::metadata(old).and_then(|m| m.get(name)) else { return };
    let always = matches!(name, "creationTimestamp" | "deletionTimestamp");
    if always || !meta::metadata(new).is_some_and(|m| m.contains_key(name)) {
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
        let counted = |object: &'_ Object| object.iter().filter(|(name, _)| *name != "metadata").count();
        let same =
            |(name, value): (&jsontree::Key, &Value)| name == "metadata" || old.get(name) == Some(value);
        return counted(new) != counted(old) || !new.iter().all(same);
    }
    let observed = |name: &str| matches!(name, "metadata" | "status");
    let desired = storage.message.members.iter().filter(|member| !observed(member.name));
    let differs = |name: &str| {
        let some = |map: &&Object| !map.is_empty();
        let of = |object| meta::metadata(object).and_then(|m| m.get(name)?.as_object()).filter(some);
        of(new) != of(old)
    };
    let counted = Kind::of(row).and_then(|kind| kind.counted_metadata).is_some_and(differs);
    counted || desired.into_iter().any(|m| !equal_members(m.field, new.get(m.name), old.get(m.name)))
}

/// Validates an object before it replaces `old`.
pub fn validate_update(
    endpoint: &Resource,
    row: &Resource,
    new: &Object,
    old: &Object,
    context: &Context<'_>,
) -> field::ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(new, row.namespaced, NameRule::PathSegment, &path);
    errors.append(validate_object_meta_update(new, old, &path));
    errors.append(kinds::validate_update(row, endpoint.subresource, new, old, &context.given()));
    errors
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
    Kind::of(row).is_some_and(|kind| kind.early_preconditions)
}

/// Restores the value of `old` at a dotted path (`.status`, `.metadata.labels`).
fn restore(new: &mut Object, old: Option<&Object>, path: &str) {
    let names: Vec<&str> = path.trim_start_matches('.').split('.').collect();
    let Some((last, parents)) = names.split_last() else { return };
    let value = old.and_then(|old| {
        let parent = parents.iter().try_fold(old, |at, name| at.get(*name).and_then(Value::as_object))?;
        parent.get(*last).cloned()
    });
    let mut at = new;
    for name in parents {
        let slot = at.entry((*name).to_owned()).or_insert_with(|| Value::Object(Object::new()));
        match slot {
            Value::Object(map) => at = map,
            _ => return,
        }
    }
    match value {
        Some(value) => at.insert((*last).to_owned(), value),
        None => at.remove(*last),
    };
}

/// Returns the object at a member, created if absent.
fn child<'o>(object: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    let slot = object.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Object::new());
    }
    slot.as_object_mut()
}

/// Returns a string below a member; empty if absent.
fn text_at<'o>(object: &'o Object, parent: &str, name: &str) -> &'o str {
    object.get(parent).and_then(|p| p.get(name)).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests;
