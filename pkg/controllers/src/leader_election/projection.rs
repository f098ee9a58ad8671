//! Informer of LeaseCandidates and Leases.

use std::collections::BTreeMap;
use std::fmt;

use api::resources;
use apimachinery::names;
use apimachinery::time::UnixTime;
use bytes::Bytes;
use registry::informer::{ObjectChange, Projection};
use registry::{StoredRef, codec};
use schema::object::Object;

use super::election::Candidate;

/// Namespace and name of a lease.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    pub(super) namespace: Box<str>,
    pub(super) lease: Box<str>,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.lease)
    }
}

/// The view.
#[derive(Clone, Default)]
pub(super) struct ElectionProjection {
    /// By namespace and name.
    candidates: BTreeMap<(Box<str>, Box<str>), Candidate>,
    /// Encoded, because most of them are irrelevant here, such as those of nodes.
    leases: BTreeMap<Name, Bytes>,
    /// Number of the last relevant change, for each lease with candidates.
    changed: BTreeMap<Name, u64>,
    changes: u64,
}

impl Projection for ElectionProjection {
    fn apply(&mut self, change: &ObjectChange) {
        if change.row().plural == "leases" {
            let name = Name { namespace: change.namespace().into(), lease: change.name().into() };
            match change.bytes() {
                Some(bytes) => self.leases.insert(name.clone(), bytes.clone()),
                None => self.leases.remove(&name),
            };
            if self.changed.contains_key(&name) {
                self.count(name);
            }
            return;
        }
        let key = (change.namespace().into(), change.name().into());
        let candidate = change.object().map(Candidate::of);
        let before = match candidate.clone() {
            Some(candidate) => self.candidates.insert(key, candidate),
            None => self.candidates.remove(&key),
        };
        let awaits_ping = candidate.as_ref().is_some_and(Candidate::awaits_ping_response);
        let Some(candidate) = candidate.or(before) else { return };
        let name = Name { namespace: change.namespace().into(), lease: candidate.lease.as_str().into() };
        // A pinged candidate has a deadline; the ping itself is not a relevant change.
        if awaits_ping && self.changed.contains_key(&name) {
            return;
        }
        // A candidate may contain an invalid lease name.
        let is_electable = names::name_is_dns_subdomain(&name.lease, false).is_empty()
            && self.candidates(&name).next().is_some();
        if is_electable {
            self.count(name);
        } else {
            self.changed.remove(&name);
        }
    }
}

impl ElectionProjection {
    fn count(&mut self, name: Name) {
        self.changes += 1;
        self.changed.insert(name, self.changes);
    }

    /// Returns the number of relevant changes.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// True if a lease changed after change number `changes`.
    pub(super) fn has_changed_since(&self, name: &Name, changes: u64) -> bool {
        self.changed.get(name).is_some_and(|last| *last > changes)
    }

    /// Returns the leases with candidates.
    pub(super) fn leases_with_candidates(&self) -> impl Iterator<Item = &Name> {
        self.changed.keys()
    }

    /// Returns the candidates for a lease.
    pub(super) fn candidates(&self, name: &Name) -> impl Iterator<Item = &Candidate> {
        let of_namespace = self.candidates.range((name.namespace.clone(), Box::default())..);
        let of_namespace = of_namespace.take_while(|((namespace, _), _)| *namespace == name.namespace);
        of_namespace.map(|(_, candidate)| candidate).filter(|candidate| *candidate.lease == *name.lease)
    }

    /// Returns a lease, if it exists.
    pub(super) fn lease(&self, name: &Name) -> Option<Object> {
        let value = self.leases.get(name)?;
        let row = resources::find(super::GROUP, "v1", "leases", "")?.storage.as_ref()?;
        codec::decode(row, StoredRef { key: &name.lease, value, revision: 0 }).ok()
    }

    /// Returns namespaces and names of expired candidates.
    pub(super) fn expired_candidates(&self, now: UnixTime) -> impl Iterator<Item = (&str, &str)> {
        let expired = self.candidates.iter().filter(move |(_, candidate)| candidate.has_expired(now));
        expired.map(|((namespace, name), _)| (&**namespace, &**name))
    }
}
