//! The field manager of one endpoint.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use schema::object::{self, Object};

use super::engine::{self, Engine};
use super::entries::{self, Managed, Origin, UndecodedEntry};
use super::error::Error;
use super::pending_conversions::PendingConversions;
use super::structured_merge::{ConvertError, Set};
use super::versions::{ServedVersion, VersionConverter, Versions};
use super::{changes, last_applied};

/// Field manager of one endpoint, created once per endpoint.
///
/// All input and output objects are normalized trees in the shape of the stored version. A kind that is not
/// stored uses the shape of the endpoint.
#[derive(Debug)]
pub struct FieldManager<V> {
    versions: Versions<V>,
    unowned: OnceLock<Set>,
    empty: Value,
    /// Last second, in Unix time, in which a failure was logged.
    last_logged: AtomicI64,
}

/// Parameters of an apply, besides the objects.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions<'a> {
    /// Name of the field manager; validated to be non-empty.
    pub manager: &'a str,
    /// Takes ownership of fields of other managers.
    pub force: bool,
    /// Time of the changed entries, in whole seconds.
    pub now: UnixTime,
    /// Conversions by webhooks, which this process cannot make itself.
    pub outside: Option<&'a PendingConversions>,
}

/// An update that may leave all owners as they are.
struct SameOwnersCandidate<'e> {
    entries: Vec<UndecodedEntry<'e>>,
    /// The parts of the stored object that differ from the new one.
    live: Value,
    /// The parts of the new object that differ from the stored one.
    new: Value,
}

impl<V: ServedVersion> FieldManager<V> {
    /// Creates the field manager of an endpoint, or `None` if its bodies have no metadata. `others` are the
    /// same endpoint in the other served versions; fields owned through versions that are not served are
    /// dropped on the next write. `stored` is the storage version (`apps/v1`).
    pub fn new(endpoint: V, others: impl IntoIterator<Item = V>, stored: &str) -> Option<Self> {
        let message = endpoint.message();
        message.member("metadata")?;
        let identity = json!({"apiVersion": endpoint.api_version(), "kind": endpoint.kind()});
        let empty = schema::patch::expand(message, identity.as_object()?).ok()?;
        Some(FieldManager {
            versions: Versions::new(endpoint, others, stored),
            unowned: OnceLock::new(),
            empty,
            last_logged: AtomicI64::new(i64::MIN),
        })
    }

    /// Returns a manager for an endpoint that writes its reset fields, too.
    pub fn without_reset_fields(self) -> Self {
        FieldManager { versions: self.versions.without_reset_fields(), ..self }
    }

    /// Sets the managed fields of `new`, which is about to replace `live`. The changed fields now belong to
    /// `manager`; an empty name becomes `unknown`. Without `live` the object is being created.
    ///
    /// The request can edit the entries itself. Those in `new` are used if they are well formed, and an empty
    /// list removes all managers. Otherwise, and for every subresource, the entries of `live` stay. An
    /// existing object without entries stays without them.
    ///
    /// # Errors
    /// The objects cannot be compared. `new` is then valid but has no managed fields. Upstream logs the text
    /// and continues.
    pub fn update(
        &self,
        live: Option<&Object>,
        new: &mut Object,
        manager: &str,
        now: UnixTime,
    ) -> Result<(), Error> {
        self.update_through(live, new, manager, now, None)
    }

