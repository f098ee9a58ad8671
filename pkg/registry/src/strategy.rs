//! What a kind adds to the verbs. Rows say most of it (reset fields, generation, name rules); a kind
//! with rules of its own implements [`Strategy`] and is listed in `of`.

mod daemon_set;
mod namespace;
mod pod;
mod scale;
mod signing_request;

use api::options::DeleteOptions;
use api::resources::Resource;
use api::semantic::equal_members;
use api::validation::{
    NameRule, name_rule, requires_qualified_finalizers, validate_finalizers_are_qualified,
    validate_object_meta, validate_object_meta_update,
};
use apimachinery::field::{self, Path};
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use schema::object::Object;
use serde_json::Value;

use crate::meta;

pub use scale::{apply_scale, scale_of, validate_scale};

/// What a kind does differently. Every method has the behaviour of most kinds as its default.
pub trait Strategy: Sync {
    /// Edits an object that is about to be created, after system metadata is set and the fields that
    /// clients may not set are cleared.
    fn prepare_for_create(&self, _object: &mut Object, _user: &UserInfo) {}

    /// Edits an object that is about to replace `old` through a subresource (empty for the resource
    /// itself), after the endpoint's reset fields are restored.
    fn prepare_for_update(&self, _subresource: &str, _new: &mut Object, _old: &Object) {}

    /// The seconds that a deletion leaves the object, or `None` for kinds without graceful deletion.
    /// The answer is never negative.
    fn grace_period(&self, _object: &Object, _options: &DeleteOptions) -> Option<i64> {
        None
    }

    /// Whether an update that leaves a deleting object without finalizers removes it.
    fn deletes_on_update(&self, _new: &Object) -> bool {
        true
    }

    /// A deletion that does not follow the common path. May edit the object for `Mark`.
    fn special_delete(&self, _object: &mut Object, _now: UnixTime) -> Option<SpecialDelete> {
        None
    }
}

/// How a kind's own deletion goes on.
pub enum SpecialDelete {
    /// Write the edited object; it stays.
    Mark,
    /// Leave it as it is: it is already on its way.
    Leave,
}

struct Common;

impl Strategy for Common {}

fn of(row: &Resource) -> &'static dyn Strategy {
    match (row.group, row.plural) {
        ("", "namespaces") => &namespace::Namespaces,
        ("", "pods") => &pod::Pods,
        ("apps", "daemonsets") => &daemon_set::DaemonSets,
        ("certificates.k8s.io", "certificatesigningrequests") => &signing_request::SigningRequests,
        _ => &Common,
    }
}

/// Prepares an object that `user` creates.
pub fn prepare_for_create(row: &Resource, object: &mut Object, user: &UserInfo) {
    for path in row.reset_fields.iter().filter(|path| path.starts_with(".status")) {
        restore(object, None, path);
    }
    if row.sets_generation {
        meta::set_generation(object, 1);
    }
    of(row).prepare_for_create(object, user);
}

/// What is wrong with an object that is about to be created.
pub fn validate(row: &Resource, object: &Object) -> Vec<field::Error> {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(object, row.namespaced, name_rule(row.group, row.plural), &path);
    if requires_qualified_finalizers(row.group, row.plural) {
        errors.extend(validate_finalizers_are_qualified(object, &path));
    }
    if errors.is_empty() {
        // What no kind can do without, whatever its own rule says.
        errors = validate_object_meta(object, row.namespaced, NameRule::PathSegment, &path);
    }
    errors
}

/// Prepares an object that is about to replace `old` through `endpoint` (the resource itself or one of
/// its subresources): what the endpoint may not change is taken from `old`.
pub fn prepare_for_update(endpoint: &Resource, row: &Resource, new: &mut Object, old: &Object) {
    meta::set_generation(new, meta::generation(old));
    for path in endpoint.reset_fields {
        restore(new, Some(old), path);
    }
    for name in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        inherit(new, old, name);
    }
    if row.sets_generation && endpoint.subresource != "status" && desired_state_changed(row, new, old) {
        meta::set_generation(new, meta::generation(old) + 1);
    }
    of(row).prepare_for_update(endpoint.subresource, new, old);
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
    let observed = |name: &str| matches!(name, "metadata" | "status");
    let desired = storage.message.members.iter().filter(|member| !observed(member.name));
    let differs = |name: &str| {
        let of = |object: &Object| meta::metadata(object).and_then(|m| m.get(name)).cloned();
        of(new) != of(old)
    };
    let counted = match (row.group, row.plural) {
        ("apps", "deployments") => differs("annotations"),
        ("discovery.k8s.io", "endpointslices") => differs("labels"),
        _ => false,
    };
    counted || desired.into_iter().any(|m| !equal_members(m.field, new.get(m.name), old.get(m.name)))
}

/// What is wrong with an object that is about to replace `old`.
pub fn validate_update(row: &Resource, new: &Object, old: &Object) -> Vec<field::Error> {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(new, row.namespaced, NameRule::PathSegment, &path);
    errors.extend(validate_object_meta_update(new, old, &path));
    if requires_qualified_finalizers(row.group, row.plural) {
        errors.extend(validate_finalizers_are_qualified(new, &path));
    }
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
pub fn special_delete(row: &Resource, object: &mut Object, now: UnixTime) -> Option<SpecialDelete> {
    of(row).special_delete(object, now)
}

/// Namespaces and CRDs check the preconditions of a deletion themselves, before the common path does.
pub fn checks_preconditions_early(row: &Resource) -> bool {
    matches!(
        (row.group, row.plural),
        ("", "namespaces") | ("apiextensions.k8s.io", "customresourcedefinitions")
    )
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
    object.entry(name).or_insert_with(|| Value::Object(Object::new())).as_object_mut()
}

/// A string below a member; empty when absent.
fn text_at<'o>(object: &'o Object, parent: &str, name: &str) -> &'o str {
    object.get(parent).and_then(|p| p.get(name)).and_then(Value::as_str).unwrap_or("")
}
