//! API behind the handler chain. It routes a request, negotiates the representation, runs the handler of the
//! verb, and converts its error into a response.

use std::pin::pin;
use std::sync::Arc;

use api::catalog::{Catalog, ProxiedApiService};
use api::resources::Resource;
use apimachinery::query::Query;
use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use bytes::Bytes;
use hyper::upgrade::OnUpgrade;
use registry::Target;

use super::dispatch::{Dispatch, Extent, Request, Response};
use super::path::{is_under, with_decoded_path};
use super::route::{Action, Route, RouteError, route};
use super::served::Generation;
use crate::aggregated::{self, ForwardedRequest};
use crate::api::Api;
use crate::cpu_pool::{StartRequest, latest_start};
use crate::header;
use crate::negotiation::{self, Formats, Offer, Representation};
use crate::peers::PeerProxy;
use crate::proxy::ProxyRequest;
use crate::response::ErrorForm;
use crate::scope::RequestScope;
use crate::trace::Trace;
use crate::warning::Warnings;
use crate::{handlers, response, write_barrier};

#[async_trait]
impl Dispatch for Api {
    async fn dispatch(&self, request: Request) -> Response {
        let Request { mut parts, body, context, authorized } = request;
        let RequestContext { info, query, peer, .. } = &*context;
        let user = authorized.user();
        let shutdown = &self.shutdown;
        let generation = match self.may_write(info, user) {
            Ok(()) => self.served.for_request(info).await,
            Err(status) => Err(status),
        };
        let generation = match generation {
            Ok(generation) => generation,
            Err(status) => return response::status_response(ErrorForm::of(&parts), &status, &[]),
        };
        if let Some(elsewhere) = self.remote_server(&generation.catalog, info, &parts) {
            let connection = parts.extensions.remove::<OnUpgrade>();
            let request = ForwardedRequest { parts, body, context: &context, user, connection, shutdown };
            return match elsewhere {
                RemoteServer::Peer(peers) => peers.forward(request).await,
                RemoteServer::Aggregated(proxied) => {
                    self.aggregation.forward(&proxied.api_service, request).await
                }
            };
        }
        if !info.is_resource {
            return self.document(generation, parts, info, user).await;
        }
        let route = match route(&generation.catalog, &parts.method, info) {
            Ok(route) => route,
            Err(RouteError::UnknownGroup) => return response::plain(404, "404 page not found\n"),
            Err(RouteError::Rejected { status, deprecation }) => {
                let warnings = Vec::from_iter(deprecation);
                return response::status_response(ErrorForm::of(&parts), &status, &warnings);
            }
        };
        let connection = parts.extensions.remove::<OnUpgrade>();
        let trace = Trace::begin(route.action, &parts, &context);
        let deprecation: Vec<String> = route.endpoint.row.row().deprecation_warning().into_iter().collect();
        if !deprecation.is_empty() {
            self.deprecated_requests.record(route.endpoint.row.row(), &context.notes);
        }
        let formats = self.formats.of(route.endpoint.row.row());
        let (result, warnings) = match negotiate(&parts, info, query, &route, formats) {
            Ok(representation) => {
                let mut call = RequestScope {
                    api: self,
                    route: &route,
                    context: &context,
                    info,
                    headers: &parts.headers,
                    query,
                    user,
                    formats,
                    representation,
                    warnings: Warnings::default(),
                    trace: &trace,
                };
                call.warnings.extend(deprecation);
                let path = info.path.as_str();
                let incoming = ProxyRequest { parts: &parts, path, body, connection, peer: *peer, shutdown };
                let result = trace.span.clone().instrument(pin!(run(&mut call, incoming))).await;
                (result, call.warnings.texts())
            }
            Err(status) => (Err(status), deprecation),
        };
        result.unwrap_or_else(|status| {
            // A Status can be encoded in all formats, whatever resource it is about.
            let formats = Formats { custom: false, ..formats };
            trace.serialized_error(|| response::status_in(formats, ErrorForm::of(&parts), &status, &warnings))
        })
    }

