//! APIServices of this server: one for each built-in version and for each version of custom resources
//! (upstream's `kube-aggregator/pkg/controllers/autoregister` and `crdregistration`).
//!
//! APIServices of built-in versions are created once at start, so that later changes by users persist. APIServices of
//! custom resources are reconciled as long as their CRDs exist.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ::api::catalog::{Catalog, Owner};
use ::api::options::Preconditions;
use ::api::resources::{self, Handle};
use ::api::tree::{child, integer, text};
use apiextensions::CustomVersions;
use apimachinery::status::Reason;
use jsontree::{Value, json};
use registry::client::LookupError;
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};
use registry::{Client, Registry, meta};
use schema::object::Object;
use tokio::sync::watch;
use tokio::time::sleep;

const GROUP: &str = "apiregistration.k8s.io";
const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";
/// Version and group priorities of custom resources.
const CUSTOM_PRIORITIES: (i64, i64) = (1000, 100);
/// Delay after a failed write.
const RETRY: Duration = Duration::from_secs(1);

/// The existing APIServices.
#[derive(Clone, Default)]
pub struct ExistingApiServices {
    by_name: BTreeMap<Box<str>, ExistingApiService>,
    changes: u64,
}

/// An existing APIService.
#[derive(Clone, PartialEq, Eq)]
struct ExistingApiService {
    uid: String,
    /// The value of the automanaged label; empty if the user manages it.
    managed: String,
    priorities: (i64, i64),
    /// True if another server handles it.
    is_remote: bool,
}

impl Projection for ExistingApiServices {
    fn apply(&mut self, change: &ObjectChange) {
        self.changes += 1;
        match change.object() {
            Some(object) => _ = self.by_name.insert(change.name().into(), ExistingApiService::of(object)),
            None => _ = self.by_name.remove(change.name()),
        }
    }
}

impl ExistingApiService {
    fn of(object: &Object) -> Self {
        let labels = meta::metadata(object).and_then(|metadata| child(metadata, "labels"));
        ExistingApiService {
            uid: meta::text(object, "uid").to_owned(),
            managed: labels.map_or("", |labels| text(labels, LABEL)).to_owned(),
            priorities: child(object, "spec").map(priorities).unwrap_or_default(),
            is_remote: child(object, "spec").is_some_and(|spec| child(spec, "service").is_some()),
        }
    }
}

impl ExistingApiService {
    /// True if it needs no write: it is up to date, or the user manages it.
    fn needs_no_write(&self, desired: &DesiredApiService) -> bool {
        self.managed != desired.managed || self.priorities == desired.priorities && !self.is_remote
    }
}

fn priorities(spec: &Object) -> (i64, i64) {
    (integer(spec, "groupPriorityMinimum"), integer(spec, "versionPriority"))
}

/// The desired state of an APIService.
#[derive(Debug, Clone, PartialEq, Eq)]
struct DesiredApiService {
    group: String,
    version: String,
    priorities: (i64, i64),
    /// The value of the label.
    managed: &'static str,
}

impl DesiredApiService {
    fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    fn object(&self) -> Object {
        let (group_priority, version_priority) = self.priorities;
        let mut spec = json!({
            "version": self.version, "groupPriorityMinimum": group_priority, "versionPriority": version_priority,
        });
        if !self.group.is_empty() {
            spec["group"] = self.group.clone().into();
        }
        let object = json!({"metadata": {"labels": {LABEL: self.managed}}, "spec": spec});
        match object {
            Value::Object(object) => object,
            _ => Object::new(),
        }
    }
}

/// Returns the names of the APIServices of a catalog's built-in versions.
pub fn names(catalog: &Catalog) -> Vec<String> {
    of_builtin(catalog).iter().map(DesiredApiService::name).collect()
}

/// Returns the desired APIServices of a catalog's built-in versions.
fn of_builtin(catalog: &Catalog) -> Vec<DesiredApiService> {
    let mut desired = Vec::new();
    for group in resources::groups() {
        // The aggregator's own group has none.
        let Some(priority) = group.priority else { continue };
        let served = catalog.group(group.name);
        for version in group.versions {
            let version_entry = served.and_then(|served| served.version(version.version));
            if version_entry.is_some_and(|version_entry| version_entry.owner == Owner::Builtin) {
                desired.push(DesiredApiService {
                    group: group.name.to_owned(),
                    version: version.version.to_owned(),
                    priorities: (i64::from(priority), i64::from(version.priority)),
                    managed: "onstart",
                });
            }
        }
    }
    desired
}

fn of_custom(versions: &CustomVersions) -> impl Iterator<Item = DesiredApiService> {
    versions.served.iter().map(|(group, version)| DesiredApiService {
        group: group.clone(),
        version: version.clone(),
        priorities: CUSTOM_PRIORITIES,
        managed: "true",
    })
}

