//! The served API: the current generation of the catalog with the documents that describe it.

use std::sync::Arc;
use std::time::Duration;

use api::catalog::Catalog;
use apimachinery::gvk::GroupResource;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::{Reason, Status};
use arc_swap::ArcSwap;
use bytes::Bytes;
use component_base::clock::Clock;
use component_base::features::Effective;
use http::request::Parts;
use tokio::sync::{SetOnce, mpsc, watch};
use tokio::time::timeout;

use crate::discovery::{self, Discovery, VersionInfo};
use crate::negotiation::Formats;
use crate::openapi::OpenApi;
use crate::routing::route::depends_on_definitions;

/// Maximum time that a request waits for a resource that is not served yet.
const INCOMPLETE_MAX: Duration = Duration::from_secs(10);
/// Maximum number of queued notifications from waiting requests.
const REQUEST_QUEUE_MAX: usize = 64;

/// Static data of the documents.
#[derive(Clone)]
pub struct Description {
    pub server_address: String,
    pub version: VersionInfo,
    /// Releases that determine the storage version hashes; `None` to publish none.
    pub hashes_for: Option<Effective>,
    pub formats: Formats,
    /// True to serve aggregated discovery also as `v2beta1`.
    pub beta_discovery: bool,
    pub clock: Arc<dyn Clock>,
}

/// One generation of the catalog with its documents. Each document is built on demand.
pub struct Generation {
    pub catalog: Arc<Catalog>,
    number: u64,
    discovery: Discovery,
    open_api: OpenApi,
}

impl Generation {
    fn first(catalog: Arc<Catalog>, about: &Description) -> Self {
        let open_api = OpenApi::new(Arc::clone(&catalog), Arc::clone(&about.clock));
        Generation::new(catalog, 0, open_api.with_formats(about.formats), about)
    }

    /// Creates the next generation. Documents of unchanged groups are reused.
    fn next(&self, catalog: Catalog, about: &Description) -> Self {
        let catalog = Arc::new(catalog);
        let number = self.number.wrapping_add(1);
        let open_api = self.open_api.with_catalog(Arc::clone(&catalog));
        let next = Generation::new(catalog, number, open_api, about);
        Generation { discovery: next.discovery.continuing(&self.discovery), ..next }
    }

    fn new(catalog: Arc<Catalog>, number: u64, open_api: OpenApi, about: &Description) -> Self {
        let described = Arc::clone(&catalog);
        let hashes_for = about.hashes_for;
        let groups = move || discovery::groups_of(&described, hashes_for);
        let discovery = Discovery::new(groups, about.server_address.clone(), &about.version);
        let discovery = discovery.with_formats(about.formats).with_beta(about.beta_discovery);
        Generation { discovery, open_api, catalog, number }
    }

    /// Generation number. A cache that is derived from the catalog must be rebuilt when it changes.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Responds to a request for a document that describes the API; `None` when the path names none.
    pub fn document(&self, request: &Parts) -> Option<Result<http::Response<Bytes>, Status>> {
        self.discovery.respond(request).or_else(|| self.open_api.respond(request).map(Ok))
    }

    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// Paths of the documents, for the list at `/`.
    pub fn paths(&self) -> Vec<String> {
        let fixed = ["/api", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"];
        let mut paths: Vec<String> = fixed.map(str::to_owned).to_vec();
        for group in self.catalog.groups() {
            let versions = group.versions.iter().map(|version| group.group_version(version));
            match group.name.as_str() {
                "" => paths.extend(versions.map(|version| format!("/api/{version}"))),
                name => {
                    paths.push(format!("/apis/{name}"));
                    paths.extend(versions.map(|version| format!("/apis/{version}")));
                }
            }
        }
        paths
    }
}

/// Receives the resources that requests wait for: a group and plural name, or `None` for all.
pub type ResourceRequests = mpsc::Receiver<Option<GroupResource>>;

/// Holder of the current generation. A request takes one generation and uses it throughout.
pub struct ServedApi {
    current: ArcSwap<Generation>,
    description: Description,
    /// Notified of each generation.
    changed: watch::Sender<()>,
    /// Set when all resources are served that were stored at startup.
    complete: SetOnce<()>,
    requests: mpsc::Sender<Option<GroupResource>>,
}

impl ServedApi {
    /// Creates an API whose stored resources are added later, until it is [complete](Self::complete). The
    /// receiver gets the resources that requests wait for meanwhile.
    pub fn incomplete(catalog: Catalog, description: Description) -> (Self, ResourceRequests) {
        let current = ArcSwap::from_pointee(Generation::first(Arc::new(catalog), &description));
        let (sender, receiver) = mpsc::channel(REQUEST_QUEUE_MAX);
        let changed = watch::Sender::new(());
        let complete = SetOnce::new();
        (ServedApi { current, description, changed, complete, requests: sender }, receiver)
    }

    pub fn now(&self) -> Arc<Generation> {
        self.current.load_full()
    }

    /// Returns the generation for a request. A request for a resource that is not in the catalog waits until
    /// the resource is added or the catalog is complete.
    ///
    /// # Errors
    /// 503 after a timeout, because the resource may still exist.
    pub async fn for_request(&self, info: &RequestInfo) -> Result<Arc<Generation>, Box<Status>> {
        let is_complete = self.complete.initialized();
        let now = self.now();
        if is_complete || !depends_on_definitions(&now.catalog, info) {
            return Ok(now);
        }
        // Upstream's text, which it returns without waiting.
        let text =
            "the request has been made before all known HTTP paths have been installed, please try again";
        let unknown = || Status::failure(503, Reason::ServiceUnavailable, text).with_retry_after(5);
        let resource_known = Box::pin(timeout(INCOMPLETE_MAX, self.wait_for_resource(info)));
        resource_known.await.map_err(|_| unknown().into())
    }

    async fn wait_for_resource(&self, info: &RequestInfo) -> Arc<Generation> {
        let mut changed = self.changed.subscribe();
        let resource = info.is_resource.then(|| GroupResource::new(&*info.group, &*info.resource));
        // If the queue is full, the request waits until the catalog is complete.
        _ = self.requests.try_send(resource);
        loop {
            let now = self.now();
            if !depends_on_definitions(&now.catalog, info) {
                return now;
            }
            tokio::select! {
                _ = self.complete.wait() => return self.now(),
                // The sender is part of `self`, so this cannot fail.
                _ = changed.changed() => {}
            }
        }
    }

    /// Returns a receiver that is notified of each new generation.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Marks the catalog as complete: all resources are served that were stored at startup.
    pub fn complete(&self) {
        _ = self.complete.set(());
    }

    /// Number of times that the aggregated discovery documents were built.
    pub fn aggregations(&self) -> u64 {
        self.now().discovery.aggregations()
    }

    /// Replaces the catalog with the result of `change`, which is called again after a concurrent change.
    pub fn change(&self, change: impl Fn(&Catalog) -> Catalog) {
        self.current
            .rcu(|generation| Arc::new(generation.next(change(&generation.catalog), &self.description)));
        self.changed.send_replace(());
    }
}

#[cfg(test)]
mod tests;
