//! The scope of a request: what every handler gets, whatever its verb (upstream's `RequestScope`).

use api::resources::{Resource, StorageSpec};
use apimachinery::query::Query;
use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use bytes::Bytes;
use component_base::features::Gate;
use registry::Target;

use crate::api::Api;
use crate::body;
use crate::cpu_pool::{StartRequest, latest_start};
use crate::header;
use crate::negotiation::{self, Formats, Representation};
use crate::response::Responder;
use crate::response::table::{IncludeObject, TableRequest};
use crate::routing::dispatch::Body;
use crate::routing::route::Route;
use crate::trace::Trace;
use crate::warning::Warnings;

/// Request scope: one request on its way through a handler (upstream's `RequestScope`).
pub(crate) struct RequestScope<'a> {
    pub(crate) api: &'a Api,
    pub(crate) route: &'a Route,
    pub(crate) context: &'a RequestContext,
    pub(crate) info: &'a RequestInfo,
    pub(crate) headers: &'a http::HeaderMap,
    pub(crate) query: &'a Query,
    pub(crate) user: &'a UserInfo,
    /// Encodings that request bodies may use.
    pub(crate) formats: Formats,
    pub(crate) representation: Representation,
    pub(crate) warnings: Warnings,
    pub(crate) trace: &'a Trace,
}

impl<'a> RequestScope<'a> {
    /// Returns the target of the request, for the registry.
    pub(crate) fn target(&self) -> Target<'_> {
        Target { resource: self.resource(), namespace: &self.info.namespace, name: self.name() }
    }

    /// Request for a start in the CPU pool.
    pub(crate) fn pool_start(&self) -> StartRequest<'a> {
        StartRequest {
            user: &self.user.name,
            retained_bytes: header::total_bytes(self.headers),
            start_by: latest_start(self.context.deadline),
        }
    }

    /// The object's name; empty for collections.
    pub(crate) fn name(&self) -> &str {
        self.info.parts.get(1).map_or("", String::as_str)
    }

    /// Row of the endpoint, which may be a subresource.
    pub(crate) fn endpoint(&self) -> &'a Resource<'a> {
        self.route.endpoint.row.row()
    }

    /// Row of the resource itself.
    pub(crate) fn resource(&self) -> &'a Resource<'a> {
        self.route.resource.row.row()
    }

    /// Returns the storage spec of the resource.
    ///
    /// # Errors
    /// 405 for a resource that is not stored.
    pub(crate) fn storage(&self) -> Result<&'a StorageSpec<'a>, Box<Status>> {
        let refused = || Status::method_not_supported(&self.target().group_resource(), &self.info.verb);
        self.resource().storage.as_ref().ok_or_else(|| refused().into())
    }

    /// Reads the body of a write.
    ///
    /// # Errors
    /// As [`body::read_body`].
    pub(crate) async fn read_body(&self, body: &mut Body) -> Result<Bytes, Box<Status>> {
        let bytes = body::read(body).await;
        match &bytes {
            Ok(bytes) => {
                self.context.body.read(bytes.len());
                self.trace.span.event_with("limitedReadBody succeeded", "len", bytes.len());
            }
            Err(status) => {
                self.trace.span.event_with("limitedReadBody failed", "err", status.message.as_str());
            }
        }
        bytes
    }

    /// Waits for a write to storage. Adds a trace step before and after it.
    pub(crate) async fn time_storage<T>(
        &self,
        write: impl Future<Output = Result<T, Box<Status>>>,
    ) -> Result<T, Box<Status>> {
        self.trace.span.event("About to store object in database");
        let stored = write.await;
        match &stored {
            Ok(_) => self.trace.span.event("Write to database call succeeded"),
            Err(status) => {
                self.trace.span.event_with("Write to database call failed", "err", status.message.as_str());
            }
        }
        stored
    }

    /// Returns the settings that all responses to this request share.
    ///
    /// # Errors
    /// 400 for an unknown `includeObject`.
    pub(crate) fn reply(&self) -> Result<Responder<'a>, Box<Status>> {
        let include = match self.representation.transform {
            negotiation::Transform::Table => {
                IncludeObject::parse(self.query.first("includeObject").unwrap_or(""))?
            }
            _ => IncludeObject::Metadata,
        };
        Ok(Responder {
            endpoint: &self.route.endpoint.row,
            headers: self.headers,
            representation: self.representation,
            warnings: self.warnings.texts(),
            budget: self.api.registry.budget(),
            trace: self.trace,
            weakened: self.api.registry.weakened(),
            may_compress: self.api.registry.gates().enabled(Gate::APIResponseCompression),
            table: TableRequest {
                version: self.representation.transform_version,
                include,
                now: self.api.registry.now(),
            },
        })
    }
}
