//! Discovery of groups, versions and resources at `/api`, `/apis` and below, in the legacy and the aggregated
//! (KEP-3352) format, and `/version`.

mod accept;
mod document;
mod merge;
mod model;
#[cfg(test)]
mod tests;
mod trees;
mod version;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use apimachinery::status::Status;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH, VARY};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use schema::builtin::{
    IO_K8S_API_APIDISCOVERY_V2_APIGROUPDISCOVERYLIST, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUP,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUPLIST, IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIRESOURCELIST,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIVERSIONS,
};
use schema::object::Object;
use schema::table::Message;

use crate::negotiation::{self, Format, Formats, Offer};
use crate::scheme::AGGREGATOR_GROUP;
use accept::AggregatedVersion;
pub(crate) use accept::{header as accept_header, route as accept_route};
use document::Document;
pub(crate) use merge::MergedDiscovery;
pub use model::{ApiResource, Group, Source, Text, Version, groups_of};
pub use version::VersionInfo;

/// A response, or the error that the caller encodes like every other.
type DocumentResult = Result<Response<Bytes>, Box<Status>>;

/// All discovery responses for one state of the served API. It is replaced when groups or resources change.
#[derive(Debug)]
pub struct Discovery {
    /// Computed at the first request, because many states are replaced before any request.
    groups: LazyLock<Vec<DocumentedGroup>, Describe>,
    server_address: String,
    version: Bytes,
    api: Document,
    apis: Document,
    aggregated_api: Document,
    aggregated_apis: Document,
    formats: Formats,
    /// True to serve aggregated documents also as `v2beta1`.
    beta: bool,
    /// Number of times that the aggregated documents were built, in this state and the previous ones.
    aggregations: Arc<AtomicU64>,
}

/// Computes the groups.
type Describe = Box<dyn FnOnce() -> Vec<DocumentedGroup> + Send + Sync>;

#[derive(Debug)]
struct DocumentedGroup {
    group: Group,
    document: Document,
    /// One per version of the group.
    versions: Vec<Document>,
}

impl Discovery {
    /// Creates the documents. `groups` is called once, at the first request. `server_address` is the
    /// advertised `host:port`.
    pub fn new(
        groups: impl FnOnce() -> Vec<Group> + Send + Sync + 'static,
        server_address: String,
        version: &VersionInfo,
    ) -> Self {
        let documented = |group: Group| DocumentedGroup {
            versions: group.versions.iter().map(|_| Document::default()).collect(),
            document: Document::default(),
            group,
        };
        let describe = move || {
            let mut groups = groups();
            model::sort(&mut groups);
            groups.into_iter().map(documented).collect()
        };
        Discovery {
            groups: LazyLock::new(Box::new(describe)),
            server_address,
            version: serde_json::to_vec_pretty(version).unwrap_or_default().into(),
            api: Document::default(),
            apis: Document::default(),
            aggregated_api: Document::default(),
            aggregated_apis: Document::default(),
            formats: Formats::default(),
            beta: false,
            aggregations: Arc::default(),
        }
    }

    /// Continues the counters of the previous state.
    #[must_use]
    pub(crate) fn continuing(self, before: &Discovery) -> Self {
        Discovery { aggregations: Arc::clone(&before.aggregations), ..self }
    }

    /// Number of times that the aggregated documents were built, in this state and the previous ones.
    pub(crate) fn aggregations(&self) -> u64 {
        self.aggregations.load(Relaxed)
    }

    /// Sets the formats of the documents of built-in group versions. As in upstream, these documents have the
    /// formats of the resources that they list. The gates do not affect documents of custom resources or the
    /// documents above group versions.
    #[must_use]
    pub fn with_formats(self, formats: Formats) -> Self {
        Discovery { formats, ..self }
    }

    /// Serves the aggregated documents also as `apidiscovery.k8s.io/v2beta1`.
    #[must_use]
    pub fn with_beta(self, beta: bool) -> Self {
        Discovery { beta, ..self }
    }

