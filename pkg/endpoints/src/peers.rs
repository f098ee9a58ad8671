//! Peer proxy, for clusters whose API servers have different versions, as during an upgrade (KEP-4020,
//! upstream's `util/peerproxy`).
//!
//! A request for a resource that only another API server serves is forwarded to it, once. Discovery merges
//! the resources of all servers.

mod metrics;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use api::catalog::Catalog;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::{Reason, Status};
use async_trait::async_trait;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use schema::object::Object;

use crate::aggregated::{BackendAddress, ForwardedRequest, ProxyError, find_proxied, pass_on, rejection};
use crate::discovery::MergedDiscovery;
use crate::response::{self, ErrorForm};
use crate::routing::dispatch::Response;
use crate::routing::served::Generation;
use metrics::ProxyErrorReason;
pub use metrics::{PeerMetrics, SyncErrorReason};

/// Marks a forwarded request. The receiver must not forward it again.
pub const PEER_PROXIED: HeaderName = HeaderName::from_static("x-kubernetes-peer-proxied");
/// Error text if no server of the resource has a known address.
const NO_PEER_ADDRESS: &str = "Error getting ip and port info of the remote server while proxying";

/// The other API servers of the cluster.
#[async_trait]
pub trait PeerResolver: Send + Sync + 'static {
    /// Returns this server's name among its peers.
    fn own_name(&self) -> &str;

    fn serves(&self, resource: &ResourceName<'_>) -> bool;

    /// Returns the address of a peer that serves the resource; `None` if none has published its address.
    async fn resolve(&self, resource: &ResourceName<'_>) -> Option<BackendAddress>;

    fn groups(&self) -> Arc<PeerGroups>;
}

/// A resource by its group, version and plural name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceName<'n> {
    pub group: &'n str,
    pub version: &'n str,
    pub resource: &'n str,
}

impl<'n> ResourceName<'n> {
    fn of(info: &'n RequestInfo) -> Self {
        ResourceName { group: &info.group, version: &info.version, resource: &info.resource }
    }
}

/// Groups of the peers, from their discovery documents.
#[derive(Debug, Clone, Default)]
pub struct PeerGroups {
    /// Generation number; changes with the content.
    pub number: u64,
    pub by_server: BTreeMap<String, Vec<Object>>,
}

/// Forwards requests to peers.
pub struct PeerProxy {
    peers: Arc<dyn PeerResolver>,
    /// Merged discovery document, with the generations that it was built from.
    merged: Mutex<Option<(Generations, Arc<MergedDiscovery>)>>,
    metrics: PeerMetrics,
}

/// Generation of the local catalog and of the peers' groups.
type Generations = (u64, u64);

impl PeerProxy {
    pub fn new(peers: Arc<dyn PeerResolver>, metrics: PeerMetrics) -> Self {
        PeerProxy { peers, merged: Mutex::default(), metrics }
    }

    /// True if the resource of a request is not served here but by a peer.
    pub(crate) fn is_served_by_peer(&self, catalog: &Catalog, info: &RequestInfo) -> bool {
        let is_local = || {
            catalog.find(&info.group, &info.version, &info.resource, "").is_some()
                || find_proxied(catalog, &info.path).is_some()
        };
        info.is_resource && !is_local() && self.peers.serves(&ResourceName::of(info))
    }

    /// True if a peer has forwarded the request to this server.
    pub(crate) fn is_peer_proxied(parts: &Parts) -> bool {
        parts.headers.get(PEER_PROXIED).is_some_and(|value| value == "true")
    }

    /// Forwards a request. Every failure becomes a response.
    pub(crate) async fn forward(&self, request: ForwardedRequest<'_>) -> Response {
        let named = ResourceName::of(&request.context.info);
        let Some(way) = self.peers.resolve(&named).await else {
            self.metrics.record_proxy_error(&named, ProxyErrorReason::Endpoint);
            let status = Status::failure(503, Reason::ServiceUnavailable, NO_PEER_ADDRESS);
            return response::status_response(ErrorForm::of(&request.parts), &status, &[]);
        };
        let passed_on = HeaderMap::from_iter([(PEER_PROXIED, HeaderValue::from_static("true"))]);
        let context = request.context;
        let named = ResourceName::of(&context.info);
        let response = match pass_on(way, request, &passed_on).await {
            Err(ProxyError { was_sent: false, message }) => {
                self.metrics.record_proxy_error(&named, ProxyErrorReason::Transport);
                return rejection(503, message);
            }
            Err(ProxyError { message, .. }) => rejection(503, message),
            Ok(response) => response,
        };
        self.metrics.record_proxied(response.status().as_u16(), &named);
        response
    }

    /// Returns the merged discovery document of all servers, if the request is for it.
    pub(crate) fn discovery(
        &self,
        generation: &Generation,
        request: &Parts,
    ) -> Option<Result<http::Response<Bytes>, Status>> {
        let options = generation.discovery().merged_apis_format(request)?;
        if options.local_only {
            self.metrics.record_nopeer();
            return None;
        }
        let merged = self.merged(generation);
        Some(merged.respond(request, options).map_err(|status| *status))
    }

    fn merged(&self, generation: &Generation) -> Arc<MergedDiscovery> {
        let groups = self.peers.groups();
        let numbers = (generation.number(), groups.number);
        let cached = self.merged.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, merged)) = cached.filter(|(of, _)| *of == numbers) {
            self.metrics.record_merged(true);
            return merged;
        }
        self.metrics.record_merged(false);
        let local = (self.peers.own_name(), generation.discovery().aggregated_groups());
        let merged = Arc::new(MergedDiscovery::new(local, &groups.by_server));
        *self.merged.lock().unwrap_or_else(PoisonError::into_inner) = Some((numbers, Arc::clone(&merged)));
        merged
    }
}
