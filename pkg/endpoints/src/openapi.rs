//! `/openapi/v2` and `/openapi/v3`: descriptions of the API for programs, made from the same rows and
//! tables that serve it (KEP-2896 for the one-per-version documents).

mod content;
mod custom;
mod gnostic;
mod model;
mod names;
mod paths;
#[cfg(test)]
mod tests;
mod v2;
mod v3;

use std::sync::{Arc, OnceLock};

use api::resources::Resource;
use apimachinery::clock::Clock;
use apimachinery::time::UnixTime;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, EXPIRES, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use http::request::Parts;
use http::{HeaderMap, Response, StatusCode};
use schema::openapi::Writer;
use sha2::{Digest, Sha512};

use crate::negotiate::{Formats, accept_clauses};
use content::{Content, Subject};
pub use custom::{CustomResource, custom_document};

/// The subtype of Swagger 2.0 as protobuf, as answers spell it.
const PROTOBUF_V2: &str = "com.github.proto-openapi.spec.v2.v1.0+protobuf";
/// The same as clients spell it; `@` is no letter of a media type.
const PROTOBUF_V2_OLD: &str = "com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// Tells whether a row is served.
pub type IsServed = dyn Fn(&Resource) -> bool + Send + Sync;

/// A document of OpenAPI 3.0 that is made elsewhere: by [`custom_document`], or by another server.
#[derive(Debug, Clone)]
pub struct Published {
    /// Path below `/openapi/v3/`, for example `apis/example.com/v1`.
    pub path: String,
    /// The document.
    pub json: Bytes,
}

/// The documents for one state of the served API. Each is made when it is first asked for and then
/// kept: under 7 MB if a client asks for every one of them in every form.
pub struct OpenApi {
    served: Arc<IsServed>,
    clock: Arc<dyn Clock>,
    /// Sorted by path.
    documents: Vec<Entry>,
    index: Cached,
    swagger: Cached,
    swagger_protobuf: OnceLock<Bytes>,
    /// What the media types are.
    formats: Formats,
}

struct Entry {
    path: String,
    /// None for one that is made elsewhere; then `document` holds it from the start.
    subject: Option<Subject>,
    document: Cached,
}

/// A document with its entity tag. The index needs all tags but no document, so they are kept apart.
#[derive(Debug, Default)]
struct Cached {
    json: OnceLock<Bytes>,
    /// Upper-case hexadecimal SHA-512 of the document, without quotes.
    tag: OnceLock<String>,
}

impl Cached {
    fn json(&self, make: impl FnOnce() -> Vec<u8>) -> &Bytes {
        self.json.get_or_init(|| make().into())
    }

    /// The tag of a document that is about to be served.
    fn tag(&self, make: impl FnOnce() -> Vec<u8>) -> &str {
        self.tag.get_or_init(|| tag_of(self.json(make)))
    }

    /// The tag alone; a document that is made for it is not kept.
    fn tag_only(&self, make: impl FnOnce() -> Vec<u8>) -> &str {
        self.tag.get_or_init(|| self.json.get().map_or_else(|| tag_of(&make()), |json| tag_of(json)))
    }
}

fn tag_of(document: &[u8]) -> String {
    Sha512::digest(document).iter().map(|byte| format!("{byte:02X}")).collect()
}

impl OpenApi {
    /// Nothing is written yet. The clock is for the `Expires` header.
    pub fn new(served: Arc<IsServed>, published: Vec<Published>, clock: Arc<dyn Clock>) -> Self {
        let builtin = Subject::all(&*served).into_iter().map(|subject| Entry {
            path: subject.path(),
            subject: Some(subject),
            document: Cached::default(),
        });
        let published = published.into_iter().map(|Published { path, json }| Entry {
            path,
            subject: None,
            document: Cached { json: OnceLock::from(json), tag: OnceLock::new() },
        });
        let mut documents: Vec<Entry> = builtin.chain(published).collect();
        documents.sort_by(|a, b| a.path.cmp(&b.path));
        OpenApi {
            served,
            clock,
            documents,
            index: Cached::default(),
            swagger: Cached::default(),
            swagger_protobuf: OnceLock::new(),
            formats: Formats::default(),
        }
    }

