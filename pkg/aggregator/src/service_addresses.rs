//! Resolves Services to addresses.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ::api::resources::{self, Handle};
use ::api::tree::{child, children, text, texts};
use apimachinery::status::Status;
use client::services::{EndpointSlice, Lister, Resolver, Routing, Service};
use client::{Address, webhook};
use jsontree::Value;
use registry::informer::{Informer, InformerTask, ObjectChange, Projection};
use registry::{Registry, meta};
use schema::object::Object;

/// The label of a slice with the name of its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// Namespace and name.
type Key = (Box<str>, Box<str>);

/// The Services and their slices.
#[derive(Clone, Default)]
pub struct ServiceProjection {
    services: HashMap<Key, Arc<Service>>,
    /// By Service, then by slice name.
    slices: HashMap<Key, BTreeMap<Box<str>, Arc<EndpointSlice>>>,
    /// The Service of each slice.
    owners: HashMap<Key, Key>,
}

impl Projection for ServiceProjection {
    fn apply(&mut self, change: &ObjectChange) {
        let key: Key = (change.namespace().into(), change.name().into());
        if change.row().plural == "services" {
            match change.object() {
                Some(object) => _ = self.services.insert(key, Arc::new(service(object))),
                None => _ = self.services.remove(&key),
            }
            return;
        }
        if let Some(owner) = self.owners.remove(&key)
            && let Some(slices) = self.slices.get_mut(&owner)
        {
            slices.remove(&key.1);
            if slices.is_empty() {
                self.slices.remove(&owner);
            }
        }
        let Some(object) = change.object() else { return };
        let labels = meta::metadata(object).and_then(|metadata| child(metadata, "labels"));
        let Some(of) = labels.map(|labels| text(labels, SERVICE_NAME)).filter(|name| !name.is_empty()) else {
            return;
        };
        let owner: Key = (key.0.clone(), of.into());
        let slices = self.slices.entry(owner.clone()).or_default();
        slices.insert(key.1.clone(), Arc::new(slice(object)));
        self.owners.insert(key, owner);
    }
}

fn service(object: &Object) -> Service {
    let empty = Object::new();
    let spec = child(object, "spec").unwrap_or(&empty);
    Service {
        kind: text(spec, "type").to_owned(),
        cluster_ip: text(spec, "clusterIP").to_owned(),
        external_name: text(spec, "externalName").to_owned(),
        ports: children(spec, "ports").map(|port| (number(port), text(port, "name").to_owned())).collect(),
        primary_family: texts(spec, "ipFamilies").next().map(str::to_owned),
    }
}

fn number(port: &Object) -> i32 {
    port.get("port").and_then(Value::as_i64).and_then(|port| i32::try_from(port).ok()).unwrap_or_default()
}

fn slice(object: &Object) -> EndpointSlice {
    let ports = children(object, "ports").map(|port| {
        // A port without a name is stored with an empty name.
        (Some(text(port, "name").to_owned()), Some(number(port)).filter(|number| *number != 0))
    });
    let endpoints = children(object, "endpoints").filter_map(|endpoint| {
        let ready = child(endpoint, "conditions").and_then(|conditions| conditions.get("ready"));
        Some((texts(endpoint, "addresses").next()?.to_owned(), ready.and_then(Value::as_bool)))
    });
    EndpointSlice {
        address_type: text(object, "addressType").to_owned(),
        ports: ports.collect(),
        endpoints: endpoints.collect(),
    }
}

/// Addresses and ports of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedService {
    pub service: Option<Arc<Service>>,
    pub slices: Vec<Arc<EndpointSlice>>,
}

impl ServiceProjection {
    fn find(&self, namespace: &str, name: &str) -> ResolvedService {
        let key: Key = (namespace.into(), name.into());
        let slices = self.slices.get(&key).into_iter().flat_map(BTreeMap::values);
        ResolvedService { service: self.services.get(&key).cloned(), slices: slices.cloned().collect() }
    }
}

/// Resolver for Services. Cheap to clone.
#[derive(Clone)]
pub struct ServiceAddresses(Arc<Resolver<InformerLister>>);

/// Lister over the informer's current state.
struct InformerLister(Informer<ServiceProjection>);

impl Lister for InformerLister {
    fn service(&self, namespace: &str, name: &str) -> Option<Arc<Service>> {
        self.0.read(|cached| cached.services.get(&(namespace.into(), name.into())).cloned())
    }

    fn endpoint_slices(&self, namespace: &str, name: &str) -> Vec<Arc<EndpointSlice>> {
        self.0.read(|cached| {
            let slices = cached.slices.get(&(namespace.into(), name.into()));
            slices.into_iter().flat_map(BTreeMap::values).cloned().collect()
        })
    }
}

impl ServiceAddresses {
    /// Creates the resolver for a registry, and the task that keeps it up to date. `loopback` is the address
    /// of this server.
    pub fn new(
        registry: &Registry,
        routing: Routing,
        loopback: Address,
    ) -> (Self, InformerTask<ServiceProjection>) {
        let services = resources::find("", "v1", "services", "").map(Handle::from);
        let slices = resources::find("discovery.k8s.io", "v1", "endpointslices", "").map(Handle::from);
        let rows = services.into_iter().chain(slices).collect();
        let (informer, following) = Informer::new(registry, "services and their endpoints", rows);
        (
            ServiceAddresses(Arc::new(Resolver { lister: InformerLister(informer), routing, loopback })),
            following,
        )
    }

    /// Waits until all Services are loaded.
    pub async fn ready(&self) {
        self.0.lister.0.ready().await;
    }

    /// Addresses and ports of a Service.
    pub fn find(&self, namespace: &str, name: &str) -> ResolvedService {
        self.0.lister.0.read(|cached| cached.find(namespace, name))
    }

    /// Waits until a Service or its slices change.
    pub async fn changed(&self, namespace: &str, name: &str, before: &ResolvedService) {
        self.0.lister.0.wait_for(|cached| cached.find(namespace, name) != *before).await;
    }

    /// Resolves a port of a Service.
    ///
    /// # Errors
    /// See [`Resolver::resolve`].
    pub fn resolve(&self, namespace: &str, name: &str, port: i32) -> Result<Address, Box<Status>> {
        let mut random = |count| if count == 0 { 0 } else { rand::random_range(0..count) };
        self.0.resolve(namespace, name, port, &mut random)
    }

    /// Returns the resolver for webhooks.
    pub fn of_webhooks(&self) -> webhook::ServiceResolver {
        let addresses = self.clone();
        Arc::new(move |namespace, name, port| {
            let address = addresses.resolve(namespace, name, i32::from(port));
            address.map_err(|status| client::Error::connect(status.message.clone()))
        })
    }
}