    fn is_forwarded(&self, info: &RequestInfo) -> bool {
        let generation = self.served.now();
        aggregated::find_proxied(&generation.catalog, &info.path).is_some()
            || self.peers.as_ref().is_some_and(|peers| peers.is_served_by_peer(&generation.catalog, info))
    }

    fn stored_bytes(&self, info: &RequestInfo) -> usize {
        let Some(name) = info.parts.get(1) else { return 0 };
        let generation = self.served.now();
        let endpoint_entry = generation.catalog.find(&info.group, &info.version, &info.resource, "");
        endpoint_entry.map_or(0, |endpoint| {
            let row = endpoint.row.row();
            self.registry.cached_bytes(&Target { resource: row, namespace: &info.namespace, name })
        })
    }

    fn extent(&self, info: &RequestInfo) -> Option<Extent> {
        let generation = self.served.now();
        let endpoint = generation.catalog.find(&info.group, &info.version, &info.resource, "")?;
        self.registry.extent(endpoint.row.row(), &info.namespace, &info.selectors.fields)
    }

    fn watch_count(&self, info: &RequestInfo) -> usize {
        let generation = self.served.now();
        let endpoint_entry = generation.catalog.find(&info.group, &info.version, &info.resource, "");
        endpoint_entry.map_or(0, |endpoint| {
            let row = endpoint.row.row();
            let namespace = &*info.namespace;
            let name = &*info.name;
            self.registry.watches_of(&Target { resource: row, namespace, name })
        })
    }
}

/// Other server that serves a request.
enum RemoteServer<'a> {
    /// Another API server of the cluster.
    Peer(&'a PeerProxy),
    /// An aggregated API server.
    Aggregated(&'a ProxiedApiService),
}

impl Api {
    /// Returns the other server that serves a request; `None` if this server does.
    fn remote_server<'a>(
        &'a self,
        catalog: &'a Catalog,
        info: &RequestInfo,
        parts: &http::request::Parts,
    ) -> Option<RemoteServer<'a>> {
        if let Some(proxied) = aggregated::find_proxied(catalog, &info.path) {
            return Some(RemoteServer::Aggregated(proxied));
        }
        let peers = self.peers.as_deref().filter(|peers| peers.is_served_by_peer(catalog, info));
        // A request that a peer has forwarded is not forwarded again.
        peers.filter(|_| !PeerProxy::is_peer_proxied(parts)).map(RemoteServer::Peer)
    }

    fn may_write(&self, info: &RequestInfo, user: &UserInfo) -> Result<(), Box<Status>> {
        self.write_barrier.as_ref().map_or(Ok(()), |barrier| write_barrier::check(&**barrier, info, user))
    }

    async fn document(
        &self,
        generation: Arc<Generation>,
        mut parts: http::request::Parts,
        info: &RequestInfo,
        user: &UserInfo,
    ) -> Response {
        let Some(uri) = with_decoded_path(&parts.uri, &info.path) else {
            return document_response(None, ErrorForm::of(&parts));
        };
        parts.uri = uri;
        if is_under(parts.uri.path(), "/openapi") {
            // These documents are large and rendered for every request.
            let headers = parts.headers.clone();
            let uri = parts.uri.clone();
            let start = StartRequest {
                user: &user.name,
                retained_bytes: header::total_bytes(&headers),
                start_by: latest_start(None),
            };
            let described = self.cpu_pool.run(start, async move { generation.document(&parts) }).await;
            return document_response(
                described.unwrap_or_else(|overloaded| Some(Err(*Box::from(overloaded)))),
                ErrorForm { headers: &headers, uri: &uri },
            );
        }
        let merged = self.peers.as_ref().and_then(|peers| peers.discovery(&generation, &parts));
        let described = merged.or_else(|| generation.document(&parts));
        let described = described.or_else(|| self.documents.iter().find_map(|d| d.respond(&parts)));
        document_response(described, ErrorForm::of(&parts))
    }
}

