//! The field manager: keeps `metadata.managedFields` on every write, and applies configurations
//! (server-side apply, KEP-555).
//!
//! Every object says which manager owns which of its fields. An update gives what it changed to who
//! made it; an apply merges a configuration in, refuses to change what others own unless it is forced,
//! and removes what its manager applied before and leaves out now. What is a field, and how values
//! merge, is [`schema::structured_merge`]'s; this is upstream's `managedfields` around it.

mod cap;
mod changes;
mod conflict;
mod engine;
mod entries;
mod last_applied;
mod manager_name;
mod pending_conversions;
mod scale;
#[cfg(test)]
mod tests;
mod timestamps;
mod versions;

pub use manager_name::manager_or_user_agent;
pub use pending_conversions::{ConversionRequest, PendingConversions};
pub use scale::{ReplicasPaths, replicas_paths, to_parent, to_scale};
pub use timestamps::ignore_timestamps;

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use schema::object::{self, Object};
use schema::structured_merge::Set;

use crate::resources::{Handle, Resource};
use crate::tree::{child, text};
use engine::{Engine, Failure};
use entries::Managed;
use versions::{VersionConverter, Versions};

/// Manages the fields of what is written through one endpoint. Made once per endpoint.
///
/// All objects that go in and out are trees of the shape that the kind is stored in, normalised
/// ([`crate::conversion::normalise_for_storage`]); a kind that is not stored has the endpoint's.
#[derive(Debug)]
pub struct FieldManager {
    row: Handle,
    versions: Versions,
    unowned: OnceLock<Set>,
    empty: Value,
    /// The last second in which a failure was told, in Unix time.
    told: AtomicI64,
}

/// How a configuration is applied.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions<'a> {
    /// Who applies; never empty, as validated.
    pub manager: &'a str,
    /// Take over what others own.
    pub force: bool,
    /// Stamped on what changes, in whole seconds.
    pub now: UnixTime,
    /// What is known of conversions that the process cannot make.
    pub outside: Option<&'a PendingConversions>,
}

impl FieldManager {
    /// The field manager of a built-in endpoint, and `None` where bodies have no metadata to keep managed
    /// fields in. `served` tells the versions that this server serves: what was owned through others
    /// is forgotten on the next write.
    pub fn new(row: &'static Resource<'static>, served: impl Fn(&Resource<'_>) -> bool) -> Option<Self> {
        Self::of(row.into(), versions::others(row, served), versions::stored_version(row))
    }

    /// The field manager of any endpoint. `others` are the same endpoint in the other versions that are served,
    /// `stored` is the version that its bodies are stored in.
    pub fn of(row: Handle, others: impl IntoIterator<Item = Handle>, stored: &str) -> Option<Self> {
        let Resource { message, kind, kind_group_version, .. } = row.row();
        message.member("metadata")?;
        let identity = json!({"apiVersion": kind_group_version, "kind": kind});
        let empty = schema::patch::expand(message, identity.as_object()?).ok()?;
        Some(FieldManager {
            versions: Versions::new(row.clone(), others, stored),
            row,
            unowned: OnceLock::new(),
            empty,
            told: AtomicI64::new(i64::MIN),
        })
    }

    /// Gives `new`, which is about to replace `live`, its managed fields: what differs now belongs to
    /// `manager`. An empty name becomes `unknown`. Without `live` the object is created.
    ///
    /// The request may edit the entries themselves: those in `new` count if they are well formed, an
    /// empty list forgets all managers, and otherwise those of `live` stay, as they do for any
    /// subresource. An object without any that exists already goes on without.
    ///
    /// # Errors
    /// The objects cannot be compared. `new` is fine then, but without managed fields; upstream logs
    /// the text and goes on.
    pub fn update(
        &self,
        live: Option<&Object>,
        new: &mut Object,
        manager: &str,
        now: UnixTime,
    ) -> Result<(), String> {
        self.update_through(live, new, manager, now, None)
    }

    /// The same for kinds whose versions somebody `outside` converts: if questions are open afterwards, it has to be
    /// done again with the same `new` when they are answered.
    ///
    /// # Errors
    /// As [`update`](Self::update).
    pub fn update_through(
        &self,
        live: Option<&Object>,
        new: &mut Object,
        manager: &str,
        now: UnixTime,
        outside: Option<&PendingConversions>,
    ) -> Result<(), String> {
        let managed = self.managed_before(live, new);
        remove(new);
        if managed.sets.is_empty() && live.is_some_and(has_uid) {
            return Ok(());
        }
        let (live_value, new_value) = match live {
            // No other version is looked at, so neither is what did not change.
            Some(live) if self.uses_only_stored_version(&managed) => {
                let (live, new) = changes::differing_parts(live, new);
                (Cow::Owned(self.value("live", &live)?), self.value("new", &new)?)
            }
            live => (self.live_value(live)?, self.value("new", new)?),
        };
        let versions = VersionConverter { versions: &self.versions, outside };
        let managed = self.engine(&versions).update(&live_value, &new_value, managed, manager, now)?;
        drop((live_value, new_value));
        entries::set(new, managed.encode());
        Ok(())
    }

    /// Whether a failure of [`update`](Self::update) should be logged: at most one a second, as upstream,
    /// because clients can cause them at will (a ServiceAccount whose `secrets` have no `name` is enough).
    pub fn should_log_failure(&self, now: UnixTime) -> bool {
        self.told.swap(now.seconds, Ordering::Relaxed) != now.seconds
    }

    /// Applies a configuration, as decoded from the body without regard to types, to `live` or, without
    /// it, to nothing. `default` fills in defaults in the endpoint's version. The configuration is gone when the
    /// object is made.
    ///
    /// # Errors
    /// 409 with every conflict, 400 for a body of another kind or with managed fields, and as upstream
    /// 500 for one that does not fit the type; those of `default`.
    pub fn apply(
        &self,
        live: Option<&Object>,
        patch: Value,
        options: ApplyOptions<'_>,
        default: impl FnOnce(&mut Object) -> Result<(), Box<Status>>,
    ) -> Result<Object, Box<Status>> {
        self.try_apply(live, patch, options, default).map_err(Box::from)
    }

    fn try_apply(
        &self,
        live: Option<&Object>,
        patch: Value,
        options: ApplyOptions<'_>,
        default: impl FnOnce(&mut Object) -> Result<(), Box<Status>>,
    ) -> Result<Object, Failure> {
        let managed = Managed::decode_stored(live.and_then(entries::of).unwrap_or_default())
            .map_err(|error| Failure::Text(format!("failed to decode managed fields: {error}")))?;
        let live_value = self.live_value(live).map_err(Failure::Text)?;
        let versions = VersionConverter { versions: &self.versions, outside: options.outside };
        let engine = self.engine(&versions);
        let name = engine.name(&patch);
        let remembered = (options.manager == last_applied::KUBECTL).then(|| patch.clone());
        let (value, managed) = engine.apply(&live_value, patch, remembered.as_ref(), managed, options)?;
        drop(live_value);
        let mut object = match (value, live) {
            (Some(value), _) => self.object(value, &name, default)?,
            (None, Some(live)) => live.clone(),
            (None, None) => self.object(self.empty.clone(), &name, |_| Ok(()))?,
        };
        remove(&mut object);
        if let Some(patch) = &remembered {
            last_applied::update_annotation(&mut object, patch).map_err(|error| {
                let what = "couldn't encode object into last applied annotation";
                Failure::Text(format!("failed to build last-applied annotation: {what}: {error}"))
            })?;
        }
        entries::set(&mut object, managed.encode());
        Ok(object)
    }

    /// The managers that an update starts from.
    fn managed_before(&self, live: Option<&Object>, new: &Object) -> Managed {
        let stored = live.and_then(entries::of).unwrap_or_default();
        let of_live = || Managed::decode_stored(stored).unwrap_or_default();
        let asked = entries::of(new);
        if !self.row().subresource.is_empty() || asked == Some(stored) && !stored.is_empty() {
            return of_live();
        }
        if entries::is_reset(asked) {
            return Managed::default();
        }
        match Managed::decode(asked.unwrap_or_default()) {
            Ok(managed) if !managed.sets.is_empty() => managed,
            // A client that knows nothing of managed fields must not lose them.
            _ => of_live(),
        }
    }

    /// Whether the endpoint and all managers speak the version that objects are stored in.
    fn uses_only_stored_version(&self, managed: &Managed) -> bool {
        let stored = self.versions.stored();
        self.row().kind_group_version == stored && managed.sets.values().all(|set| set.api_version == stored)
    }

    fn row(&self) -> &Resource<'_> {
        self.row.row()
    }

