//! Answers: status line, headers, body. The one place where an error becomes a response.

use std::io::Write;

use api::resources::{Resource, Storage as StorageRow};
use apimachinery::status::Status;
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, VARY, WARNING,
};
use http_body_util::{BodyExt, Full};
use registry::Stored;
use registry::generic::ListPage;
use schema::builtin;
use schema::object::Object;
use schema::table::Message;

use crate::dispatch::{Body, Response};
use crate::encode::{self, Outgoing};
use crate::list_body;
use crate::negotiate::{self, Format, Offer, Representation, Transform};
use crate::table::{self, TableRequest};

/// Bodies above this size are compressed for clients that take gzip (upstream's threshold).
const GZIP_ABOVE_BYTES: usize = 128 * 1024;

/// A body that is already complete.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// What every answer to one request shares.
#[derive(Clone)]
pub(crate) struct Reply<'r> {
    /// The request's headers.
    pub(crate) headers: &'r HeaderMap,
    /// How to answer.
    pub(crate) representation: Representation,
    /// Texts for `Warning` headers.
    pub(crate) warnings: Vec<String>,
    /// What tables need.
    pub(crate) table: TableRequest,
}

impl Reply<'_> {
    /// One stored object.
    pub(crate) fn stored(
        &self,
        code: u16,
        endpoint: &'static Resource,
        storage: &'static StorageRow,
        stored: &Stored,
    ) -> Result<Response, Box<Status>> {
        let outgoing = Outgoing { endpoint, storage, stored };
        let mut out = Vec::with_capacity(stored.value.len() * 2 + 64);
        match self.representation.transform {
            Transform::None => encode::object(&outgoing, self.representation.format, &mut out)?,
            Transform::PartialObject => {
                let partial = outgoing.partial(self.representation.transform_version)?;
                self.tree_into(
                    &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA,
                    &partial,
                    &mut out,
                )?;
            }
            Transform::PartialList => {
                return Err(wrong_shape("PartialObjectMetadataList", "is not a list", endpoint));
            }
            Transform::Table => {
                let table =
                    table::table(endpoint, &[outgoing], table::metadata_of(&outgoing), self.table, true)?;
                self.tree_into(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_TABLE, &table, &mut out)?;
            }
        }
        Ok(self.bytes(code, out))
    }

    /// A list.
    pub(crate) fn list(
        &self,
        endpoint: &'static Resource,
        storage: &'static StorageRow,
        page: &ListPage,
    ) -> Result<Response, Box<Status>> {
        let mut out = Vec::new();
        let outgoing: Vec<Outgoing<'_>> = match self.representation.transform {
            Transform::None => Vec::new(),
            _ => page.items.iter().map(|stored| Outgoing { endpoint, storage, stored }).collect(),
        };
        match self.representation.transform {
            Transform::None => {
                list_body::write(endpoint, storage, page, self.representation.format, &mut out)?
            }
            Transform::PartialObject => {
                return Err(wrong_shape("PartialObjectMetadata", "is a list", endpoint));
            }
            Transform::PartialList => {
                let list = partial_list(&outgoing, page, self.representation.transform_version)?;
                self.tree_into(
                    &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATALIST,
                    &list,
                    &mut out,
                )?;
            }
            Transform::Table => {
                let table = table::table(endpoint, &outgoing, list_body::list_meta(page), self.table, true)?;
                self.tree_into(&builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_TABLE, &table, &mut out)?;
            }
        }
        Ok(self.bytes(200, out))
    }

    /// An object that is not stored in this shape, such as a Scale.
    pub(crate) fn tree(
        &self,
        code: u16,
        message: &'static Message,
        object: &Object,
    ) -> Result<Response, Box<Status>> {
        let mut out = Vec::new();
        match self.representation.transform {
            Transform::PartialObject => {
                let partial = encode::partial(object.clone(), self.representation.transform_version);
                self.tree_into(
                    &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA,
                    &partial,
                    &mut out,
                )?;
            }
            _ => self.tree_into(message, object, &mut out)?,
        }
        Ok(self.bytes(code, out))
    }

    fn tree_into(
        &self,
        message: &'static Message,
        object: &Object,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        encode::tree(message, object, self.representation.format, out)
    }

    /// A Status that is not a failure.
    pub(crate) fn success(&self, status: &Status) -> Response {
        status_response(self.headers, Some(self.representation), status, &self.warnings)
    }

    /// A body in the negotiated format, indented and compressed as asked for.
    fn bytes(&self, code: u16, body: Vec<u8>) -> Response {
        let body = if self.representation.pretty { pretty(body) } else { body };
        let gzip = body.len() > GZIP_ABOVE_BYTES && takes_gzip(self.headers);
        let zipped = if gzip { compress(&body) } else { None };
        let encoded = zipped.is_some();
        let mut response = http::Response::new(full(zipped.unwrap_or(body)));
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::OK);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.representation.format.media_type()));
        if encoded {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        add_warnings(headers, &self.warnings);
        response
    }
}

/// `Warning: 299 - "text"`, once per text.
pub(crate) fn add_warnings(headers: &mut HeaderMap, warnings: &[String]) {
    for (at, text) in warnings.iter().enumerate() {
        if warnings.iter().take(at).any(|earlier| earlier == text) {
            continue;
        }
        let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            headers.append(WARNING, value);
        }
    }
}

fn partial_list(items: &[Outgoing<'_>], page: &ListPage, version: &str) -> Result<Object, Box<Status>> {
    let mut list = Object::new();
    list.insert("kind".to_owned(), "PartialObjectMetadataList".into());
    list.insert("apiVersion".to_owned(), format!("meta.k8s.io/{version}").into());
    list.insert("metadata".to_owned(), list_body::list_meta(page).into());
    let items = items.iter().map(|item| item.partial(version).map(serde_json::Value::Object));
    let items = items.collect::<Result<Vec<_>, _>>()?;
    // Upstream leaves the items of an empty partial list nil.
    if !items.is_empty() {
        list.insert("items".to_owned(), items.into());
    }
    Ok(list)
}

/// 406 for asking one object as a list or the reverse; upstream names its internal Go type.
fn wrong_shape(wanted: &str, is: &str, endpoint: &Resource) -> Box<Status> {
    let package = match endpoint.group.split('.').next().unwrap_or("") {
        "" => "core",
        group => group,
    };
    let list = if is == "is a list" { "List" } else { "" };
    let message =
        format!("you requested {wanted}, but the requested object {is} (*{package}.{}{list})", endpoint.kind);
    Status::failure(406, "NotAcceptable", message).into()
}

/// Indents JSON by two spaces; other bytes stay as they are.
fn pretty(body: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len() * 2);
    schema::json_write::indent(&body, &mut out);
    out
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok());
    values.flat_map(|v| v.split(',')).any(|token| token.trim() == "gzip")
}

/// `None` when compression fails, which for a vector it does not.
fn compress(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder =
        flate2::write::GzEncoder::new(Vec::with_capacity(body.len() / 4), flate2::Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

/// A Status as a response in the format that the client accepts, JSON if it accepts none.
pub fn status_response(
    headers: &HeaderMap,
    representation: Option<Representation>,
    status: &Status,
    warnings: &[String],
) -> Response {
    let negotiated = representation.unwrap_or_else(|| {
        negotiate::output(headers, None, Offer { transforms: true }).unwrap_or(Representation::JSON)
    });
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
    add_warnings(headers, warnings);
    response
}

/// Plain text, as upstream answers where no API group is at home.
pub fn plain(code: u16, text: &'static str) -> Response {
    let mut response = http::Response::new(full(text));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}
