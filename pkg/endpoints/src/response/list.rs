//! List responses: streamed, and compressed if they are large and the client accepts gzip.

use std::pin::pin;

use apimachinery::status::Status;
use http_body_util::BodyExt;
use jsontree::Value;
use registry::generic::ListPage;
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATALIST as PARTIAL_LIST;
use schema::object::Object;
use schema::yaml;
use tokio::task::yield_now;

use super::{GZIP_ABOVE_BYTES, Responder, full, wrong_shape_error};
use crate::negotiation::{Format, Representation, Transform};
use crate::response::chunks::{CHUNK_BYTES, Chunks, IndentedSource, Source};
use crate::response::compressed::{CachedBody, CompressedLists, CompressedSource, ListKey};
use crate::response::encode::{self, Shape};
use crate::response::list_body::{Cbor, Json, Listing, Protobuf, Table};
use crate::routing::dispatch::Response;

/// Cache of compressed lists, with this list's key in it.
pub(crate) struct CacheName<'n> {
    pub(crate) lists: &'n CompressedLists,
    /// Namespace and selectors that select the items.
    pub(crate) selection: String,
}

impl Responder<'_> {
    /// Encodes a list. `name` is `None` for partial lists, which are not cached. Yields while encoding.
    pub(crate) async fn list(
        &self,
        page: ListPage,
        name: Option<CacheName<'_>>,
    ) -> Result<Response, Box<Status>> {
        let response = pin!(self.of_page(page, name));
        self.trace.serialized_by(self.endpoint.row().group_version, response).await
    }

    async fn of_page(&self, page: ListPage, name: Option<CacheName<'_>>) -> Result<Response, Box<Status>> {
        let Representation { format, transform, transform_version, .. } = self.representation;
        let shape = match transform {
            Transform::None | Transform::Table => Shape::Whole,
            Transform::PartialList => Shape::Metadata(transform_version),
            Transform::PartialObject => {
                return Err(wrong_shape_error("PartialObjectMetadata", "is a list", self.endpoint.row()));
            }
        };
        let key = name.and_then(|name| self.cache_key(&page, name));
        let listing = Listing {
            endpoint: self.endpoint.clone(),
            shape,
            budget: self.budget.clone(),
            weakened: self.weakened.clone(),
        };
        match (transform, format) {
            // Tables contain ages, which change every second.
            (Transform::Table, _) => self.send(Table::new(listing, &page, self.table), None).await,
            (_, Format::Protobuf) => self.send(Protobuf::new(listing, page), key).await,
            // The cached part would end with the revision of the whole list.
            (_, Format::Cbor) => self.send(Cbor::new(listing, &page), None).await,
            _ if listing.has_sorted_keys() => self.send(Json::new(listing, &page), None).await,
            _ => self.send(Json::new(listing, &page), key).await,
        }
    }

    /// Encodes a list of objects that are not stored.
    pub(crate) fn trees(&self, items: Vec<Object>) -> Result<Response, Box<Status>> {
        self.build_in_span(|| self.of_trees(items))
    }

    fn of_trees(&self, items: Vec<Object>) -> Result<Response, Box<Status>> {
        let version = self.representation.transform_version;
        let (message, kind, api_version, items) = match self.representation.transform {
            Transform::PartialObject => {
                return Err(wrong_shape_error("PartialObjectMetadata", "is a list", self.endpoint.row()));
            }
            Transform::Table => return self.table(items),
            Transform::PartialList => {
                let partial: Vec<_> = items.into_iter().map(|item| encode::partial(item, version)).collect();
                let kind = format!("{}List", encode::PARTIAL_KIND);
                (&PARTIAL_LIST, kind, encode::meta_api_version(version), partial)
            }
            Transform::None => {
                let bare = |mut item: Object| {
                    item.retain(|name, _| !matches!(name.as_str(), "kind" | "apiVersion"));
                    item
                };
                let items = items.into_iter().map(bare).collect();
                let endpoint = self.endpoint.row();
                let message = endpoint.list_message.unwrap_or(endpoint.message);
                (message, format!("{}List", endpoint.kind), endpoint.kind_group_version, items)
            }
        };
        let items: Vec<Value> = items.into_iter().map(Value::Object).collect();
        let members = [
            ("kind", kind.into()),
            ("apiVersion", api_version.into()),
            ("metadata", Object::new().into()),
            ("items", items.into()),
        ];
        let list = members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        let mut out = Vec::new();
        self.tree_into(message, &list, &mut out)?;
        Ok(self.bytes(200, out))
    }

    /// Returns the cache key of the response, if it can be cached.
    fn cache_key(&self, page: &ListPage, name: CacheName<'_>) -> Option<ListKey> {
        let version = page.items.version().filter(|_| page.continue_token.is_empty())?;
        if !self.compresses() || self.needs_whole_list() || self.representation.pretty {
            return None;
        }
        let Representation { format, transform, transform_version, .. } = self.representation;
        let CacheName { lists, selection } = name;
        let name = format!(
            "{}/{} {format:?} {transform:?} {transform_version} {selection}",
            self.endpoint.row().group_version,
            self.endpoint.row().plural
        );
        Some(ListKey { lists: lists.clone(), name, version })
    }

    /// True if the representation can contain objects that are nested too deeply for a tree.
    pub(crate) fn writes_deep_objects(&self) -> bool {
        let Representation { format, transform, .. } = self.representation;
        format == Format::Json || matches!(transform, Transform::PartialList | Transform::PartialObject)
    }

    /// True if the response must be complete before it can be encoded, because YAML needs a tree.
    pub(crate) fn needs_whole_list(&self) -> bool {
        self.representation.format == Format::Yaml
    }

    /// Sends the output of a source: in one piece if it is small, otherwise streamed. A failure before the
    /// first byte is a normal error response.
    async fn send<S: Source + Unpin>(
        &self,
        source: S,
        key: Option<ListKey>,
    ) -> Result<Response, Box<Status>> {
        if self.representation.pretty {
            self.send_as_is(IndentedSource::new(source), None).await
        } else {
            self.send_as_is(source, key).await
        }
    }

    async fn send_as_is<S: Source + Unpin>(
        &self,
        mut source: S,
        key: Option<ListKey>,
    ) -> Result<Response, Box<Status>> {
        let mut out = Vec::with_capacity(4096);
        if let Some(rest) = key.as_ref().and_then(ListKey::cached_items) {
            source.head(Some(rest.plain_len()), &mut out)?;
            return Ok(self.response(200, CachedBody::new(&out, rest).boxed_unsync(), true));
        }
        while source.prepare()? {
            yield_now().await;
        }
        source.head(None, &mut out)?;
        if self.needs_whole_list() {
            while source.fill(&mut out, usize::MAX)? {}
            return self.yaml(&out);
        }
        let head = out.len();
        let gzip = self.compresses();
        let more = source.fill(&mut out, if gzip { GZIP_ABOVE_BYTES + 1 } else { CHUNK_BYTES })?;
        let source = more.then_some(source);
        if gzip && out.len() > GZIP_ABOVE_BYTES {
            let remembering = key.and_then(ListKey::miss);
            let body = CompressedSource::new(out, head, source, remembering);
            return Ok(self.response(200, body.boxed_unsync(), true));
        }
        let body = match source {
            Some(source) => Chunks::new(out, source).boxed_unsync(),
            None => full(out),
        };
        Ok(self.response(200, body, false))
    }

    /// Converts a complete JSON list to YAML.
    fn yaml(&self, json: &[u8]) -> Result<Response, Box<Status>> {
        let mut out = Vec::with_capacity(json.len());
        yaml::from_json(json, &mut out).map_err(encode::encoding_error)?;
        Ok(self.bytes(200, out))
    }
}
