//! `/openapi/v2` and `/openapi/v3`: machine-readable descriptions of the API, made from the same rows and
//! tables that serve it (KEP-2896 for the documents per group version).

mod aggregated_parts;
mod content;
mod custom;
mod gnostic;
mod headers;
mod media_types;
mod model;
mod names;
mod paths;
mod subject;
#[cfg(test)]
mod tests;
mod v2;
mod v3;

use std::io::{Read as _, Write as _};
use std::sync::{Arc, OnceLock};

use api::catalog::{Catalog, Owner};
use apimachinery::time::UnixTime;
use bytes::Bytes;
use component_base::clock::Clock;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::header::{CACHE_CONTROL, EXPIRES, HeaderValue, VARY};
use http::request::Parts;
use http::{Response, StatusCode};
use schema::openapi::Writer;
use sha2::{Digest, Sha512};

use crate::negotiation::Formats;
pub use aggregated_parts::{DocumentError, part_of_version};
use content::Content;
use headers::{
    Body, DAY_SECONDS, accepted_subtype, accepts_gzip, conditional_response, content_type, empty,
    hash_parameter, http_date, redirect,
};
use subject::Subject;

/// Subtypes of a protobuf document, in the spelling of responses and of clients. Clients have sent `@` since
/// before it was found to be invalid in a media type.
const PROTOBUF_V2: [&str; 2] =
    ["com.github.proto-openapi.spec.v2.v1.0+protobuf", "com.github.proto-openapi.spec.v2@v1.0+protobuf"];
const PROTOBUF_V3: [&str; 2] =
    ["com.github.proto-openapi.spec.v3.v1.0+protobuf", "com.github.proto-openapi.spec.v3@v1.0+protobuf"];

/// OpenAPI documents for one state of the served API. Each is built at its first request.
///
/// The cache holds the entity tag of each document. It also holds, compressed, the documents that take
/// longest to build: `/openapi/v2`, those of custom resources, and all protobuf documents. This is under 3 MB
/// if a client requests every document in every format, plus a tenth of the schemas of custom resources.
pub struct OpenApi {
    catalog: Arc<Catalog>,
    clock: Arc<dyn Clock>,
    /// Sorted by path. Shared with documents of other states that have the same groups.
    documents: Vec<Arc<Entry>>,
    index: OnceLock<(Tag, Bytes)>,
    swagger: OnceLock<(Tag, Gzip)>,
    swagger_protobuf: OnceLock<(Tag, Gzip)>,
    /// Media types that the documents list.
    formats: Formats,
}

struct Entry {
    path: String,
    source: DocumentSource,
    tag: OnceLock<Tag>,
    /// Cached for custom resources only, because building it reads their schemas.
    json: OnceLock<Gzip>,
    protobuf: OnceLock<Gzip>,
}

/// Source of a document.
enum DocumentSource {
    /// Built for every request.
    Local(Subject),
    /// Built from the CRDs of a group version.
    Custom { group: String, version: String },
    /// Built by an aggregated server.
    Aggregated { group: String, json: Bytes },
}

/// Entity tag, with the time at which the document was first built.
struct Tag {
    /// Upper-case hexadecimal SHA-512 of the JSON, without quotes.
    hash: String,
    built_at: UnixTime,
}

impl Tag {
    fn of(json: &[u8], clock: &dyn Clock) -> Self {
        let hash = Sha512::digest(json).iter().map(|byte| format!("{byte:02X}")).collect();
        Tag { hash, built_at: clock.now() }
    }

    fn quoted(&self) -> String {
        format!("\"{}\"", self.hash)
    }
}

/// Gzip-compressed document.
struct Gzip(Bytes);

impl Gzip {
    fn of(plain: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 6), Compression::fast());
        // Writing into a vector does not fail.
        Gzip(encoder.write_all(plain).and_then(|()| encoder.finish()).unwrap_or_default().into())
    }

    fn plain(&self) -> Bytes {
        let mut plain = Vec::with_capacity(self.0.len().saturating_mul(10));
        // Decompressing the output of `new` does not fail either.
        GzDecoder::new(&*self.0).read_to_end(&mut plain).map_or_else(|_| Bytes::new(), |_| plain.into())
    }
}

impl Entry {
    fn new(path: String, source: DocumentSource) -> Self {
        Entry { path, source, tag: OnceLock::new(), json: OnceLock::new(), protobuf: OnceLock::new() }
    }

    fn all(catalog: &Catalog) -> impl Iterator<Item = Entry> {
        let builtin = Subject::all(catalog).into_iter();
        let builtin = builtin.map(|subject| Entry::new(subject.path(), DocumentSource::Local(subject)));
        let custom = custom::versions(catalog).map(|(group, version)| {
            let group = group.to_owned();
            let version = version.name.clone();
            Entry::new(format!("apis/{group}/{version}"), DocumentSource::Custom { group, version })
        });
        builtin.chain(custom).chain(Entry::aggregated(catalog))
    }