    /// Sets the managed fields for kinds with external conversion (`outside`). If conversions are pending
    /// afterwards, the call must be repeated with the same `new` once they are done.
    ///
    /// # Errors
    /// The errors of [`update`](Self::update).
    pub fn update_through(
        &self,
        live: Option<&Object>,
        new: &mut Object,
        manager: &str,
        now: UnixTime,
        outside: Option<&PendingConversions>,
    ) -> Result<(), Error> {
        let sent = entries::take(new);
        let stored = live.and_then(entries::of).unwrap_or_default();
        let uses_stored = self.uses_stored_entries(stored, sent.as_deref());
        let versions = VersionConverter { versions: &self.versions, outside };
        let engine = self.engine(&versions);
        let writer = engine.updater(manager, now);
        let candidate = live.filter(|_| uses_stored);
        let candidate = candidate.and_then(|live| self.same_owners_candidate(&engine, live, new, &writer));
        let mut changed_parts = None;
        if let Some(SameOwnersCandidate { entries, live, new: new_value }) = candidate {
            if let Some(entries) = engine.update_same_owners(&live, &new_value, entries, &writer) {
                entries::set(new, entries);
                return Ok(());
            }
            changed_parts = Some((Cow::Owned(live), new_value));
        }
        let managed = self.managed_before(stored, sent.as_deref(), uses_stored);
        if managed.sets.is_empty() && live.is_some_and(has_uid) {
            return Ok(());
        }
        let (live_value, new_value) = match (changed_parts, live) {
            (Some(parts), _) => parts,
            // No other version is needed, so unchanged parts can be skipped.
            (None, Some(live)) if self.uses_only_stored_version(&managed) => {
                let (live, new) = changes::differing_parts(live, new);
                (Cow::Owned(self.value("live", &live)?), self.value("new", &new)?)
            }
            (None, live) => (self.live_value(live)?, self.value("new", new)?),
        };
        let managed = engine.update(&live_value, &new_value, managed, writer)?;
        drop((live_value, new_value));
        entries::set(new, managed.encode());
        Ok(())
    }

