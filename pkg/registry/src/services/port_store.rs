//! Storage of node ports for all servers: one RangeAllocation object, updated by compare-and-swap (upstream's
//! `allocator/storage/storage.go`). One update allocates all ports of a write.

use std::collections::BTreeSet;
use std::sync::Arc;

use apimachinery::gvk::GroupResource;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use jsontree::{Text, Value};
use schema::builtin::IO_K8S_API_CORE_V1_RANGEALLOCATION as RANGE_ALLOCATION;
use schema::object::Object;
use schema::proto::{self, Envelope};
use storage::{Error, KeyQueues, KeyValue, Revision, Storage, Update};

use super::bitmap::{Bitmap, PortRange};
use super::error::{AllocationError, RepairError};
use super::metrics::AllocatorMetrics;
use super::ports::{self, Pool, PortError};
use crate::generic::{Entropy, Result, error};

const API_VERSION: &str = "v1";
const KIND: &str = "RangeAllocation";
const RESOURCE: &str = "servicenodeportallocations";

/// Decoded RangeAllocation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Allocation {
    pub(super) range: String,
    pub(super) allocated: Bitmap,
    /// Metadata; empty unless another writer has set it.
    metadata: Object,
}

impl Allocation {
    pub(super) fn new(range: String, allocated: Bitmap) -> Self {
        Allocation { range, allocated, metadata: Object::new() }
    }

    /// Decodes stored bytes.
    ///
    /// # Errors
    /// A message if they cannot be decoded.
    pub(super) fn decode(value: &[u8]) -> std::result::Result<Self, AllocationError> {
        let envelope = Envelope::parse(value)?;
        if (&*envelope.api_version, &*envelope.kind) != (API_VERSION, KIND) {
            return Err(AllocationError::OtherKind {
                api_version: envelope.api_version.into_owned(),
                kind: envelope.kind.into_owned(),
            });
        }
        let mut object = proto::decode(&RANGE_ALLOCATION, envelope.raw)?;
        let mut text = |name: &str| match object.remove(name) {
            Some(Value::String(text)) => text,
            _ => Text::default(),
        };
        let range = text("range");
        let data = text("data");
        let data = BASE64_STANDARD.decode(data)?;
        let metadata = match object.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Object::new(),
        };
        Ok(Allocation { range: range.into_string(), allocated: Bitmap::from_stored(&data), metadata })
    }

    /// Encodes for storage.
    ///
    /// # Errors
    /// A message if it cannot be encoded.
    pub(super) fn encode(&self) -> std::result::Result<Bytes, AllocationError> {
        let object: Object = [
            ("metadata".to_owned(), Value::Object(self.metadata.clone())),
            ("range".to_owned(), Value::from(&*self.range)),
            ("data".to_owned(), Value::from(BASE64_STANDARD.encode(self.allocated.to_stored()))),
        ]
        .into_iter()
        .collect();
        let mut raw = Vec::new();
        let mut out = Vec::new();
        proto::encode(&RANGE_ALLOCATION, &object, &mut raw)?;
        proto::wrap(API_VERSION, KIND, &raw, &mut out);
        Ok(out.into())
    }
}

/// Error of an update of the stored node ports.
#[derive(Debug, thiserror::Error)]
enum PortStoreError {
    #[error(transparent)]
    Status(Box<apimachinery::status::Status>),
    #[error(transparent)]
    Storage(#[from] Error),
}

impl PortStoreError {
    fn corrupt(key: &str, error: &AllocationError) -> Self {
        PortStoreError::Status(error::corrupt(key, &error.to_string()))
    }

    fn status(self) -> Box<apimachinery::status::Status> {
        match self {
            PortStoreError::Status(status) => status,
            PortStoreError::Storage(e) => error::storage(&GroupResource::new("", RESOURCE), "update", e),
        }
    }
}

/// Node ports of a cluster.
pub(super) struct PortStore {
    storage: Arc<dyn Storage>,
    write_queues: KeyQueues,
    key: String,
    range: PortRange,
    entropy: Arc<dyn Entropy>,
    metrics: Arc<AllocatorMetrics>,
}

impl PortStore {
    /// Uses a store with this key prefix.
    pub(super) fn new(
        storage: Arc<dyn Storage>,
        prefix: &str,
        range: PortRange,
        entropy: Arc<dyn Entropy>,
        metrics: Arc<AllocatorMetrics>,
    ) -> Self {
        let key = format!("/{}/ranges/servicenodeports", prefix.trim_matches('/'));
        PortStore { storage, write_queues: KeyQueues::default(), key, range, entropy, metrics }
    }

    pub(super) fn range(&self) -> PortRange {
        self.range
    }