    /// The groups in listing order.
    pub fn groups(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().map(|documented| &documented.group)
    }

    /// Responds to a request for a document; `None` when its path names none. An unknown version of a
    /// built-in group counts as a document that does not exist, as in upstream's router.
    ///
    /// The response to `HEAD` contains the body; the caller drops it.
    ///
    /// # Errors
    /// 404, 405, 406.
    pub fn respond(&self, request: &Parts) -> Option<Result<Response<Bytes>, Status>> {
        Some(self.route(request)?.map_err(|status| *status))
    }

    fn route(&self, request: &Parts) -> Option<DocumentResult> {
        let path = request.uri.path();
        if path.starts_with("/apis//") {
            return None;
        }
        // Upstream's router ignores final slashes.
        let mut segments = path.strip_prefix('/')?.trim_end_matches('/').split('/');
        let first = segments.next()?;
        let second = segments.next();
        let third = segments.next();
        match (first, second, third) {
            ("version", None, None) => Some(self.version(request)),
            ("version", Some(_), _) => Some(Err(Status::unknown_path().into())),
            _ if segments.next().is_some() => None,
            ("api", None, None) => Some(self.api(request)),
            ("apis", None, None) => Some(self.apis(request)),
            ("api", Some(version), None) => self.group_version(request, "", version),
            ("apis", Some(group), None) if !group.is_empty() => self.group(request, group),
            ("apis", Some(group), Some(version)) if !group.is_empty() => {
                self.group_version(request, group, version)
            }
            _ => None,
        }
    }

    /// Returns the aggregated format that a request for `/apis` accepts, if any. Documents of several servers are
    /// only merged in version `v2`.
    pub(crate) fn merged_apis_format(&self, request: &Parts) -> Option<accept::AggregatedOptions> {
        let path = request.uri.path();
        let options = accept::aggregated(&accept::header(&request.headers), self.beta)
            .filter(|options| options.version == AggregatedVersion::V2);
        options.filter(|_| path.strip_suffix('/').unwrap_or(path) == "/apis")
    }

    /// Returns the aggregated document of all named groups.
    pub(crate) fn aggregated_groups(&self) -> Object {
        self.aggregate(self.named_groups())
    }

    fn named_groups(&self) -> impl Iterator<Item = &Group> {
        self.groups().filter(|group| !group.name.is_empty())
    }

    fn core(&self) -> Option<&Group> {
        self.groups().find(|group| group.name.is_empty())
    }

