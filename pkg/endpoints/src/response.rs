//! Responses: status line, headers, body. The only place that converts an error into a response.

pub(crate) mod chunks;
pub(crate) mod compressed;
pub(crate) mod encode;
pub(crate) mod forms;
pub(crate) mod gzip;
mod list;
pub(crate) mod list_body;
pub(crate) mod table;

use std::io::Write;
use std::sync::Arc;

use api::resources::{Handle, Resource, StorageSpec};
use apimachinery::status::{Reason, Status};
use bytes::Bytes;
use component_base::weakened::WeakenedDecisions;
use futures::future::BoxFuture;
use http::Uri;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, VARY,
};
use http::request::Parts;
use registry::{Budget, Element, StoredRef};
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA as PARTIAL;
use schema::object::Object;
use schema::table::Message;
use schema::yaml;

use crate::cpu_pool::{CpuPool, StartRequest};
use crate::negotiation::{self, Format, Formats, Offer, Representation, Transform};
use crate::response::encode::{ResponseObject, Shape};
use crate::response::table::TableRequest;
use crate::routing::dispatch::{Body, Response};
use crate::trace::Trace;
use crate::{header, warning};

pub use crate::routing::dispatch::full;
pub(crate) use list::CacheName;

/// Bodies above this size are compressed if the client accepts gzip (upstream's threshold).
const GZIP_ABOVE_BYTES: usize = 128 * 1024;

/// Settings that all responses to one request share.
#[derive(Clone)]
pub(crate) struct Responder<'r> {
    /// Row of the requested endpoint.
    pub(crate) endpoint: &'r Handle,
    pub(crate) headers: &'r HeaderMap,
    pub(crate) representation: Representation,
    pub(crate) warnings: Vec<String>,
    pub(crate) table: TableRequest,
    /// Memory budget of the memo for encoded forms.
    pub(crate) budget: &'r Arc<Budget>,
    pub(crate) trace: &'r Trace,
    /// Receiver of stored objects that cannot be encoded.
    pub(crate) weakened: &'r WeakenedDecisions,
    /// False if responses are never compressed (`APIResponseCompression`).
    pub(crate) may_compress: bool,
}