    /// Has the documents list the media types of these formats.
    #[must_use]
    pub fn in_formats(self, formats: Formats) -> Self {
        OpenApi { formats, ..self }
    }

    /// Answers a request below `/openapi`, whatever its method; `None` for a path that is not served.
    /// A `HEAD` gets the body too; whoever writes the answer leaves it out.
    pub fn respond(&self, request: &Parts) -> Option<Response<Bytes>> {
        match request.uri.path() {
            "/openapi/v2" => Some(self.respond_swagger(request)),
            "/openapi/v3" => Some(self.respond_index(request)),
            path => Some(self.respond_document(request, path.strip_prefix("/openapi/v3/")?)),
        }
    }

    fn respond_index(&self, request: &Parts) -> Response<Bytes> {
        let tag = self.index.tag(|| self.index());
        let mut response = unless_known(&request.headers, tag, || self.index.json(|| self.index()).clone());
        // Upstream's aggregator forgets to say what it is and Go guesses.
        content_type(&mut response, "text/plain; charset=utf-8");
        response
    }

    fn respond_document(&self, request: &Parts, path: &str) -> Response<Bytes> {
        let found = self.documents.binary_search_by(|entry| entry.path.as_str().cmp(path));
        let Some(entry) = found.ok().and_then(|at| self.documents.get(at)) else {
            return empty(StatusCode::NOT_FOUND);
        };
        if accepted(&request.headers, &["json"]).is_none() {
            let mut response = empty(StatusCode::NOT_ACCEPTABLE);
            response.headers_mut().append(VARY, HeaderValue::from_static("Accept"));
            return response;
        }
        let make = || self.document(entry);
        let tag = entry.document.tag(make);
        let asked = hash_parameter(request);
        let mut response = match asked {
            Some(hash) if hash != tag => moved(&location(path, tag), tag),
            _ => unless_known(&request.headers, tag, || entry.document.json(make).clone()),
        };
        content_type(&mut response, "application/json");
        let headers = response.headers_mut();
        headers.append(VARY, HeaderValue::from_static("Accept"));
        if asked == Some(tag) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
            let now = self.clock.now();
            let expires = UnixTime { seconds: now.seconds.saturating_add(YEAR_SECONDS), ..now };
            headers.extend(HeaderValue::from_str(&http_date(expires)).ok().map(|date| (EXPIRES, date)));
        }
        response
    }

    fn respond_swagger(&self, request: &Parts) -> Response<Bytes> {
        let mut response = match accepted(&request.headers, &["json", PROTOBUF_V2_OLD, PROTOBUF_V2]) {
            None => empty(StatusCode::NOT_ACCEPTABLE),
            Some(subtype) => {
                let tag = self.swagger.tag(|| self.swagger());
                let json = subtype == "json";
                let body = || {
                    if json { self.swagger.json(|| self.swagger()).clone() } else { self.swagger_protobuf() }
                };
                let mut response = unless_known(&request.headers, tag, body);
                let protobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
                content_type(&mut response, if json { "application/json" } else { protobuf });
                response
            }
        };
        for value in ["Accept-Encoding", "Accept"] {
            response.headers_mut().append(VARY, HeaderValue::from_static(value));
        }
        response
    }

    fn swagger(&self) -> Vec<u8> {
        v2::document(&Content::of_everything(&*self.served, self.formats))
    }

    fn swagger_protobuf(&self) -> Bytes {
        let make = || {
            let json = self.swagger.json(|| self.swagger());
            serde_json::from_slice(json).map_or_else(|_| Bytes::new(), |tree| gnostic::document(&tree).into())
        };
        self.swagger_protobuf.get_or_init(make).clone()
    }

    fn document(&self, entry: &Entry) -> Vec<u8> {
        match entry.subject {
            Some(subject) => v3::document(&Content::of_subject(subject, &*self.served, self.formats)),
            None => Vec::new(),
        }
    }

    /// The list of documents, each under the hash of what it says.
    fn index(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.object(|w| {
            w.key("paths");
            w.object(|w| {
                for entry in &self.documents {
                    w.key(&entry.path);
                    let tag = entry.document.tag_only(|| self.document(entry));
                    w.object(|w| w.text("serverRelativeURL", &location(&entry.path, tag)));
                }
            });
        });
        w.into_bytes()
    }
}

