//! Hooks of a kind in the verbs: the trait that kinds with behaviour of their own implement.

use crate::validation::rules::{Settings, ValidationContext};
use api::meta;
use api::options::DeleteOptions;
use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use component_base::features::Gates;
use jsontree::Value;
use schema::object::Object;

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
    pub(crate) fn timestamp(&self) -> Value {
        Value::from(UnixTime { nanos: 0, ..self.now }.rfc3339().to_string())
    }

    pub(crate) fn gates(&self) -> &Gates {
        &self.settings.gates
    }

    /// Input of the validation.
    pub(crate) fn validation_context(&self) -> ValidationContext {
        ValidationContext { settings: self.settings, now: self.now }
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

    /// Brings a validated object into its canonical form before it is stored.
    fn canonicalize(&self, _object: &mut Object) {}

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

/// Restores the value of `old` at a dotted path (`.status`, `.metadata.labels`).
pub(crate) fn restore(new: &mut Object, old: Option<&Object>, path: &str) {
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

/// Metadata that an update of a status or another subresource does not change (upstream's `ResetObjectMetaForStatus`).
/// Name, uid and creation time are not among them: validation rejects other values.
const UNCHANGED_BY_SUBRESOURCES: [&str; 7] =
    ["deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"];

/// Restores the metadata of `old` that a subresource must not change.
pub(crate) fn restore_metadata(new: &mut Object, old: &Object) {
    for name in UNCHANGED_BY_SUBRESOURCES {
        meta::set(new, name, meta::metadata(old).and_then(|metadata| metadata.get(name)).cloned());
    }
}

/// Returns the object at a member, created if absent.
pub(crate) fn child<'o>(object: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    let slot = object.entry(name).or_insert(Value::Null);
    if slot.is_null() {
        *slot = Value::Object(Object::new());
    }
    slot.as_object_mut()
}

/// Returns a string below a member; empty if absent.
pub(crate) fn text_at<'o>(object: &'o Object, parent: &str, name: &str) -> &'o str {
    object.get(parent).and_then(|p| p.get(name)).and_then(Value::as_str).unwrap_or("")
}