impl Responder<'_> {
    pub(crate) fn stored(
        &self,
        code: u16,
        storage: &StorageSpec<'_>,
        stored: StoredRef<'_>,
    ) -> Result<Response, Box<Status>> {
        let endpoint = self.endpoint.row();
        self.build_in_span(|| self.outgoing(code, &ResponseObject { endpoint, storage, stored, memo: None }))
    }

    /// Response with one element, whose encoded forms are shared.
    pub(crate) fn element(
        &self,
        code: u16,
        storage: &StorageSpec<'_>,
        element: &Element,
    ) -> Result<Response, Box<Status>> {
        let revision = element.revision();
        let outgoing = ResponseObject::element(self.endpoint.row(), storage, element, revision, self.budget);
        self.build_in_span(|| self.outgoing(code, &outgoing))
    }

    /// Builds a response within a trace span.
    fn build_in_span(
        &self,
        make: impl FnOnce() -> Result<Response, Box<Status>>,
    ) -> Result<Response, Box<Status>> {
        self.trace.serialized(self.endpoint.row().group_version, make)
    }

    /// Runs `make` on a thread of the CPU pool.
    ///
    /// # Errors
    /// 429 when the pool's queue is full or the wait is over, and the errors of `make`.
    pub(crate) async fn respond_in_pool(
        &self,
        pool: &CpuPool,
        start: StartRequest<'_>,
        make: impl for<'r> FnOnce(Responder<'r>) -> BoxFuture<'r, Result<Response, Box<Status>>> + Send + 'static,
    ) -> Result<Response, Box<Status>> {
        let endpoint = self.endpoint.clone();
        let headers = self.headers.clone();
        let representation = self.representation;
        let table = self.table;
        let budget = Arc::clone(self.budget);
        let warnings = self.warnings.clone();
        let trace = self.trace.clone();
        let weakened = self.weakened.clone();
        let may_compress = self.may_compress;
        let work = async move {
            let endpoint = &endpoint;
            let headers = &headers;
            let budget = &budget;
            let trace = &trace;
            let weakened = &weakened;
            make(Responder {
                endpoint,
                headers,
                representation,
                warnings,
                table,
                budget,
                trace,
                weakened,
                may_compress,
            })
            .await
        };
        pool.run(start, work).await?
    }

    fn outgoing(&self, code: u16, outgoing: &ResponseObject<'_>) -> Result<Response, Box<Status>> {
        let Representation { format, transform, transform_version, .. } = self.representation;
        let mut out = Vec::with_capacity(outgoing.stored.value.len() * 2 + 64);
        let shape = match transform {
            Transform::None => Shape::Whole,
            Transform::PartialObject => Shape::Metadata(transform_version),
            Transform::PartialList => {
                return Err(not_a_list_error(outgoing.endpoint));
            }
            Transform::Table => {
                let meta = table::metadata_of(outgoing);
                table::write(self.endpoint, &[*outgoing], &meta, self.table, true, &mut out)?;
                return self.json(code, out);
            }
        };
        match format {
            Format::Protobuf | Format::Cbor => encode::object(outgoing, shape, format, &mut out)?,
            _ => {
                encode::object(outgoing, shape, Format::Json, &mut out)?;
                return self.json(code, out);
            }
        }
        Ok(self.bytes(code, out))
    }

    /// Response in the negotiated text format from JSON without its final newline.
    fn json(&self, code: u16, mut json: Vec<u8>) -> Result<Response, Box<Status>> {
        if self.representation.format == Format::Yaml {
            let mut out = Vec::with_capacity(json.len());
            yaml::from_json(&json, &mut out).map_err(encode::encoding_error)?;
            return Ok(self.bytes(code, out));
        }
        json.push(b'\n');
        Ok(self.bytes(code, json))
    }

    /// Response with an object that is not stored in this form, such as a Scale.
    pub(crate) fn tree(&self, code: u16, object: &Object) -> Result<Response, Box<Status>> {
        self.build_in_span(|| self.of_tree(code, object))
    }

    fn of_tree(&self, code: u16, object: &Object) -> Result<Response, Box<Status>> {
        let mut out = Vec::new();
        match self.representation.transform {
            Transform::PartialObject => {
                let partial = encode::partial(object.clone(), self.representation.transform_version);
                self.tree_into(&PARTIAL, &partial, &mut out)?;
            }
            Transform::PartialList => return Err(not_a_list_error(self.endpoint.row())),
            Transform::Table => {
                table::write_tree(self.endpoint, object, self.table, &mut out)?;
                return self.json(code, out);
            }
            Transform::None => self.tree_into(self.endpoint.row().message, object, &mut out)?,
        }
        Ok(self.bytes(code, out))
    }

    /// Response with a table of objects that are not stored.
    fn table(&self, objects: Vec<Object>) -> Result<Response, Box<Status>> {
        let mut table = table::Writer::new(self.endpoint, self.table);
        let mut out = Vec::new();
        table.begin(&Object::new(), true, &mut out)?;
        for object in objects {
            table.row(&table::Item::Tree(object), &mut out)?;
        }
        table.end(&mut out);
        self.json(200, out)
    }

    fn tree_into(
        &self,
        message: &'static Message,
        object: &Object,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        encode::tree(message, object, self.representation.format, out)
    }

    pub(crate) fn success(&self, status: &Status) -> Response {
        self.trace.serialized_error(|| status_as(self.representation, status, &self.warnings))
    }

    /// Response with a body in the negotiated format, indented and compressed as negotiated.
    fn bytes(&self, code: u16, body: Vec<u8>) -> Response {
        let body = if self.representation.pretty { pretty(body) } else { body };
        let gzip = body.len() > GZIP_ABOVE_BYTES && self.compresses();
        match if gzip { compress(&body) } else { None } {
            Some(zipped) => self.response(code, full(zipped), true),
            None => self.response(code, full(body), false),
        }
    }

    /// True if a large response is compressed.
    fn compresses(&self) -> bool {
        self.may_compress && accepts_gzip(self.headers)
    }

    fn response(&self, code: u16, body: Body, gzip: bool) -> Response {
        let mut response = http::Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::OK);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.representation.format.media_type()));
        if gzip {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        warning::add(headers, &self.warnings);
        response
    }
}