/// Converts a document or its error into a response.
fn document_response(
    document: Option<Result<http::Response<Bytes>, Status>>,
    form: ErrorForm<'_>,
) -> Response {
    match document {
        Some(Ok(document)) => document.map(response::full),
        Some(Err(status)) => response::status_response(form, &status, &[]),
        None => response::plain(404, "404 page not found\n"),
    }
}

fn negotiate(
    parts: &http::request::Parts,
    info: &RequestInfo,
    query: &Query,
    route: &Route,
    formats: Formats,
) -> Result<Representation, Box<Status>> {
    if route.action == Action::Connect {
        // The other server negotiates the response. Errors negotiate their own format.
        return Ok(Representation::JSON);
    }
    if route.action == Action::Patch {
        handlers::patch::check_media_type(&parts.headers, route.resource.row.row(), formats)?;
    }
    if matches!(route.action, Action::Patch | Action::Update) {
        handlers::require_name(info.parts.get(1).map_or("", String::as_str))?;
    }
    let streams =
        matches!(route.action, Action::List | Action::Watch) && route.resource.row.row().serves("watch");
    let endpoint = route.endpoint.row.row();
    if endpoint.produces.is_empty() && endpoint.custom.is_none() {
        negotiation::check_accept(&parts.headers, streams, formats)?;
    }
    let offer = offer(endpoint);
    negotiation::negotiate_output(&parts.headers, query.first("pretty"), offer, formats)
}

/// Group and plural of kinds whose `status` is not available as a Table: upstream's storage for it has no table converter.
const STATUS_WITHOUT_TABLES: [(&str, &str); 7] = [
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourcepoolstatusrequests"),
    ("scheduling.k8s.io", "compositepodgroups"),
    ("scheduling.k8s.io", "podgroups"),
];

/// Returns the media types that an endpoint offers. Tables are not available for subresources other than `status` and
/// `scale`, nor for resources that are only created.
pub(crate) fn offer(endpoint: &Resource) -> Offer {
    let custom = endpoint.custom.is_some();
    let has_tables = || match endpoint.subresource {
        "status" => !STATUS_WITHOUT_TABLES.contains(&(endpoint.group, endpoint.plural)),
        subresource => subresource == "scale",
    };
    let tables = custom || endpoint.serves("list") || has_tables();
    if tables { Offer::Tables } else { Offer::Metadata }
}

async fn run(call: &mut RequestScope<'_>, incoming: ProxyRequest<'_>) -> Result<Response, Box<Status>> {
    match call.route.action {
        Action::Get => handlers::get::get(call, incoming.connection).await,
        Action::List | Action::Watch => handlers::list::list_or_watch(call, incoming.connection).await,
        Action::Create => handlers::create::create(call, incoming.body).await,
        Action::Update => handlers::update::update(call, incoming.body).await,
        Action::Patch => handlers::patch::patch(call, incoming.body).await,
        Action::Delete => handlers::delete::delete(call, incoming.body).await,
        Action::DeleteCollection => handlers::delete::delete_collection(call, incoming.body).await,
        Action::Connect => handlers::connect::connect(call, incoming).await,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use apimachinery::request_info::request_info;
    use jsontree::json;

    use super::*;

    #[test]
    fn missing_name_precedes_unacceptable_format() {
        let spec = json!({
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true}],
        });
        let catalog = Catalog::default().with_group(crate::testing::custom_group(&[spec]));
        let query = Query::default();
        for (method, media_type) in [("PUT", "application/json"), ("PATCH", "application/merge-patch+json")] {
            let path = "/apis/example.com/v1/namespaces/default/widgets";
            let request = http::Request::builder().method(method).uri(path);
            let request = request.header("accept", "text/plain").header("content-type", media_type);
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let info = request_info(method, path, &query).unwrap();
            let route = route(&catalog, &parts.method, &info).unwrap();
            let status = negotiate(&parts, &info, &query, &route, Formats::default()).err().unwrap();
            assert_eq!((status.code, &*status.message), (400, "name must be provided"), "{method}");
        }
    }
}
