//! What is served now: a generation of the catalog and the documents that describe it.

use std::sync::Arc;
use std::time::Duration;

use api::catalog::Catalog;
use apimachinery::gvk::GroupResource;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::{Reason, Status};
use arc_swap::ArcSwap;
use bytes::Bytes;
use component_base::clock::Clock;
use http::request::Parts;
use tokio::sync::{SetOnce, mpsc, watch};
use tokio::time::timeout;

use crate::discovery::{self, Discovery, VersionInfo};
use crate::negotiation::Formats;
use crate::openapi::OpenApi;
use crate::routing::route::depends_on_definitions;

/// How long a request waits for what is not served yet.
const INCOMPLETE_MAX: Duration = Duration::from_secs(10);
/// How many requests are heard that wait for it.
const ASKED_MAX: usize = 64;

/// What documents say besides what is served.
#[derive(Clone)]
pub struct Description {
    /// The advertised `host:port`.
    pub server_address: String,
    /// Of this build.
    pub version: VersionInfo,
    /// The formats of objects.
    pub formats: Formats,
    /// For the `Expires` header.
    pub clock: Arc<dyn Clock>,
}

/// One generation of the catalog with its documents. None of them is written before it is asked for.
pub struct Generation {
    /// Who serves what.
    pub catalog: Arc<Catalog>,
    number: u64,
    discovery: Discovery,
    open_api: OpenApi,
}

impl Generation {
    fn first(catalog: Arc<Catalog>, about: &Description) -> Self {
        let open_api = OpenApi::new(Arc::clone(&catalog), Arc::clone(&about.clock));
        Generation::new(catalog, 0, open_api.in_formats(about.formats), about)
    }

    /// The generation after this one. The documents of groups that did not change are not made again.
    fn next(&self, catalog: Catalog, about: &Description) -> Self {
        let catalog = Arc::new(catalog);
        let number = self.number.wrapping_add(1);
        let open_api = self.open_api.with_catalog(Arc::clone(&catalog));
        let next = Generation::new(catalog, number, open_api, about);
        Generation { discovery: next.discovery.after(&self.discovery), ..next }
    }

    fn new(catalog: Arc<Catalog>, number: u64, open_api: OpenApi, about: &Description) -> Self {
        let described = Arc::clone(&catalog);
        let groups = move || discovery::groups_of(&described);
        let discovery = Discovery::new(groups, about.server_address.clone(), &about.version);
        Generation { discovery: discovery.in_formats(about.formats), open_api, catalog, number }
    }

    /// Tells it from other generations: whoever remembers what a catalog says has to look again when this changes.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The answer to a request for a document that describes the API; `None` when the path names none.
    pub fn document(&self, request: &Parts) -> Option<Result<http::Response<Bytes>, Status>> {
        self.discovery.respond(request).or_else(|| self.open_api.respond(request).map(Ok))
    }

    /// How this state of the API is discovered.
    pub(crate) fn discovery(&self) -> &Discovery {
        &self.discovery
    }

    /// The paths of the documents, for the list at `/`.
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

/// What requests wait for: a resource by its group and plural name, or everything.
pub type ResourceRequests = mpsc::Receiver<Option<GroupResource>>;

/// The generation that is served now. A request takes it once and keeps to it.
pub struct Served {
    current: ArcSwap<Generation>,
    about: Description,
    /// Told of each generation.
    changed: watch::Sender<()>,
    /// Set when all is served that was stored when the server began.
    complete: SetOnce<()>,
    asked: mpsc::Sender<Option<GroupResource>>,
}

impl Served {
    /// Serves a catalog to which is added later what is stored already, until it is [complete](Self::complete). The other
    /// one hears what requests wait for meanwhile.
    pub fn incomplete(catalog: Catalog, about: Description) -> (Self, ResourceRequests) {
        let current = ArcSwap::from_pointee(Generation::first(Arc::new(catalog), &about));
        let (sender, asked) = mpsc::channel(ASKED_MAX);
        let (changed, complete) = (watch::Sender::new(()), SetOnce::new());
        (Served { current, about, changed, complete, asked: sender }, asked)
    }

    /// The current generation.
    pub fn now(&self) -> Arc<Generation> {
        self.current.load_full()
    }

    /// The generation to answer a request from. One that depends on what a catalog does not have waits until it has it, or
    /// is complete.
    ///
    /// # Errors
    /// 503 if that takes too long: nobody knows yet whether there is what it asks for.
    pub async fn for_request(&self, info: &RequestInfo) -> Result<Arc<Generation>, Box<Status>> {
        let is_complete = self.complete.initialized();
        let now = self.now();
        if is_complete || !depends_on_definitions(&now.catalog, info) {
            return Ok(now);
        }
        // Upstream's words, which it says at once.
        let text =
            "the request has been made before all known HTTP paths have been installed, please try again";
        let unknown = || Status::failure(503, Reason::ServiceUnavailable, text).with_retry_after(5);
        let known = Box::pin(timeout(INCOMPLETE_MAX, self.knowing(info)));
        known.await.map_err(|_| unknown().into())
    }

    async fn knowing(&self, info: &RequestInfo) -> Arc<Generation> {
        let mut changed = self.changed.subscribe();
        let resource = info.is_resource.then(|| GroupResource::new(&*info.group, &*info.resource));
        // Who is not heard among so many waits until everything is served.
        _ = self.asked.try_send(resource);
        loop {
            let now = self.now();
            if !depends_on_definitions(&now.catalog, info) {
                return now;
            }
            tokio::select! {
                _ = self.complete.wait() => return self.now(),
                // The sender is here.
                _ = changed.changed() => {}
            }
        }
    }

    /// Everything is served that was stored when the server began.
    pub fn complete(&self) {
        _ = self.complete.set(());
    }

    /// How often the aggregated discovery documents were made.
    pub fn aggregations(&self) -> u64 {
        self.now().discovery.aggregations()
    }

    /// Replaces the catalog by what `change` makes of it, which may be asked again if another change is faster.
    pub fn change(&self, change: impl Fn(&Catalog) -> Catalog) {
        self.current.rcu(|generation| Arc::new(generation.next(change(&generation.catalog), &self.about)));
        self.changed.send_replace(());
    }
}

#[cfg(test)]
mod tests;