    /// Returns the documents of aggregated servers.
    fn aggregated(catalog: &Catalog) -> impl Iterator<Item = Entry> {
        let groups = catalog.groups().filter(|_| catalog.has_proxied());
        groups.flat_map(|group| {
            let proxied = group.versions.iter().filter_map(|version| match &version.owner {
                Owner::Proxied(proxied) => Some(proxied),
                Owner::Builtin | Owner::Custom => None,
            });
            proxied.flat_map(|proxied| &proxied.documents).map(|document| {
                let group = group.name.clone();
                let json = document.json.clone();
                Entry::new(document.path.clone(), DocumentSource::Aggregated { group, json })
            })
        })
    }

    /// Group of the document; `None` for a document that never changes.
    fn group(&self) -> Option<&str> {
        match &self.source {
            DocumentSource::Local(subject) => subject.group(),
            DocumentSource::Custom { group, .. } | DocumentSource::Aggregated { group, .. } => Some(group),
        }
    }

    fn protobuf(&self, json: impl FnOnce() -> Bytes) -> Bytes {
        let mut plain = None;
        let gzip = self.protobuf.get_or_init(|| {
            let tree = serde_json::from_slice(&json()).unwrap_or_default();
            Gzip::of(plain.insert(gnostic::v3::document(&tree)))
        });
        plain.map_or_else(|| gzip.plain(), Bytes::from)
    }
}

impl OpenApi {
    /// Creates documents that are built later, on demand. The clock is for the `Last-Modified` and `Expires`
    /// headers.
    pub fn new(catalog: Arc<Catalog>, clock: Arc<dyn Clock>) -> Self {
        let documents = Entry::all(&catalog).map(Arc::new).collect();
        Self::of(catalog, clock, documents)
    }

    /// Returns the documents for another state of the API. Groups that are unchanged keep their cached
    /// documents.
    #[must_use]
    pub fn with_catalog(&self, catalog: Arc<Catalog>) -> Self {
        let unchanged = |group: &str| match (self.catalog.group(group), catalog.group(group)) {
            // Both are alive, so equal addresses mean the same group.
            (Some(old), Some(new)) => std::ptr::eq(old, new),
            (old, new) => old.is_none() && new.is_none(),
        };
        let current_entry = |entry: Entry| {
            let cached = self.entry(&entry.path).filter(|_| entry.group().is_none_or(unchanged));
            cached.map_or_else(|| Arc::new(entry), Arc::clone)
        };
        let documents = Entry::all(&catalog).map(current_entry).collect();
        OpenApi {
            formats: self.formats,
            ..Self::of(Arc::clone(&catalog), Arc::clone(&self.clock), documents)
        }
    }

    fn of(catalog: Arc<Catalog>, clock: Arc<dyn Clock>, documents: Vec<Arc<Entry>>) -> Self {
        OpenApi {
            catalog,
            clock,
            documents: sort_documents(documents),
            index: OnceLock::new(),
            swagger: OnceLock::new(),
            swagger_protobuf: OnceLock::new(),
            formats: Formats::default(),
        }
    }

    /// Returns the document at a path below `/openapi/v3/`.
    fn entry(&self, path: &str) -> Option<&Arc<Entry>> {
        let index = self.documents.binary_search_by(|entry| entry.path.as_str().cmp(path));
        index.ok().and_then(|index| self.documents.get(index))
    }

    /// Sets the formats whose media types the documents list.
    #[must_use]
    pub fn with_formats(self, formats: Formats) -> Self {
        OpenApi { formats, ..self }
    }

    /// Responds to a request below `/openapi` with any method; `None` for a path that is not served. The
    /// response to `HEAD` contains the body; the caller drops it.
    pub fn respond(&self, request: &Parts) -> Option<Response<Bytes>> {
        match request.uri.path() {
            "/openapi/v2" => Some(self.respond_swagger(request)),
            "/openapi/v3" => Some(self.respond_index(request)),
            path => Some(self.respond_document(request, path.strip_prefix("/openapi/v3/")?)),
        }
    }

    fn respond_index(&self, request: &Parts) -> Response<Bytes> {
        let (tag, index) = self.index.get_or_init(|| {
            let index = self.index();
            (Tag::of(&index, &*self.clock), index.into())
        });
        let mut response = conditional_response(&request.headers, tag, || Body::Plain(index.clone()));
        // Upstream's aggregator sets no content type, so Go guesses it.
        content_type(&mut response, "text/plain; charset=utf-8");
        response
    }

    fn respond_document(&self, request: &Parts, path: &str) -> Response<Bytes> {
        let Some(entry) = self.entry(path) else {
            return empty(StatusCode::NOT_FOUND);
        };
        let [new, old] = PROTOBUF_V3;
        let mut response = match accepted_subtype(&request.headers, &["json", new, old]) {
            None => empty(StatusCode::NOT_ACCEPTABLE),
            Some(subtype) => self.respond_accepted(request, entry, subtype == "json"),
        };
        response.headers_mut().append(VARY, HeaderValue::from_static("Accept"));
        response
    }

