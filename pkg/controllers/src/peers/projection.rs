//! Informer of servers and of versions defined by objects: Leases, CustomResourceDefinitions and APIServices.

use std::collections::BTreeMap;

use ::api::tree;
use registry::informer::{ObjectChange, Projection};
use schema::object::{self, Object};

use super::{GroupVersion, text_at};

/// The label of identity Leases.
const IDENTITY: [&str; 3] = ["metadata", "labels", "apiserver.kubernetes.io/identity"];

/// The view.
#[derive(Clone, Default)]
pub(super) struct PeerProjection {
    /// Holders of identities, by identity name.
    servers: BTreeMap<Box<str>, Box<str>>,
    /// By kind and name.
    defined: BTreeMap<(bool, Box<str>), Vec<GroupVersion>>,
    changes: u64,
}

impl Projection for PeerProjection {
    fn apply(&mut self, change: &ObjectChange) {
        let name: Box<str> = change.name().into();
        if change.row().plural == "leases" {
            // Other Leases are numerous and change often.
            if change.namespace() != "kube-system" || !name.starts_with("apiserver-") {
                return;
            }
            let holder = change.object().and_then(holder);
            let before = match holder.clone() {
                Some(holder) => self.servers.insert(name, holder),
                None => self.servers.remove(&name),
            };
            self.changes += u64::from(before != holder);
            return;
        }
        let is_definition = change.row().plural == "customresourcedefinitions";
        let read = if is_definition { of_definition } else { of_api_service };
        let versions = change.object().map(read).unwrap_or_default();
        let before = if versions.is_empty() {
            self.defined.remove(&(is_definition, name))
        } else {
            self.defined.insert((is_definition, name), versions.clone())
        };
        self.changes += u64::from(before.unwrap_or_default() != versions);
    }
}

impl PeerProjection {
    /// Returns the number of changes.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns the names of servers, including this one, with the holders of their identities.
    pub(super) fn servers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.servers.iter().map(|(name, holder)| (&**name, &**holder))
    }

    /// Returns the versions defined by objects.
    pub(super) fn defined(&self) -> impl Iterator<Item = &GroupVersion> {
        self.defined.values().flatten()
    }
}

/// Returns the holder of an identity.
fn holder(lease: &Object) -> Option<Box<str>> {
    let is_one = object::get_str(lease, &IDENTITY) == Some("kube-apiserver");
    let holder = tree::child(lease, "spec").and_then(|spec| tree::maybe_text(spec, "holderIdentity"));
    holder.filter(|_| is_one).map(Into::into)
}

fn of_definition(definition: &Object) -> Vec<GroupVersion> {
    let Some(spec) = tree::child(definition, "spec") else { return Vec::new() };
    let group = tree::text(spec, "group");
    let versions = tree::children(spec, "versions").map(|version| tree::text(version, "name"));
    versions.map(|version| (group.to_owned(), version.to_owned())).collect()
}

fn of_api_service(service: &Object) -> Vec<GroupVersion> {
    let is_of_others = tree::child(service, "spec").is_some_and(|spec| tree::is_set(spec, "service"));
    let [group, version] = ["group", "version"].map(|name| text_at(service, "spec", name).to_owned());
    is_of_others.then_some((group, version)).into_iter().collect()
}
