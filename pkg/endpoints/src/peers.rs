//! Requests for what this server does not serve and another one of the same cluster does, as while a cluster is upgraded
//! (KEP-4020, upstream's `util/peerproxy`): they are passed on, once, and discovery says what all of them serve.

mod figures;

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

use crate::aggregated::{BackendAddress, Forwarded, ProxyError, pass_on, proxied, refusal};
use crate::discovery::{Discovery, Merged};
use crate::response;
use crate::routing::dispatch::Response;
use crate::routing::served::Generation;
use figures::PassFailure;
pub use figures::{PeerFigures, SyncFailure};

/// Marks what has been passed on: whoever gets it answers it.
pub const PEER_PROXIED: HeaderName = HeaderName::from_static("x-kubernetes-peer-proxied");
/// What is said where no server that could answer says where it is.
const NO_PEER_ADDRESS: &str = "Error getting ip and port info of the remote server while proxying";

/// The other servers.
#[async_trait]
pub trait Peers: Send + Sync + 'static {
    /// What this server is called among them.
    fn own_name(&self) -> &str;

    /// Whether one of them serves a resource.
    fn serve(&self, resource: &ResourceName<'_>) -> bool;

    /// The way to one of those that serve a resource; `None` if none of them says where it is.
    async fn way(&self, resource: &ResourceName<'_>) -> Option<BackendAddress>;

    /// What they serve in named groups.
    fn groups(&self) -> Arc<PeerGroups>;
}

/// A resource by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ResourceName<'n> {
    /// Empty for the core group.
    pub group: &'n str,
    /// For example `v1`.
    pub version: &'n str,
    /// Plural.
    pub resource: &'n str,
}

impl<'n> ResourceName<'n> {
    fn of(info: &'n RequestInfo) -> Self {
        ResourceName { group: &info.group, version: &info.version, resource: &info.resource }
    }
}

/// What others serve, as their discovery says it.
#[derive(Debug, Clone, Default)]
pub struct PeerGroups {
    /// Tells it from what was known before.
    pub number: u64,
    /// Entries of `APIGroupDiscoveryList`, by the name of the server.
    pub by_server: BTreeMap<String, Vec<Object>>,
}

/// Passes requests on to peers.
pub struct PeerProxy {
    peers: Arc<dyn Peers>,
    /// The document of everything, of a generation of what is served here and of what is known of others.
    merged: Mutex<Option<(Generations, Arc<Merged>)>>,
    figures: PeerFigures,
}

/// Of what is served here, and of what is known of others.
type Generations = (u64, u64);

impl PeerProxy {
    /// Passes requests on to these.
    pub fn new(peers: Arc<dyn Peers>, figures: PeerFigures) -> Self {
        PeerProxy { peers, merged: Mutex::default(), figures }
    }

    /// Whether a request is for somebody else: for a resource that is not served here but there.
    pub(crate) fn serve(&self, catalog: &Catalog, info: &RequestInfo) -> bool {
        let here = || {
            catalog.find(&info.group, &info.version, &info.resource, "").is_some()
                || proxied(catalog, &info.path).is_some()
        };
        info.is_resource && !here() && self.peers.serve(&ResourceName::of(info))
    }

    /// Whether somebody else has passed a request on to this server.
    pub(crate) fn is_peer_proxied(parts: &Parts) -> bool {
        parts.headers.get(PEER_PROXIED).is_some_and(|value| value == "true")
    }

    /// Passes a request on. Every failure is an answer.
    pub(crate) async fn forward(&self, request: Forwarded<'_>) -> Response {
        let named = ResourceName::of(&request.context.info);
        let Some(way) = self.peers.way(&named).await else {
            self.figures.not_passed_on(&named, PassFailure::Endpoint);
            let status = Status::failure(503, Reason::ServiceUnavailable, NO_PEER_ADDRESS);
            return response::status_response(&request.parts.headers, None, &status, &[]);
        };
        let passed_on = HeaderMap::from_iter([(PEER_PROXIED, HeaderValue::from_static("true"))]);
        let context = request.context;
        let named = ResourceName::of(&context.info);
        let answer = match pass_on(way, request, &passed_on).await {
            Err(ProxyError { asked: false, message }) => {
                self.figures.not_passed_on(&named, PassFailure::Transport);
                return refusal(503, message);
            }
            Err(ProxyError { message, .. }) => refusal(503, message),
            Ok(answer) => answer,
        };
        self.figures.passed_on(answer.status().as_u16(), &named);
        answer
    }

    /// The document of all that servers of the cluster serve, if it is that what is asked for.
    pub(crate) fn discovery(
        &self,
        generation: &Generation,
        request: &Parts,
    ) -> Option<Result<http::Response<Bytes>, Status>> {
        let asked = Discovery::aggregated_apis_format(request)?;
        if asked.alone {
            self.figures.alone();
            return None;
        }
        let merged = self.merged(generation);
        Some(merged.answer(request, asked).map_err(|status| *status))
    }

    fn merged(&self, generation: &Generation) -> Arc<Merged> {
        let groups = self.peers.groups();
        let numbers = (generation.number(), groups.number);
        let known = self.merged.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, merged)) = known.filter(|(of, _)| *of == numbers) {
            self.figures.merged(true);
            return merged;
        }
        self.figures.merged(false);
        let own = (self.peers.own_name(), generation.discovery().aggregated_groups());
        let merged = Arc::new(Merged::new(own, &groups.by_server));
        *self.merged.lock().unwrap_or_else(PoisonError::into_inner) = Some((numbers, Arc::clone(&merged)));
        merged
    }
}
