//! What a kind adds to the verbs. Rows say most of it (reset fields, generation, name rules); a kind
//! with rules of its own implements [`Strategy`] and is listed in `of`.

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

/// Where uids and generated names come from.
pub trait Entropy: Send + Sync {
    /// A new random uid (UUID version 4, lower case).
    fn uid(&self) -> String;
    /// A uniformly distributed number.
    fn number(&self) -> u32;
}

/// What a write happens in.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Who writes.
    pub user: &'a UserInfo,
    /// The time of the write.
    pub now: UnixTime,
    /// Where a name comes from, for kinds that may come without one.
    pub entropy: &'a dyn Entropy,
    /// How the server is set up.
    pub settings: Settings,
    /// A new object's labels are those of its pod template, and a label that one gets the other has too
    /// ([`crate::defaults::shares_labels`]).
    pub shares_labels: bool,
}

impl Context<'_> {
    /// The time of the write as objects have it, in whole seconds.
    fn timestamp(&self) -> Value {
        Value::from(UnixTime { nanos: 0, ..self.now }.rfc3339().to_string())
    }

    /// The feature gates that are open.
    fn gates(&self) -> &Gates {
        &self.settings.gates
    }

    /// What validation is given.
    fn given(&self) -> kinds::Given {
        kinds::Given { settings: self.settings, now: self.now }
    }
}

/// What a kind does differently. Every method has the behaviour of most kinds as its default.
pub trait Strategy: Sync {
    /// Edits an object that is about to be created, after system metadata is set and the fields that
    /// clients may not set are cleared.
    fn prepare_for_create(&self, _object: &mut Object, _context: &Context<'_>) {}

    /// Edits an object that is about to replace `old` through a subresource (empty for the resource
    /// itself), after the endpoint's reset fields are restored.
    fn prepare_for_update(&self, _: &str, _new: &mut Object, _old: &Object, _context: &Context<'_>) {}

    /// The seconds that a deletion leaves the object, or `None` for kinds without graceful deletion.
    /// The answer is never negative.
    fn grace_period(&self, _object: &Object, _options: &DeleteOptions) -> Option<i64> {
        None
    }

    /// Whether an update that leaves a deleting object without finalizers removes it.
    fn deletes_on_update(&self, _new: &Object) -> bool {
        true
    }

    /// Whether a deletion does not follow the common path, and how it goes on.
    fn special_delete(&self, _object: &Object) -> Option<SpecialDelete> {
        None
    }

    /// Edits an object whose deletion begins and does not follow the common path.
    fn begin_special_delete(&self, _object: &mut Object, _now: UnixTime) {}
}

/// How a kind's own deletion goes on.
pub enum SpecialDelete {
    /// It begins: the object is marked and stays.
    Begin,
    /// Leave it as it is: it is already on its way.
    Leave,
}

pub(crate) struct Common;

impl Strategy for Common {}

fn of(row: &Resource) -> &'static dyn Strategy {
    Kind::of(row).map_or(&Common, |kind| kind.strategy)
}

/// What an update through an endpoint takes from the old object. That is what upstream's
/// `PrepareForUpdate` does; rows have what it declares (`GetResetFields`), and here is the difference.
fn reset_paths<'a>(endpoint: &Resource<'a>) -> &'a [&'a str] {
    let resets = Kind::of(endpoint).map_or(&[][..], |kind| kind.resets);
    let own = resets.iter().find(|(subresource, _)| *subresource == endpoint.subresource);
    own.map_or(endpoint.reset_fields, |(_, paths)| paths)
}

/// Whether creation leaves the status to the kind: kubelets create their nodes with it, and pods look
/// at it once.
fn keeps_initial_status(row: &Resource) -> bool {
    Kind::of(row).is_some_and(|kind| kind.initial_status)
}

/// Prepares an object that is about to be created.
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

/// What is wrong with an object that is about to be created.
pub fn validate(row: &Resource, object: &Object, context: &Context<'_>) -> field::ErrorList {
    let errors = kinds::validate(row, object, &context.given());
    if errors.is_empty() {
        // What no kind can do without, whatever its own rule says.
        validate_object_meta(object, row.namespaced, NameRule::PathSegment, &Path::root("metadata"))
    } else {
        errors
    }
}

/// Prepares an object that is about to replace `old` through `endpoint` (the resource itself or one of
/// its subresources): what the endpoint may not change is taken from `old`.
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
    // Slices count what was asked for, others what became of it.
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

/// Takes everything from `old` but the status. Custom resources may have more members than metadata and spec.
fn keep_all_but_status(new: &mut Object, old: &Object) {
    let of_new = |name: &str| matches!(name, "status" | "metadata");
    new.retain(|name, _| of_new(name));
    let kept = old.iter().filter(|(name, _)| !of_new(name));
    new.extend(kept.map(|(name, value)| (name.clone(), value.clone())));
}

/// Moves the generation on where the desired state changes.
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

/// Takes metadata from `old`, all but who manages what: that says what this very write did.
fn restore_metadata(new: &mut Object, old: &Object) {
    let managers = meta::metadata_mut(new).remove("managedFields");
    restore(new, Some(old), ".metadata");
    meta::set(new, "managedFields", managers);
}

/// Takes a member of metadata over from `old`: the creation and deletion timestamps always, the others
/// where the new object has none.
fn inherit(new: &mut Object, old: &Object, name: &str) {
    let Some(value) = meta::metadata(old).and_then(|m| m.get(name)) else { return };
    let always = matches!(name, "creationTimestamp" | "deletionTimestamp");
    if always || !meta::metadata(new).is_some_and(|m| m.contains_key(name)) {
        meta::set(new, name, Some(value.clone()));
    }
}

/// Whether anything outside metadata and status differs. Deployments count annotations in, because
/// `kubectl rollout` looks at the generation after changing only those; endpoint slices count labels
/// in, which say what Service they belong to.
fn desired_state_changed(row: &Resource, new: &Object, old: &Object) -> bool {
    let Some(storage) = &row.storage else { return false };
    if storage.message.open {
        // A status that has no subresource of its own counts. One that has is the old one by now.
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

/// What is wrong with an object that is about to replace `old`.
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

/// Whether an update ends a deletion: no finalizer is left and no grace either.
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

/// Namespaces and CRDs check the preconditions of a deletion themselves, before the common path does.
pub fn checks_preconditions_early(row: &Resource) -> bool {
    Kind::of(row).is_some_and(|kind| kind.early_preconditions)
}

/// Sets the value at a dotted path (`.status`, `.metadata.labels`) to what `old` has there.
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

/// The object at a member, created when absent.
fn child<'o>(object: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    let slot = object.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Object::new());
    }
    slot.as_object_mut()
}

/// A string below a member; empty when absent.
fn text_at<'o>(object: &'o Object, parent: &str, name: &str) -> &'o str {
    object.get(parent).and_then(|p| p.get(name)).and_then(Value::as_str).unwrap_or("")
}

#[cfg(test)]
mod tests;
