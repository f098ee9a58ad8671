//! Custom resources with a conversion webhook. Within a request objects are in the request's version, and
//! stored objects are in the storage version of their time. A webhook converts between the two (upstream's
//! `apiextensions-apiserver/pkg/apiserver/conversion`).
//!
//! The watch cache holds stored objects. Upstream fills one cache per version and converts object by object.
//! Here an object is converted when it is read in another version, in batches, and the result is cached with
//! the object.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use api::resources::custom::CustomKind;
use api::resources::{Handle, Resource, StorageSpec};
use api::structural::Coercion;
use apimachinery::status::Status;
use async_trait::async_trait;
use bytes::Bytes;
use cacher::{Budget, Element, HeaderBuilder, Representation};
use component_base::features::Gate;
use fieldmanager::PendingConversions;
use fieldmanager::structured_merge::ConvertError;
use schema::json;
use schema::object::Object;
use storage::KeyValue;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::{Registry, Result, Target};
use crate::ingest::Fields;
use crate::{StoredRef, codec, ingest, meta};

/// Maximum number of objects in one conversion request.
const BATCH_OBJECTS: usize = 500;
/// Maximum size of their stored bytes, without the last object.
const BATCH_BYTES: usize = 2 << 20;
/// Maximum wait of a watch for the conversions of other watches.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);
/// Marks the memo keys of converted forms.
const CONVERTED_FLAG: Representation = 1 << 31;

/// Converts the objects of one resource between its versions.
#[async_trait]
pub trait Convert: Send + Sync {
    /// Converts objects to the version `to` (`group/version`) and keeps their order. None is in that version
    /// yet.
    ///
    /// # Errors
    /// The webhook failed, or its response is invalid. Clients get the text.
    async fn convert(
        &self,
        objects: Vec<Object>,
        to: &str,
    ) -> std::result::Result<Vec<Object>, ConversionError>;
}

/// Error of [`Convert`].
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ConversionError(Box<dyn std::error::Error + Send + Sync>);

impl ConversionError {
    /// Wraps the error of a converter.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        ConversionError(Box::new(error))
    }
}

impl From<ConversionError> for Box<Status> {
    fn from(error: ConversionError) -> Self {
        Status::unmapped(error.to_string()).into()
    }
}

/// Conversion data of a resource with a conversion webhook.
pub(super) struct Converter {
    pub(super) converter: Arc<dyn Convert>,
    /// Rows of all request versions and of the storage version.
    pub(super) versions: Vec<Handle>,
    /// Lock that serializes the conversions of watches. Most need the same conversions and find the cached
    /// results of the first one.
    pub(super) watch_lock: Arc<Mutex<()>>,
}

/// Conversion of stored objects to one version. Cheap to clone.
#[derive(Clone)]
pub(super) struct Conversion {
    outside: Arc<dyn Convert>,
    row: Handle,
    fields: Fields,
    budget: Arc<Budget>,
    watches: Arc<Mutex<()>>,
}

impl Registry {
    /// Returns the conversion to the version of a row; `None` for resources without a conversion webhook.
    ///
    /// # Errors
    /// 500 if a webhook is needed but none is known.
    pub(super) fn conversion(
        &self,
        row: &Resource<'_>,
        storage: &StorageSpec<'_>,
    ) -> Result<Option<Conversion>> {
        if !storage.custom.is_some_and(|kind| kind.converts_by_webhook) {
            return Ok(None);
        }
        let stored = self.stored(storage)?;
        let converter = stored.converter.as_ref();
        let version_converter = converter.and_then(|converter| {
            let mut versions = converter.versions.iter();
            let row = versions.find(|version| version.row().group_version == row.group_version)?.clone();
            let outside = Arc::clone(&converter.converter);
            let fields = stored.fields.clone();
            let budget = Arc::clone(self.budget());
            let watches = Arc::clone(&converter.watch_lock);
            Some(Conversion { outside, row, fields, budget, watches })
        });
        let unknown = || Status::internal_error(format!("no conversion for {}", storage.prefix));
        Ok(Some(version_converter.ok_or_else(unknown)?))
    }

