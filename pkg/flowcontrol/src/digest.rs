//! Input and result of classification.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::config::Distinguisher;
use crate::level::Level;
use crate::schema::Schema;

/// Request attributes that flow schemas match.
#[derive(Debug, Clone, Copy)]
pub struct RequestDigest<'a> {
    /// The user's name, after impersonation.
    pub user: &'a str,
    pub groups: &'a [String],
    /// The verb, lower case.
    pub verb: &'a str,
    /// Requested resource or path.
    pub target: Target<'a>,
}

/// Target of a request.
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

/// Destination of the requests of a schema.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) schema: Arc<Schema>,
    pub(crate) schema_uid: Bytes,
    pub(crate) level: Arc<Level>,
    pub(crate) level_uid: Bytes,
    pub(crate) exempt: bool,
    pub(crate) seats_max: Option<u32>,
    /// Hash state for flow hashes, initialized with the schema's name; `None` if the level has one queue
    /// only.
    pub(crate) flows: Option<Sha256>,
}

impl Route {
    /// Returns the hash state with which the flow hashes of a schema start.
    pub(crate) fn flows_of(schema: &str) -> Sha256 {
        Sha256::new_with_prefix(schema).chain_update([0])
    }

    /// Returns the class of a request on this route.
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

/// Result of classification: flow schema, priority level and flow. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Class {
    pub(crate) route: Arc<Route>,
    /// Flow hash, which determines the flow's queues.
    pub(crate) hash: u64,
}

impl Class {
    /// Name of the flow schema.
    pub fn schema(&self) -> &str {
        &self.route.schema.name
    }

    /// Uid of the flow schema, shared by all responses; empty if there is no object.
    pub fn schema_uid(&self) -> &Bytes {
        &self.route.schema_uid
    }

    /// Name of the priority level.
    pub fn level(&self) -> &str {
        self.route.level.name()
    }

    /// Uid of the priority level, with the same rules.
    pub fn level_uid(&self) -> &Bytes {
        &self.route.level_uid
    }

    /// Returns true if the level is exempt.
    pub fn is_exempt(&self) -> bool {
        self.route.exempt
    }

    /// Returns the maximum seats of a work estimate at this level; `None` for levels without queues. It is
    /// 15 % of the level's seats, and at most its seats divided by the hand size.
    pub fn seats_max(&self) -> Option<u32> {
        self.route.seats_max
    }

    /// Records the number of watches that a write notifies (`apiserver_flowcontrol_watch_count_samples`).
    pub fn observe_watchers(&self, watchers: usize) {
        let watchers = watchers as u64;
        self.route.schema.metrics.watchers.observe(watchers);
    }
}
