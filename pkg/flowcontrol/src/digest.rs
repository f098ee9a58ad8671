//! What classification looks at, and what it finds.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::config::Distinguisher;
use crate::figures::WATCH_BOUNDS;
use crate::level::Level;
use crate::schema::Schema;

/// The facts about a request that flow schemas go by.
#[derive(Debug, Clone, Copy)]
pub struct RequestDigest<'a> {
    /// The user's name, after impersonation.
    pub user: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
    /// The verb, lower case.
    pub verb: &'a str,
    /// What the request is for.
    pub target: Target<'a>,
}

/// What a request is for.
#[derive(Debug, Clone, Copy)]
pub enum Target<'a> {
    /// An API resource.
    Resource {
        /// API group, empty for core.
        group: &'a str,
        /// Plural resource.
        resource: &'a str,
        /// Subresource, empty for the object itself.
        subresource: &'a str,
        /// Namespace, empty for requests of the whole cluster.
        namespace: &'a str,
    },
    /// Another path.
    Path(&'a str),
}

/// Where the requests of a schema go.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) schema: Arc<Schema>,
    pub(crate) schema_uid: Bytes,
    pub(crate) level: Arc<Level>,
    pub(crate) level_uid: Bytes,
    pub(crate) exempt: bool,
    pub(crate) seats_max: Option<u32>,
    /// Flows are told apart by this, begun with the schema's name; `None` if there is but one queue.
    pub(crate) flows: Option<Sha256>,
}

impl Route {
    /// The beginning of what the flows of a schema are hashed by.
    pub(crate) fn flows_of(schema: &str) -> Sha256 {
        Sha256::new_with_prefix(schema).chain_update([0])
    }

    /// The class of a request on this route.
    pub(crate) fn class(self: Arc<Self>, digest: &RequestDigest<'_>) -> Class {
        let distinguished = match (self.schema.distinguisher, digest.target) {
            (Some(Distinguisher::ByUser), _) => digest.user,
            (Some(Distinguisher::ByNamespace), Target::Resource { namespace, .. }) => namespace,
            (Some(Distinguisher::ByNamespace), Target::Path(_)) | (None, _) => "",
        };
        let hash = |flows: &Sha256| {
            let sum = flows.clone().chain_update(distinguished).finalize();
            sum.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
        };
        Class { hash: self.flows.as_ref().map_or(0, hash), route: self }
    }
}

/// What a request was found to be: its flow schema, priority level and flow. It is cheap to copy.
#[derive(Debug, Clone)]
pub struct Class {
    pub(crate) route: Arc<Route>,
    /// Which queues the flow has been dealt.
    pub(crate) hash: u64,
}

impl Class {
    /// Name of the flow schema.
    pub fn schema(&self) -> &str {
        &self.route.schema.name
    }

    /// Uid of the flow schema, to be shared by all answers; empty if there is no such object.
    pub fn schema_uid(&self) -> &Bytes {
        &self.route.schema_uid
    }

    /// Name of the priority level.
    pub fn level(&self) -> &str {
        self.route.level.name()
    }

    /// Uid of the priority level, as that of the schema.
    pub fn level_uid(&self) -> &Bytes {
        &self.route.level_uid
    }

    /// Whether requests of the level are never limited.
    pub fn is_exempt(&self) -> bool {
        self.route.exempt
    }

    /// The widest that an estimate should be at this level: 15 % of its seats, but so that each queue that a flow may use has
    /// its part of them; `None` for levels without queues.
    pub fn seats_max(&self) -> Option<u32> {
        self.route.seats_max
    }

    /// Counts a change that `watchers` watches will see (`apiserver_flowcontrol_watch_count_samples`).
    pub fn observe_watchers(&self, watchers: usize) {
        let watchers = watchers as u64;
        self.route.schema.figures.watchers.observe(&WATCH_BOUNDS, watchers, watchers);
    }
}