    /// Executes the pending conversions of a field manager. Each kind of them is requested once per write:
    /// the version of a manager and the objects to compare in it.
    ///
    /// # Errors
    /// 500 if no webhook is known.
    pub(super) async fn resolve_pending(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        open: &PendingConversions,
    ) -> Result<()> {
        let unknown = || Status::internal_error(format!("no conversion for {}", storage.prefix));
        let conversion = self.conversion(target.resource, storage)?.ok_or_else(unknown)?;
        for question in open.open() {
            let converted = conversion.convert_one(question.object.clone(), &question.to).await;
            open.record_result(question, converted.map_err(|status| ConvertError::Failed(status.message)));
        }
        Ok(())
    }

    /// As `resolve_pending`, for an object of `row` that is not written yet.
    ///
    /// # Errors
    /// 500 if no webhook is known.
    pub async fn run_conversions(&self, target: &Target<'_>, open: &PendingConversions) -> Result<()> {
        self.resolve_pending(target, self.storage_of(target, "create")?, open).await
    }

    /// Converts an object to the version of `row`, if it has a conversion webhook.
    ///
    /// # Errors
    /// 500 for an object that cannot be converted.
    pub async fn to_version(&self, row: &Resource<'_>, object: Object) -> Result<Object> {
        match self.conversion(row, row.stored_form())? {
            Some(conversion) => conversion.convert_object(object).await,
            None => Ok(object),
        }
    }

    /// Decodes an object for a write, in the version of the target's row.
    ///
    /// # Errors
    /// 500 for an object that cannot be decoded or converted.
    pub(super) async fn decode_current(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        kv: &KeyValue,
    ) -> Result<Object> {
        let mut object = self.decode(storage, &kv.key, StoredRef::of(kv))?;
        if let Some(conversion) = self.conversion(target.resource, storage)? {
            return conversion.convert_object(object).await;
        }
        codec::prune_to_request(target.resource, storage, &mut object)?;
        Ok(object)
    }

    /// Returns the object to store, and its bytes `value` in the form of its row.
    ///
    /// # Errors
    /// 500 for an object that cannot be converted.
    pub(super) async fn to_store(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        object: &Object,
        value: &Bytes,
    ) -> Result<Bytes> {
        let converted = match self.conversion(target.resource, storage)? {
            Some(conversion) => conversion.to_store(object).await?,
            None if storage.custom.is_none() => return self.emulated_storage.convert(storage, value),
            None => Cow::Borrowed(object),
        };
        let encoded = match (self.stores_cbor(), converted) {
            (true, converted) => codec::encode_cbor(storage, &converted),
            (false, Cow::Borrowed(_)) => return Ok(value.clone()),
            (false, Cow::Owned(converted)) => codec::encode(storage, &converted),
        };
        Ok(encoded?)
    }

    /// True if custom resources are stored as CBOR.
    pub(super) fn stores_cbor(&self) -> bool {
        self.gates().enabled(Gate::CBORServingAndStorage)
    }

    /// Returns the bytes that readers see after a write. `written` is the stored form; `value` is the form of
    /// the row before conversion.
    ///
    /// # Errors
    /// 500 for an object that cannot be converted.
    pub(super) async fn reader_form(
        &self,
        target: &Target<'_>,
        storage: &StorageSpec<'_>,
        value: Bytes,
        stored: &Bytes,
    ) -> Result<Bytes> {
        let Some(conversion) = self.conversion(target.resource, storage)? else {
            // Stored bytes are read with the defaults of their version. A request body in another version
            // does not have those, and the defaults of a status that was dropped are gone.
            let is_completed = |kind: &CustomKind| {
                storage.group_version != target.resource.group_version
                    || kind.fills_in_status(storage.group_version)
            };
            return if storage.custom.is_some_and(is_completed) {
                codec::custom_reader_form(storage, &value, self.gates())
            } else {
                Ok(codec::reader_form(storage, value, self.gates()))
            };
        };
        if conversion.is_of(stored) {
            return Ok(stored.clone());
        }
        let object = codec::decode_stored(storage, stored, self.gates())?;
        let object = conversion.convert_object(object).await?;
        Ok(codec::encode(storage, &object)?)
    }
}

impl Conversion {
    fn api_version(&self) -> &str {
        self.row.row().group_version
    }