/// Reconciles the APIServices of this server.
pub struct ApiServices {
    informer: Informer<ExistingApiServices>,
    client: Client,
    builtin: Vec<DesiredApiService>,
    custom: watch::Receiver<CustomVersions>,
    /// True once those of built-in versions exist.
    registered: watch::Sender<bool>,
}

impl ApiServices {
    /// Creates the reconciler for a catalog's built-in versions and for `custom` versions, and the task that
    /// watches APIServices.
    ///
    /// # Errors
    /// APIServices are not served.
    pub fn new(
        registry: &Registry,
        catalog: &Catalog,
        custom: watch::Receiver<CustomVersions>,
    ) -> Result<(Self, InformerTask<ExistingApiServices>), LookupError> {
        let row = resources::find(GROUP, "v1", "apiservices", "").map(Handle::from);
        let (informer, following) = Informer::new(registry, "apiservices", row.into_iter().collect());
        let client = Client::find(registry, GROUP, "apiservices")?;
        let builtin = of_builtin(catalog);
        let registered = watch::Sender::new(false);
        Ok((ApiServices { informer, client, builtin, custom, registered }, following))
    }

    /// Completes when those of built-in versions exist.
    pub fn registered(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut registered = self.registered.subscribe();
        async move {
            // The sender is dropped when the server stops.
            _ = registered.wait_for(|registered| *registered).await;
        }
    }

    /// Reconciles until dropped.
    pub async fn run(mut self) {
        self.informer.ready().await;
        while !self.start().await {
            sleep(RETRY).await;
        }
        self.registered.send_replace(true);
        let mut last_change = None;
        let mut failed = false;
        loop {
            tokio::select! {
                () = self.informer.wait_for(|services| Some(services.changes) != last_change) => {}
                () = sleep(RETRY), if failed => {}
                // The sender and this task end when the server stops.
                Ok(()) = self.custom.changed() => {}
            }
            last_change = Some(self.informer.read(|services| services.changes));
            failed = !self.reconcile_custom().await;
        }
    }

    /// Creates those of built-in versions, and removes outdated ones of an earlier server.
    async fn start(&self) -> bool {
        let mut done = true;
        for service in &self.builtin {
            done &= self.reconcile_one(service).await;
        }
        let names: BTreeSet<String> = self.builtin.iter().map(DesiredApiService::name).collect();
        for (name, uid) in self.managed("onstart").into_iter().filter(|(name, _)| !names.contains(name)) {
            done &= self.remove(&name, uid).await;
        }
        done
    }

    /// Reconciles those of custom resources. Nothing is removed while a CRD is unreadable, because it may
    /// define the version. Upstream waits until all CRDs can be listed.
    async fn reconcile_custom(&mut self) -> bool {
        let (desired, complete): (Vec<DesiredApiService>, bool) = {
            let custom = self.custom.borrow_and_update();
            (of_custom(&custom).collect(), custom.complete)
        };
        let mut done = true;
        for service in &desired {
            let is_current = |existing: &ExistingApiService| existing.needs_no_write(service);
            let name = service.name();
            if !self.informer.read(|services| services.by_name.get(name.as_str()).is_some_and(is_current)) {
                done &= self.reconcile_one(service).await;
            }
        }
        if !complete {
            return done;
        }
        let names: BTreeSet<String> = desired.iter().map(DesiredApiService::name).collect();
        for (name, uid) in self.managed("true").into_iter().filter(|(name, _)| !names.contains(name)) {
            done &= self.remove(&name, uid).await;
        }
        done
    }

    /// Returns the names and uids of those with a label value.
    fn managed(&self, label: &str) -> Vec<(String, String)> {
        self.informer.read(|services| {
            let managed = services.by_name.iter().filter(|(_, service)| service.managed == label);
            managed.map(|(name, service)| (name.to_string(), service.uid.clone())).collect()
        })
    }

    /// Reconciles one APIService, unless the user manages it.
    async fn reconcile_one(&self, desired: &DesiredApiService) -> bool {
        let change = |current: Option<&Object>| -> Option<Object> {
            let Some(current) = current else { return Some(desired.object()) };
            let existing = ExistingApiService::of(current);
            if existing.needs_no_write(desired) {
                return None;
            }
            let mut new = current.clone();
            new.insert("spec", desired.object().remove("spec").unwrap_or_default());
            Some(new)
        };
        let result = self.client.reconcile("", &desired.name(), &change).await;
        result
            .inspect_err(|status| tracing::warn!(error = status.message, "an APIService could not be kept"))
            .is_ok()
    }

    async fn remove(&self, name: &str, uid: String) -> bool {
        let only_this = Preconditions { uid: Some(uid), ..Preconditions::default() };
        let removed = self.client.delete("", name, only_this).await;
        match removed {
            Ok(_) => true,
            // It was already replaced.
            Err(status) if status.reason == Reason::Conflict => true,
            Err(status) => {
                tracing::warn!(name, error = status.message, "an APIService could not be removed");
                false
            }
        }
    }
}