    fn engine<'a>(&'a self, versions: &'a VersionConverter<'a>) -> Engine<'a> {
        Engine {
            converter: versions,
            api_version: self.row().kind_group_version,
            kind: self.row().kind,
            subresource: self.row().subresource,
            unowned: self.unowned.get_or_init(engine::unowned),
            empty: &self.empty,
        }
    }

    /// What the live object is in the endpoint's version. Its entries are not looked into, only that
    /// there are some, as the field is about to be replaced.
    fn live_value(&self, live: Option<&Object>) -> Result<Cow<'_, Value>, String> {
        let Some(live) = live else { return Ok(Cow::Borrowed(&self.empty)) };
        if entries::of(live).is_none_or(<[Value]>::is_empty) {
            return self.value("live", live).map(Cow::Owned);
        }
        let mut live = live.clone();
        object::set(&mut live, &["metadata", "managedFields"], Value::Array(Vec::new()));
        self.value("live", &live).map(Cow::Owned)
    }

    /// What an object is in the endpoint's version.
    fn value(&self, which: &str, object: &Object) -> Result<Value, String> {
        let version = self.row().kind_group_version;
        self.versions.value_of(object, version).map_err(|error| {
            format!("failed to convert {which} object to proper version ({version}): {error}")
        })
    }

    /// The object that an applied value stands for. Errors name it as the patch does.
    fn object(
        &self,
        value: Value,
        name: &str,
        default: impl FnOnce(&mut Object) -> Result<(), Box<Status>>,
    ) -> Result<Object, Failure> {
        let version = self.row().kind_group_version;
        let mut object = self.versions.tree_of(value, version).map_err(|error| {
            Failure::Text(format!("failed to convert new object ({name}) to proper version: {error}"))
        })?;
        default(&mut object).map_err(Failure::Status)?;
        self.versions
            .store(object, version)
            .map_err(|error| Failure::Text(format!("failed to convert to unversioned ({name}): {error}")))
    }
}

/// Takes the managed fields out of an object, as upstream does to make one fit that is too large to
/// store.
pub fn remove(object: &mut Object) {
    object::remove(object, &["metadata", "managedFields"]);
}

/// Checks that the managed fields of an object can be read, which an admission plugin may have broken.
///
/// # Errors
/// Upstream's text about the first entry that breaks a rule.
pub fn check(object: &Object) -> Result<(), String> {
    Managed::decode(entries::of(object).unwrap_or_default()).map(drop)
}

/// The warning that goes with undoing what admission did to managed fields; `error` is [`check`]'s.
pub fn warning_after_admission(error: &str) -> String {
    format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {error}"
    )
}

fn has_uid(object: &Object) -> bool {
    child(object, "metadata").is_some_and(|metadata| !text(metadata, "uid").is_empty())
}