    /// Reads what [`Engine::update_same_owners`] needs; `None` if the update must decode all entries.
    fn same_owners_candidate<'e>(
        &self,
        engine: &Engine<'_>,
        live: &'e Object,
        new: &Object,
        writer: &Origin,
    ) -> Option<SameOwnersCandidate<'e>> {
        if self.endpoint().api_version() != self.versions.stored() {
            return None;
        }
        let entries = engine.undecoded(entries::of(live)?, writer)?;
        let (live, new) = changes::differing_parts(live, new);
        let live = self.value("live", &live).ok()?;
        let new = self.value("new", &new).ok()?;
        Some(SameOwnersCandidate { entries, live, new })
    }

    /// Returns true if a failure of [`update`](Self::update) should be logged. At most one per second is,
    /// like upstream's, because clients can cause failures at will (a ServiceAccount whose `secrets` have no
    /// `name` is enough).
    pub fn should_log_failure(&self, now: UnixTime) -> bool {
        self.last_logged.swap(now.seconds, Ordering::Relaxed) != now.seconds
    }

    /// Applies a configuration to `live`, or creates the object. The configuration was decoded from the body
    /// without type information. `default` sets defaults in the endpoint's version. The configuration is
    /// dropped before the object is returned.
    ///
    /// # Errors
    /// 409 with every conflict. 400 for a body of another kind or with managed fields. 500, as in upstream,
    /// for a body that does not fit the type. Also the errors of `default`.
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
    ) -> Result<Object, Error> {
        let managed = Managed::decode_stored(live.and_then(entries::of).unwrap_or_default())
            .map_err(|error| Error::Failed(format!("failed to decode managed fields: {error}")))?;
        let live_value = self.live_value(live)?;
        let versions = VersionConverter { versions: &self.versions, outside: options.outside };
        let engine = self.engine(&versions);
        let name = engine.name(&patch);
        let remembered = (options.manager == last_applied::KUBECTL).then(|| patch.clone());
        let (value, managed) = engine.apply(&live_value, patch, remembered.as_ref(), managed, options)?;
        drop(live_value);
        let mut object = match (value, live) {
            (Some(value), _) if engine.rejects_merged => return Err(engine.unconvertible("new", &value)),
            (Some(value), _) => self.object(value, &name, default)?,
            (None, Some(live)) => live.clone(),
            (None, None) => self.object(self.empty.clone(), &name, |_| Ok(()))?,
        };
        entries::remove(&mut object);
        if let Some(patch) = &remembered {
            last_applied::update_annotation(&mut object, patch).map_err(|error| {
                let context = "couldn't encode object into last applied annotation";
                Error::Failed(format!("failed to build last-applied annotation: {context}: {error}"))
            })?;
        }
        entries::set(&mut object, managed.encode());
        Ok(object)
    }

    /// True if an update starts with the stored entries, and not with those that the client sent.
    fn uses_stored_entries(&self, stored: &[Value], sent: Option<&[Value]>) -> bool {
        !self.endpoint().subresource().is_empty()
            || sent.is_none()
            || sent == Some(stored) && !stored.is_empty()
    }

    /// Returns the managers before an update.
    fn managed_before(&self, stored: &[Value], sent: Option<&[Value]>, uses_stored: bool) -> Managed {
        let of_stored = || Managed::decode_stored(stored).unwrap_or_default();
        // Upstream's decoder of custom resources drops an empty list.
        let drops_empty = self.endpoint().message().open;
        let sent = sent.filter(|sent| !drops_empty || !sent.is_empty());
        if uses_stored {
            return of_stored();
        }
        if entries::is_reset(sent) {
            return Managed::default();
        }
        match Managed::decode(sent.unwrap_or_default()) {
            Ok(managed) if !managed.sets.is_empty() => managed,
            // A client that does not send managed fields must not lose them.
            _ => of_stored(),
        }
    }

    /// True if the endpoint and all managers use the storage version.
    fn uses_only_stored_version(&self, managed: &Managed) -> bool {
        let stored = self.versions.stored();
        self.endpoint().api_version() == stored && managed.sets.values().all(|set| set.api_version == stored)
    }

    fn endpoint(&self) -> &V {
        self.versions.endpoint()
    }

    fn engine<'a>(&'a self, versions: &'a VersionConverter<'a, V>) -> Engine<'a> {
        Engine {
            converter: versions,
            api_version: self.endpoint().api_version(),
            kind: self.endpoint().kind(),
            subresource: self.endpoint().subresource(),
            unowned: self.unowned.get_or_init(engine::unowned),
            empty: &self.empty,
            rejects_merged: self.endpoint().rejects_merged(),
        }
    }

    /// Converts the live object to the endpoint's version. Only the presence of its managed fields is used,
    /// because the field is about to be replaced.
    fn live_value(&self, live: Option<&Object>) -> Result<Cow<'_, Value>, Error> {
        let Some(live) = live else { return Ok(Cow::Borrowed(&self.empty)) };
        if entries::of(live).is_none_or(<[Value]>::is_empty) {
            return self.value("live", live).map(Cow::Owned);
        }
        let mut live = live.clone();
        object::set(&mut live, &["metadata", "managedFields"], Value::Array(Vec::new()));
        self.value("live", &live).map(Cow::Owned)
    }

    fn value(&self, label: &str, object: &Object) -> Result<Value, Error> {
        let version = self.endpoint().api_version();
        self.versions.value_of(object, version).map_err(|error| {
            let text = format!("failed to convert {label} object to proper version ({version}): {error}");
            match error {
                ConvertError::Limit(_) => Error::Status(Box::new(Status::bad_request(text))),
                _ => Error::Failed(text),
            }
        })
    }

    /// Converts an applied value to an object. Errors use the name in the patch.
    fn object(
        &self,
        value: Value,
        name: &str,
        default: impl FnOnce(&mut Object) -> Result<(), Box<Status>>,
    ) -> Result<Object, Error> {
        let version = self.endpoint().api_version();
        let mut object = self.versions.tree_of(value, version).map_err(|error| {
            Error::Failed(format!("failed to convert new object ({name}) to proper version: {error}"))
        })?;
        default(&mut object).map_err(Error::Status)?;
        self.versions
            .store(object, version)
            .map_err(|error| Error::Failed(format!("failed to convert to unversioned ({name}): {error}")))
    }
}

fn has_uid(object: &Object) -> bool {
    object::get_str(object, &["metadata", "uid"]).is_some_and(|uid| !uid.is_empty())
}