/// How long a document that is asked for by its hash may be kept: for ever, as far as HTTP allows.
const YEAR_SECONDS: i64 = 365 * DAY_SECONDS;
const DAY_SECONDS: i64 = 24 * 60 * 60;

/// A time as HTTP headers spell it (RFC 9110, 5.6.7).
fn http_date(time: UnixTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time.rfc3339().to_string();
    let (date, clock) = text.split_once('T').unwrap_or((&text, ""));
    let (year, rest) = date.split_once('-').unwrap_or((date, ""));
    let (month, day) = rest.split_once('-').unwrap_or((rest, ""));
    let month = month.parse::<usize>().ok().and_then(|m| MONTHS.get(m.wrapping_sub(1))).unwrap_or(&"");
    let weekday = time.seconds.div_euclid(DAY_SECONDS).rem_euclid(7);
    let weekday = usize::try_from(weekday).ok().and_then(|at| DAYS.get(at)).unwrap_or(&"");
    format!("{weekday}, {day} {month} {year} {} GMT", clock.trim_end_matches('Z'))
}

fn location(path: &str, tag: &str) -> String {
    format!("/openapi/v3/{path}?hash={tag}")
}

/// The hash that the request wants; one that is empty counts as none.
fn hash_parameter(request: &Parts) -> Option<&str> {
    let mut pairs = request.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "hash").map(|(_, hash)| hash).filter(|hash| !hash.is_empty())
}

/// The first of the subtypes of `application` that the best clause takes. No header takes anything.
fn accepted(headers: &HeaderMap, subtypes: &[&'static str]) -> Option<&'static str> {
    let header = match crate::discovery::accept_header(headers) {
        "" => "*/*",
        header => header,
    };
    accept_clauses(header).iter().find_map(|clause| {
        let takes = |subtype: &&&'static str| clause.sub == "*" || clause.sub == **subtype;
        let found = matches!(clause.main, "application" | "*").then(|| subtypes.iter().find(takes))?;
        found.copied()
    })
}

/// 304 if the client has the document, else the document; under its tag.
fn unless_known(headers: &HeaderMap, tag: &str, body: impl FnOnce() -> Bytes) -> Response<Bytes> {
    let quoted = format!("\"{tag}\"");
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok()).any(|value| {
        value
            .split(',')
            .map(str::trim)
            .any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one) == quoted)
    });
    let mut response = if known { empty(StatusCode::NOT_MODIFIED) } else { Response::new(body()) };
    response.headers_mut().extend(HeaderValue::from_str(&quoted).ok().map(|value| (ETAG, value)));
    response
}

fn moved(location: &str, tag: &str) -> Response<Bytes> {
    let mut response = empty(StatusCode::MOVED_PERMANENTLY);
    let headers = response.headers_mut();
    headers.extend(HeaderValue::from_str(location).ok().map(|value| (LOCATION, value)));
    headers.extend(HeaderValue::from_str(&format!("\"{tag}\"")).ok().map(|value| (ETAG, value)));
    response
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

fn content_type(response: &mut Response<Bytes>, value: &'static str) {
    if response.status() != StatusCode::NOT_MODIFIED {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(value));
    }
}