/// 406 for a single object that was requested as a list.
pub(crate) fn not_a_list_error(endpoint: &Resource) -> Box<Status> {
    wrong_shape_error("PartialObjectMetadataList", "is not a list", endpoint)
}

/// 406 for a single object that was requested as a list, or the reverse. The text contains upstream's
/// internal Go type.
fn wrong_shape_error(requested: &str, is: &str, endpoint: &Resource) -> Box<Status> {
    let package = match endpoint.group.split('.').next().unwrap_or("") {
        "" => "core",
        group => group,
    };
    let list = if is == "is a list" { "List" } else { "" };
    let message = format!(
        "you requested {requested}, but the requested object {is} (*{package}.{}{list})",
        endpoint.kind
    );
    Status::failure(406, Reason::NotAcceptable, message).into()
}

/// Indents JSON by two spaces; other bytes are unchanged.
fn pretty(body: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() * 2);
    schema::json_write::indent(&body, &mut out);
    out
}

/// True if the client accepts gzip. Like upstream, it ignores a coding with a weight.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    header::texts(headers, ACCEPT_ENCODING).any(|value| value.split(',').any(|token| token.trim() == "gzip"))
}

/// Compresses a body. Returns `None` on an error, which does not happen for a vector.
fn compress(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder =
        flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 4), flate2::Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// The parts of a request that select the form of an error response.
#[derive(Debug, Clone, Copy)]
pub struct ErrorForm<'r> {
    /// Headers with `Accept` and the user agent.
    pub headers: &'r HeaderMap,
    /// URI with the parameter `pretty`.
    pub uri: &'r Uri,
}

impl<'r> ErrorForm<'r> {
    /// Returns the form of the errors of a request.
    pub fn of(request: &'r Parts) -> Self {
        ErrorForm { headers: &request.headers, uri: &request.uri }
    }

    fn negotiate(self, formats: Formats) -> Result<Representation, Box<Status>> {
        let pretty = negotiation::query_pretty(self.uri);
        negotiation::negotiate_output(self.headers, pretty, Offer::Objects, formats)
    }
}

/// [`status_in`] the default formats, for errors in front of the API and at paths that name no resource.
pub fn status_response(form: ErrorForm<'_>, status: &Status, warnings: &[String]) -> Response {
    status_in(Formats::default(), form, status, warnings)
}

/// Response with a Status in the format that the client accepts. A Status has no table. If `Accept` matches
/// no format, the response is indented JSON (upstream's `WriteObjectNegotiated`).
pub(crate) fn status_in(
    formats: Formats,
    form: ErrorForm<'_>,
    status: &Status,
    warnings: &[String],
) -> Response {
    let indented = Representation { pretty: true, ..Representation::JSON };
    status_as(form.negotiate(formats).unwrap_or(indented), status, warnings)
}

fn status_as(negotiated: Representation, status: &Status, warnings: &[String]) -> Response {
    let mut out = Vec::new();
    let mut format = negotiated.format;
    if encode::tree(encode::status_message(), &encode::status_tree(status), format, &mut out).is_err() {
        format = Format::Json;
        out = serde_json::to_vec(status).unwrap_or_default();
    }
    let body = if negotiated.pretty && format == Format::Json { pretty(out) } else { out };
    let mut response = http::Response::new(full(body));
    let code = if status.code == 0 { 200 } else { status.code };
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    if status.retry_after_seconds() > 0 {
        headers.insert(RETRY_AFTER, HeaderValue::from(status.retry_after_seconds()));
    }
    warning::add(headers, warnings);
    response
}

/// Plain-text response, as upstream sends outside of API groups.
pub fn plain(code: u16, text: impl Into<Bytes>) -> Response {
    let mut response = http::Response::new(full(text));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