    fn pool<'p>(
        &self,
        stored: Option<&Allocation>,
        dry_run: bool,
        random: &'p (dyn Fn() -> u32 + Sync),
    ) -> Pool<'p> {
        let bitmap = match stored {
            None => Err(PortError::NotReady),
            Some(stored) if stored.range != self.range.to_string() => Err(PortError::OtherRange),
            Some(stored) => Ok(stored.allocated.clone()),
        };
        Pool { range: self.range, bitmap, allocated: BTreeSet::new(), dry_run, random, origins: Vec::new() }
    }

    fn decode(&self, current: Option<&KeyValue>) -> std::result::Result<Option<Allocation>, PortStoreError> {
        let decode = |kv: &KeyValue| Allocation::decode(&kv.value);
        current.map(decode).transpose().map_err(|error| PortStoreError::corrupt(&self.key, &error))
    }

    /// Allocates the ports that a service needs in addition to those of `old`. Returns the new ports.
    ///
    /// # Errors
    /// As [`ports::assign`]; then nothing stays allocated, and the service must be discarded.
    pub(super) async fn allocate(
        &self,
        service: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Vec<i64>> {
        let random = || self.entropy.number();
        let mut assigned = None;
        let mut allocated = Vec::new();
        let mut chosen = Vec::new();
        let updated = self
            .write_queues
            .guaranteed_update(&*self.storage, &self.key, None, |current: Option<&KeyValue>| {
                let stored = self.decode(current)?;
                let mut pool = self.pool(stored.as_ref(), dry_run, &random);
                let mut attempt = service.clone();
                let outcome = ports::assign(&mut attempt, old, &mut pool);
                chosen = std::mem::take(&mut pool.origins);
                outcome.map_err(PortStoreError::Status)?;
                assigned = Some(attempt);
                allocated = pool.allocated.into_iter().collect();
                match (stored, pool.bitmap) {
                    (Some(stored), Ok(bitmap)) if !dry_run => self.write(stored, bitmap),
                    _ => Ok(Update::Keep),
                }
            })
            .await;
        if !dry_run {
            chosen.into_iter().for_each(|(scope, succeeded)| self.metrics.port(scope, succeeded));
        }
        updated.map_err(PortStoreError::status)?;
        if let Some(assigned) = assigned {
            *service = assigned;
        }
        Ok(if dry_run { Vec::new() } else { allocated })
    }

    fn write(&self, stored: Allocation, allocated: Bitmap) -> std::result::Result<Update, PortStoreError> {
        self.metrics.set_ports_allocated(allocated.len());
        let replaced = Allocation { allocated, ..stored };
        let value = replaced.encode().map_err(|error| PortStoreError::corrupt(&self.key, &error))?;
        Ok(Update::Write(value, None))
    }

    /// Releases ports. After a failure a repair releases them.
    pub(super) async fn release(&self, ports: &[i64]) {
        let positions: Vec<u32> = ports.iter().filter_map(|port| self.range.position(*port)).collect();
        if positions.is_empty() {
            return;
        }
        let updated = self
            .write_queues
            .guaranteed_update(&*self.storage, &self.key, None, |current: Option<&KeyValue>| {
                match self.decode(current)? {
                    Some(mut stored) if stored.range == self.range.to_string() => {
                        positions.iter().for_each(|position| stored.allocated.remove(*position));
                        let allocated = std::mem::take(&mut stored.allocated);
                        self.write(stored, allocated)
                    }
                    _ => Ok(Update::Keep),
                }
            })
            .await;
        if let Err(error) = updated {
            let message = error.status().message;
            tracing::warn!(?ports, error = message, "cannot release node ports");
        }
    }

    /// Reads the stored allocation with its revision; 0 if there is none.
    ///
    /// # Errors
    /// It cannot be read or decoded.
    pub(super) async fn read(&self) -> std::result::Result<(Option<Allocation>, Revision), RepairError> {
        let kv = self.storage.get(&self.key).await?.kv;
        let revision = kv.as_ref().map_or(0, |kv| kv.mod_revision);
        let stored = kv.map(|kv| Allocation::decode(&kv.value)).transpose()?;
        stored.as_ref().inspect(|stored| self.metrics.set_ports_allocated(stored.allocated.len()));
        Ok((stored, revision))
    }

    /// Replaces the allocation stored at a revision. Returns false if the revision has changed.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) async fn replace(
        &self,
        allocation: &Allocation,
        revision: Revision,
    ) -> std::result::Result<bool, RepairError> {
        let result = self.storage.put(&self.key, allocation.encode()?, revision, None).await;
        match result? {
            storage::PutResult::Done(_) => Ok(true),
            storage::PutResult::Stale { .. } => Ok(false),
        }
    }
}