    fn respond_accepted(&self, request: &Parts, entry: &Entry, json: bool) -> Response<Bytes> {
        let mut encoded = None;
        let tag = entry.tag.get_or_init(|| Tag::of(encoded.insert(self.document(entry)), &*self.clock));
        let requested_hash = hash_parameter(request);
        let mut response = match requested_hash {
            Some(hash) if hash != tag.hash => redirect(&location(&entry.path, tag), tag),
            _ => conditional_response(&request.headers, tag, || {
                let document = || self.cached_json(entry, encoded);
                Body::Plain(if json { document() } else { entry.protobuf(document) })
            }),
        };
        let protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
        content_type(&mut response, if json { "application/json" } else { protobuf });
        if requested_hash == Some(tag.hash.as_str()) {
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
            let now = self.clock.now();
            let expires = UnixTime { seconds: now.seconds.saturating_add(YEAR_SECONDS), ..now };
            headers.extend(HeaderValue::from_str(&http_date(expires)).ok().map(|date| (EXPIRES, date)));
        }
        response
    }

    fn respond_swagger(&self, request: &Parts) -> Response<Bytes> {
        let [new, old] = PROTOBUF_V2;
        let mut response = match accepted_subtype(&request.headers, &["json", old, new]) {
            None => empty(StatusCode::NOT_ACCEPTABLE),
            Some(subtype) => {
                let json = subtype == "json";
                let ((tag, gzip), plain) = self.swagger(json);
                let body = || {
                    if accepts_gzip(&request.headers) {
                        Body::Gzip(gzip.0.clone())
                    } else {
                        Body::Plain(plain.map_or_else(|| gzip.plain(), Bytes::from))
                    }
                };
                let mut response = conditional_response(&request.headers, tag, body);
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

    /// Returns the `/openapi/v2` document, and its uncompressed form if it was just built. The entity tag is
    /// that of the JSON, even for protobuf.
    fn swagger(&self, json: bool) -> (&(Tag, Gzip), Option<Vec<u8>>) {
        let form = if json { &self.swagger } else { &self.swagger_protobuf };
        let mut plain = None;
        let cached = form.get_or_init(|| {
            let json_text = v2::document(&Content::of_everything(&self.catalog, self.formats));
            let tag = Tag::of(&json_text, &*self.clock);
            let form = if json {
                json_text
            } else {
                gnostic::v2::document(&serde_json::from_slice(&json_text).unwrap_or_default())
            };
            (tag, Gzip::of(plain.insert(form)))
        });
        (cached, plain)
    }

    fn document(&self, entry: &Entry) -> Bytes {
        match &entry.source {
            DocumentSource::Local(subject) => {
                v3::document(&Content::of_subject(*subject, &self.catalog, self.formats)).into()
            }
            DocumentSource::Custom { group, version } => {
                let version = self.catalog.group(group).and_then(|group| group.version(version));
                version.map(|version| v3::document(&Content::of_custom(version)).into()).unwrap_or_default()
            }
            DocumentSource::Aggregated { json, .. } => json.clone(),
        }
    }

    /// Returns the JSON of a document for a client, from the cache if possible. `written` is the JSON if it
    /// was just built.
    fn cached_json(&self, entry: &Entry, json: Option<Bytes>) -> Bytes {
        let write = || json.unwrap_or_else(|| self.document(entry));
        if !matches!(entry.source, DocumentSource::Custom { .. }) {
            return write();
        }
        let mut plain = None;
        let gzip = entry.json.get_or_init(|| Gzip::of(plain.insert(write())));
        plain.unwrap_or_else(|| gzip.plain())
    }

    /// Returns the list of documents, each with its hash.
    fn index(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.object(|w| {
            w.key("paths");
            w.object(|w| {
                for entry in &self.documents {
                    w.key(&entry.path);
                    let tag = entry.tag.get_or_init(|| Tag::of(&self.document(entry), &*self.clock));
                    w.object(|w| w.text("serverRelativeURL", &location(&entry.path, tag)));
                }
            });
        });
        w.into_bytes()
    }
}

/// Sorts documents by path. If two have the same path, the first one, which is built in, wins.
fn sort_documents(mut documents: Vec<Arc<Entry>>) -> Vec<Arc<Entry>> {
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    documents.dedup_by(|later, first| later.path == first.path);
    documents
}

/// Cache lifetime of a document that is requested by its hash. It is practically unlimited.
const YEAR_SECONDS: i64 = 365 * DAY_SECONDS;

fn location(path: &str, tag: &Tag) -> String {
    format!("/openapi/v3/{path}?hash={}", tag.hash)
}