    /// Builds an aggregated document and counts it.
    fn aggregate<'g>(&self, groups: impl Iterator<Item = &'g Group>) -> Object {
        self.aggregations.fetch_add(1, Relaxed);
        trees::aggregated(groups)
    }

    fn version(&self, request: &Parts) -> DocumentResult {
        routed(request, |header| accept::route(header, &["application/json"]))?;
        Ok(response(Format::Json.media_type(), self.version.clone()))
    }

    fn api(&self, request: &Parts) -> DocumentResult {
        routed(request, |header| accept::route_objects(header, Formats::default()))?;
        if let Some(options) = self.aggregated_options(request) {
            let tree = || self.aggregate(self.core().into_iter());
            return aggregated_response(request, &self.aggregated_api, options, &tree);
        }
        let tree = || trees::api_versions(self.core(), &self.server_address);
        let message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIVERSIONS;
        plain(request, &self.api, message, Formats::default(), tree)
    }

    fn apis(&self, request: &Parts) -> DocumentResult {
        if let Some(options) = self.aggregated_options(request) {
            let tree = || self.aggregate(self.named_groups());
            return aggregated_response(request, &self.aggregated_apis, options, &tree);
        }
        let tree = || trees::api_group_list(self.named_groups());
        let message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUPLIST;
        plain(request, &self.apis, message, Formats::default(), tree)
    }

    fn aggregated_options(&self, request: &Parts) -> Option<accept::AggregatedOptions> {
        accept::aggregated(&accept::header(&request.headers), self.beta)
    }

    /// The aggregator serves documents of other servers' groups for any method. Its own group goes through a
    /// router.
    fn group(&self, request: &Parts, name: &str) -> Option<DocumentResult> {
        let DocumentedGroup { group, document, .. } = self.groups.iter().find(|g| g.group.name == name)?;
        if name == AGGREGATOR_GROUP
            && let Err(rejection) = routed(request, |header| accept::route_objects(header, self.formats))
        {
            return Some(Err(rejection));
        }
        let tree = || trees::api_group(group);
        let message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIGROUP;
        Some(plain(request, document, message, Formats::default(), tree))
    }

    fn group_version(&self, request: &Parts, group: &str, version: &str) -> Option<DocumentResult> {
        let documented = self.groups.iter().find(|g| g.group.name == group)?;
        let mut versions = documented.group.versions.iter().zip(&documented.versions);
        let Some((version, document)) = versions.find(|(v, _)| v.name == version) else {
            let builtin = documented.group.versions.iter().any(|v| v.source == Source::Builtin);
            return builtin.then(|| Err(Status::unknown_path().into()));
        };
        let formats = match version.source {
            Source::Proxied { .. } => return None,
            Source::Custom => Formats::default(),
            Source::Builtin => {
                if let Err(rejection) = routed(request, |header| accept::route_objects(header, self.formats))
                {
                    return Some(Err(rejection));
                }
                self.formats
            }
        };
        let tree = || trees::api_resource_list(&documented.group, version);
        let message = &IO_K8S_APIMACHINERY_PKG_APIS_META_V1_APIRESOURCELIST;
        Some(plain(request, document, message, formats, tree))
    }
}

/// Upstream's router checks before the handler: the method, then the media types.
fn routed(request: &Parts, accepts: impl FnOnce(&str) -> Result<(), Box<Status>>) -> Result<(), Box<Status>> {
    if request.method != Method::GET {
        return Err(Status::method_not_allowed().into());
    }
    accepts(&accept::header(&request.headers))
}

/// Returns a document in the format that the request accepts.
fn plain(
    request: &Parts,
    document: &Document,
    message: &'static Message,
    formats: Formats,
    tree: impl Fn() -> Object,
) -> DocumentResult {
    let offer = Offer::Objects;
    let negotiated = negotiation::negotiate_output(
        &request.headers,
        negotiation::query_pretty(&request.uri),
        offer,
        formats,
    )?;
    let body = document.encoded(message, negotiated.format, negotiated.pretty, tree)?;
    Ok(response(negotiated.format.media_type(), body))
}

/// Returns the aggregated document with an entity tag, which is the same for all versions and formats.
fn aggregated_response(
    request: &Parts,
    document: &Document,
    options: accept::AggregatedOptions,
    tree: &impl Fn() -> Object,
) -> DocumentResult {
    let message = &IO_K8S_API_APIDISCOVERY_V2_APIGROUPDISCOVERYLIST;
    let etag = document.etag(message, tree)?;
    let unmodified =
        request.headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == etag.as_bytes());
    let mut response = if unmodified {
        let mut unchanged = Response::new(Bytes::new());
        *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
        unchanged
    } else {
        let accept::AggregatedOptions { version, format, .. } = options;
        let pretty = options.pretty
            || negotiation::is_pretty(&request.headers, negotiation::query_pretty(&request.uri));
        let body = match version {
            AggregatedVersion::V2 => document.encoded(message, format, pretty, tree)?,
            AggregatedVersion::V2beta1 => {
                Document::default().encoded(message, format, pretty, || versioned(tree(), version))?
            }
        };
        response(&[format.media_type(), version.parameters()].concat(), body)
    };
    let headers = response.headers_mut();
    if let Ok(etag) = HeaderValue::from_str(etag) {
        headers.insert(ETAG, etag);
    }
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    Ok(response)
}

/// Returns the document in another version.
fn versioned(mut document: Object, version: AggregatedVersion) -> Object {
    document.insert("apiVersion", version.api_version().into());
    document
}

fn response(content_type: &str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}
