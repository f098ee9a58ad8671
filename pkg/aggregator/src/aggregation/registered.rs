//! Informer of APIServices, reduced to the fields that matter for routing.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::tree::{child, children, flag, integer, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use registry::informer::{ObjectChange, Projection};
use registry::meta;
use schema::object::Object;

/// Default port of a Service.
const PORT: i64 = 443;

/// The APIServices by name.
#[derive(Clone, Default)]
pub struct ApiServiceProjection {
    by_name: BTreeMap<Box<str>, Arc<ApiService>>,
    changes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiService {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) group_priority: u32,
    pub(super) version_priority: i32,
    /// Location of the server; `None` for this server itself.
    pub(super) address: Option<ServerAddress>,
    /// True if the `Available` condition is true.
    pub(super) available: bool,
    /// Reason of the condition.
    pub(super) reason: String,
}

/// Address and identity of another server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerAddress {
    pub(super) namespace: String,
    /// Name of the Service.
    pub(super) name: String,
    pub(super) port: i32,
    /// CA bundle in PEM; empty for the system's CAs.
    pub(super) ca_bundle: Vec<u8>,
    pub(super) insecure: bool,
}

impl Projection for ApiServiceProjection {
    fn apply(&mut self, change: &ObjectChange) {
        self.changes += 1;
        match change.object() {
            Some(object) => {
                _ = self.by_name.insert(change.name().into(), Arc::new(ApiService::of(object)));
            }
            None => _ = self.by_name.remove(change.name()),
        }
    }
}

impl ApiServiceProjection {
    /// Returns a number that increases with each change.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns all APIServices.
    pub(super) fn all(&self) -> Vec<Arc<ApiService>> {
        self.by_name.values().cloned().collect()
    }

    /// True if an APIService is available.
    pub(super) fn is_available(&self, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|service| service.available)
    }
}

impl ApiService {
    pub(super) fn of(object: &Object) -> Self {
        let empty = Object::new();
        let spec = child(object, "spec").unwrap_or(&empty);
        let conditions =
            child(object, "status").into_iter().flat_map(|status| children(status, "conditions"));
        let condition = conditions.into_iter().find(|condition| text(condition, "type") == "Available");
        ApiService {
            name: meta::text(object, "name").to_owned(),
            uid: meta::text(object, "uid").to_owned(),
            group: text(spec, "group").to_owned(),
            version: text(spec, "version").to_owned(),
            group_priority: u32::try_from(integer(spec, "groupPriorityMinimum")).unwrap_or_default(),
            version_priority: i32::try_from(integer(spec, "versionPriority")).unwrap_or_default(),
            address: child(spec, "service").map(|service| ServerAddress::of(spec, service)),
            available: condition.is_some_and(|condition| text(condition, "status") == "True"),
            reason: condition.map_or("", |condition| text(condition, "reason")).to_owned(),
        }
    }
}

impl ServerAddress {
    fn of(spec: &Object, service: &Object) -> Self {
        let port = api::tree::maybe_integer(service, "port").unwrap_or(PORT);
        ServerAddress {
            namespace: text(service, "namespace").to_owned(),
            name: text(service, "name").to_owned(),
            port: i32::try_from(port).unwrap_or_default(),
            ca_bundle: STANDARD.decode(text(spec, "caBundle")).unwrap_or_default(),
            insecure: flag(spec, "insecureSkipTLSVerify"),
        }
    }
}
