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
    pub(super) taken: Bitmap,
    /// Metadata; empty unless another writer has set it.
    metadata: Object,
}

impl Allocation {
    pub(super) fn new(range: String, taken: Bitmap) -> Self {
        Allocation { range, taken, metadata: Object::new() }
    }

    /// Decodes stored bytes.
    ///
    /// # Errors
    /// A message if they cannot be decoded.
    pub(super) fn decode(value: &[u8]) -> std::result::Result<Self, String> {
        let envelope = Envelope::parse(value).map_err(|e| e.to_string())?;
        if (&*envelope.api_version, &*envelope.kind) != (API_VERSION, KIND) {
            return Err(format!("{} {} is no {KIND}", envelope.api_version, envelope.kind));
        }
        let mut object = proto::decode(&RANGE_ALLOCATION, envelope.raw).map_err(|e| e.to_string())?;
        let mut text = |name: &str| match object.remove(name) {
            Some(Value::String(text)) => text,
            _ => Text::default(),
        };
        let (range, data) = (text("range"), text("data"));
        let data = BASE64_STANDARD.decode(data).map_err(|e| e.to_string())?;
        let metadata = match object.remove("metadata") {
            Some(Value::Object(metadata)) => metadata,
            _ => Object::new(),
        };
        Ok(Allocation { range: range.into_string(), taken: Bitmap::from_stored(&data), metadata })
    }

    /// Encodes for storage.
    ///
    /// # Errors
    /// A message if it cannot be encoded.
    pub(super) fn encode(&self) -> std::result::Result<Bytes, String> {
        let object: Object = [
            ("metadata".to_owned(), Value::Object(self.metadata.clone())),
            ("range".to_owned(), Value::from(&*self.range)),
            ("data".to_owned(), Value::from(BASE64_STANDARD.encode(self.taken.to_stored()))),
        ]
        .into_iter()
        .collect();
        let (mut raw, mut out) = (Vec::new(), Vec::new());
        proto::encode(&RANGE_ALLOCATION, &object, &mut raw).map_err(|e| e.to_string())?;
        proto::wrap(API_VERSION, KIND, &raw, &mut out);
        Ok(out.into())
    }
}

/// Reason for a failed update.
enum Failure {
    Status(Box<apimachinery::status::Status>),
    Storage(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Storage(error)
    }
}

impl Failure {
    fn corrupt(key: &str, message: &str) -> Self {
        Failure::Status(error::corrupt(key, message))
    }

    fn status(self) -> Box<apimachinery::status::Status> {
        match self {
            Failure::Status(status) => status,
            Failure::Storage(e) => error::storage(&GroupResource::new("", RESOURCE), "update", e),
        }
    }
}

/// Node ports of a cluster.
pub(super) struct PortStore {
    storage: Arc<dyn Storage>,
    turns: KeyQueues,
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
        PortStore { storage, turns: KeyQueues::default(), key, range, entropy, metrics }
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
            Some(stored) => Ok(stored.taken.clone()),
        };
        Pool { range: self.range, bitmap, taken: BTreeSet::new(), dry_run, random, chosen: Vec::new() }
    }

    fn decode(&self, current: Option<&KeyValue>) -> std::result::Result<Option<Allocation>, Failure> {
        let decode = |kv: &KeyValue| Allocation::decode(&kv.value);
        current.map(decode).transpose().map_err(|message| Failure::corrupt(&self.key, &message))
    }

    /// Allocates the ports that a service needs in addition to those of `old`. Returns the new ports.
    ///
    /// # Errors
    /// As [`ports::assign`]; then nothing stays allocated, and the service must be discarded.
    pub(super) async fn take(
        &self,
        service: &mut Object,
        old: Option<&Object>,
        dry_run: bool,
    ) -> Result<Vec<i64>> {
        let random = || self.entropy.number();
        let (mut assigned, mut taken, mut chosen) = (None, Vec::new(), Vec::new());
        let updated = self
            .turns
            .guaranteed_update(&*self.storage, &self.key, None, |current: Option<&KeyValue>| {
                let stored = self.decode(current)?;
                let mut pool = self.pool(stored.as_ref(), dry_run, &random);
                let mut attempt = service.clone();
                let outcome = ports::assign(&mut attempt, old, &mut pool);
                chosen = std::mem::take(&mut pool.chosen);
                outcome.map_err(Failure::Status)?;
                assigned = Some(attempt);
                taken = pool.taken.into_iter().collect();
                match (stored, pool.bitmap) {
                    (Some(stored), Ok(bitmap)) if !dry_run => self.write(stored, bitmap),
                    _ => Ok(Update::Keep),
                }
            })
            .await;
        if !dry_run {
            chosen.into_iter().for_each(|(scope, taken)| self.metrics.port(scope, taken));
        }
        updated.map_err(Failure::status)?;
        if let Some(assigned) = assigned {
            *service = assigned;
        }
        Ok(if dry_run { Vec::new() } else { taken })
    }

    fn write(&self, stored: Allocation, taken: Bitmap) -> std::result::Result<Update, Failure> {
        self.metrics.ports_taken(taken.len());
        let replaced = Allocation { taken, ..stored };
        let value = replaced.encode().map_err(|message| Failure::corrupt(&self.key, &message))?;
        Ok(Update::Write(value, None))
    }

    /// Releases ports. After a failure a repair releases them.
    pub(super) async fn release(&self, ports: &[i64]) {
        let positions: Vec<u32> = ports.iter().filter_map(|port| self.range.position(*port)).collect();
        if positions.is_empty() {
            return;
        }
        let updated = self
            .turns
            .guaranteed_update(&*self.storage, &self.key, None, |current: Option<&KeyValue>| {
                match self.decode(current)? {
                    Some(mut stored) if stored.range == self.range.to_string() => {
                        positions.iter().for_each(|position| stored.taken.remove(*position));
                        let taken = std::mem::take(&mut stored.taken);
                        self.write(stored, taken)
                    }
                    _ => Ok(Update::Keep),
                }
            })
            .await;
        if let Err(failure) = updated {
            let message = failure.status().message;
            tracing::warn!(?ports, error = message, "cannot release node ports");
        }
    }

    /// Reads the stored allocation with its revision; 0 if there is none.
    ///
    /// # Errors
    /// A message if it cannot be read.
    pub(super) async fn read(&self) -> std::result::Result<(Option<Allocation>, Revision), String> {
        let found = self.storage.get(&self.key).await.map_err(|e| e.to_string())?.kv;
        let revision = found.as_ref().map_or(0, |kv| kv.mod_revision);
        let stored = found.map(|kv| Allocation::decode(&kv.value)).transpose()?;
        stored.as_ref().inspect(|stored| self.metrics.ports_taken(stored.taken.len()));
        Ok((stored, revision))
    }

    /// Replaces the allocation stored at a revision. Returns false if the revision has changed.
    ///
    /// # Errors
    /// A message if it cannot be written.
    pub(super) async fn replace(
        &self,
        allocation: &Allocation,
        revision: Revision,
    ) -> std::result::Result<bool, String> {
        let written = self.storage.put(&self.key, allocation.encode()?, revision, None).await;
        match written.map_err(|e| e.to_string())? {
            storage::Written::Done(_) => Ok(true),
            storage::Written::Stale { .. } => Ok(false),
        }
    }
}