    fn storage(&self) -> &StorageSpec<'_> {
        self.row.row().stored_form()
    }

    /// True if objects are stored in this version, at least nearly all of them.
    pub(super) fn is_to_storage(&self) -> bool {
        self.storage().custom.is_some_and(|kind| kind.storage_version() == self.api_version())
    }

    /// True for an element that is nested too deeply for the webhook's response.
    pub(super) fn is_impossible(&self, element: &Element) -> bool {
        element.header().is_deep() && element.value().is_ok_and(|value| !self.is_of(value))
    }

    /// True if the bytes are already in this version.
    fn is_of(&self, value: &[u8]) -> bool {
        api_version(value).is_some_and(|version| version == self.api_version())
    }

    /// Converts objects of any version to this one. The webhook gets no resource version, because upstream's
    /// call precedes it too.
    async fn call_converter(&self, mut objects: Vec<Object>, to: &str) -> Result<Vec<Object>> {
        let revisions: Vec<_> =
            objects.iter_mut().map(|object| meta::metadata_mut(object).remove("resourceVersion")).collect();
        let mut converted = self.outside.convert(objects, to).await?;
        for (object, revision) in converted.iter_mut().zip(revisions) {
            if let Some(kind) = self.storage().custom {
                kind.coerce(to, object, Coercion::Lenient)
                    .map_err(|error| Status::unmapped(error.to_string()))?;
            }
            if let Some(revision) = revision {
                meta::metadata_mut(object).insert("resourceVersion".to_owned(), revision);
            }
        }
        Ok(converted)
    }

    /// Converts one object to this version.
    ///
    /// # Errors
    /// 500 for an object that cannot be converted.
    pub(super) async fn convert_object(&self, object: Object) -> Result<Object> {
        self.convert_one(object, self.api_version()).await
    }

    async fn convert_one(&self, object: Object, to: &str) -> Result<Object> {
        if object.get("apiVersion").and_then(|version| version.as_str()) == Some(to) {
            return Ok(object);
        }
        let converted = self.call_converter(vec![object], to).await?.pop();
        Ok(converted.ok_or_else(|| Status::unmapped("a conversion without an object"))?)
    }

    /// Converts an object of this version to the storage version.
    async fn to_store<'o>(&self, object: &'o Object) -> Result<Cow<'o, Object>> {
        if self.is_to_storage() {
            return Ok(Cow::Borrowed(object));
        }
        let stored = self.storage().custom.map_or("", |kind| kind.storage_version());
        Ok(Cow::Owned(self.convert_one(object.clone(), stored).await?))
    }

    /// Converts an element to this version. `reuse` permits a cached conversion. Upstream reads the latest
    /// version from etcd and converts it again, so that a failed or changed webhook shows at once. Older
    /// versions come from its watch cache, which holds converted objects.
    ///
    /// # Errors
    /// 400 for an element that is nested too deeply, 500 for another one that cannot be converted.
    pub(super) async fn element(&self, element: Arc<Element>, reuse: bool) -> Result<Arc<Element>> {
        if self.is_impossible(&element) {
            let message = "the object is nested too deeply to be converted to this version";
            return Err(Status::bad_request(message).into());
        }
        let missing = || Status::unmapped("a conversion without an object");
        if reuse {
            return Ok(self.elements(vec![element], false).await?.pop().ok_or_else(missing)?);
        }
        let Ok(value) = element.value() else { return Ok(element) };
        if self.is_of(value) {
            return Ok(element);
        }
        let object = codec::decode_value(self.storage(), value)?;
        let converted = self.call_converter(vec![object], self.api_version()).await?.pop();
        let object = converted.ok_or_else(missing)?;
        let value = codec::encode(self.storage(), &object)?;
        Ok(Element::with_header(element.key(), value, element.revision(), self.header(&object)))
    }

    /// Converts elements for one of several watches that need the same result. See
    /// [`elements`](Self::elements).
    ///
    /// # Errors
    /// As [`elements`](Self::elements).
    pub(super) async fn watched(
        &self,
        elements: Vec<Arc<Element>>,
        selected: bool,
    ) -> Result<Vec<Arc<Element>>> {
        // If the webhook does not respond, a waiting watch continues on its own after a timeout.
        let turn = if elements.iter().any(|element| self.needs_webhook(element)) {
            timeout(LOCK_WAIT_MAX, self.watches.lock()).await.ok()
        } else {
            None
        };
        let converted = self.elements(elements, selected).await;
        drop(turn);
        converted
    }

    /// True if the conversion of an element needs the webhook.
    fn needs_webhook(&self, element: &Element) -> bool {
        element.value().is_ok_and(|value| !self.is_of(value))
            && element.memo().get(self.representation(), &self.budget).is_none()
    }

    /// Converts elements to this version and keeps their order. `selected` means that selectors will be
    /// applied.
    ///
    /// # Errors
    /// 500 if any cannot be converted.
    pub(super) async fn elements(
        &self,
        mut elements: Vec<Arc<Element>>,
        selected: bool,
    ) -> Result<Vec<Arc<Element>>> {
        let mut begin = 0;
        while begin < elements.len() {
            let batch = self.next_batch(&mut elements, begin, selected)?;
            if !batch.objects.is_empty() {
                let converted = self.call_converter(batch.objects, self.api_version()).await?;
                for (at, object) in batch.positions.iter().zip(converted) {
                    if let Some(element) = elements.get_mut(*at) {
                        *element = self.cache_converted(element, &object)?;
                    }
                }
            }
            begin = batch.end;
        }
        Ok(elements)
    }

    /// Takes the elements from `begin` on that need the webhook, as many as fit into one request. Replaces
    /// others with their cached conversions.
    fn next_batch(&self, elements: &mut [Arc<Element>], begin: usize, selected: bool) -> Result<Batch> {
        let mut batch = Batch { end: begin, ..Batch::default() };
        let mut bytes = 0;
        for (at, element) in elements.iter_mut().enumerate().skip(begin) {
            if batch.objects.len() == BATCH_OBJECTS || bytes >= BATCH_BYTES {
                break;
            }
            batch.end = at.saturating_add(1);
            let Ok(value) = element.value() else { continue };
            if self.is_of(value) {
                continue;
            }
            if let Some(cached) = element.memo().get(self.representation(), &self.budget) {
                *element = self.converted_element(element, cached, selected);
                continue;
            }
            bytes = bytes.saturating_add(value.len());
            let object = codec::decode_value(self.storage(), value)?;
            batch.objects.push(object);
            batch.positions.push(at);
        }
        Ok(batch)
    }

    fn representation(&self) -> Representation {
        CONVERTED_FLAG | u32::from(self.row.row().custom_version)
    }

    /// Creates an element of a converted object. Its bytes are cached with the original.
    fn cache_converted(&self, element: &Element, object: &Object) -> Result<Arc<Element>> {
        let value = codec::encode(self.storage(), object)?;
        let cached =
            element.memo().shared(self.representation(), &self.budget, || Ok::<_, ()>(value.clone()));
        let value = cached.unwrap_or(value);
        let header = self.header(object);
        Ok(Element::with_header(element.key(), value, element.revision(), header))
    }

    /// Creates an element of cached bytes.
    fn converted_element(&self, element: &Element, value: Bytes, selected: bool) -> Arc<Element> {
        let object = if selected { codec::decode_value(self.storage(), &value).ok() } else { None };
        let header = object.map(|object| self.header(&object)).unwrap_or_default();
        Element::with_header(element.key(), value, element.revision(), header)
    }

    fn header(&self, object: &Object) -> HeaderBuilder {
        let mut header = HeaderBuilder::default();
        ingest::index(self.storage().kind, &self.fields, object, &mut header);
        header
    }
}

#[derive(Default)]
struct Batch {
    objects: Vec<Object>,
    /// Positions of the batch's elements.
    positions: Vec<usize>,
    /// Start of the next batch.
    end: usize,
}

/// Returns the `apiVersion` of a stored object. Members are sorted by name, and few precede it.
fn api_version(value: &[u8]) -> Option<Cow<'_, str>> {
    if let Some(rest) = value.strip_prefix(b"{\"apiVersion\":\"") {
        let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        let version = rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))?;
        return std::str::from_utf8(version).ok().map(Into::into);
    }
    json::type_meta(value).ok().map(|head| head.api_version.to_string().into())
}
