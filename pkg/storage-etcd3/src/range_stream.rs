//! Lists in one stream of chunks: etcd's `RangeStream`, which etcd 3.7 introduced.
//!
//! etcd chooses the chunks, and waits while the caller does not read: neither side holds the whole list. Only the last
//! chunk has a header, so a stream that ends without one is incomplete. A [check](crate::range_check) rejects chunks that
//! do not belong to the list.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etcd_client::proto::{PbKeyValue, PbRangeResponse};
use etcd_client::{GetOptions, GetStreamResponse};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use storage::{Error, KeyValue};
use tokio::time::Instant;

use crate::call::{Budget, Effect, REPEATABLE_GRACE};
use crate::call_error::CallError;
use crate::cursor::key_value;
use crate::member::Member;
use crate::members::Members;
use crate::range_check::{RangeCheck, prefix_end};

/// Time after which a cluster without streams is called again, because it may have been upgraded (upstream's
/// `rangeStreamRecheckInterval`).
const RECHECK_INTERVAL: Duration = Duration::from_secs(600);

/// Support of the cluster for streams. It is assumed until a member reports that the method does not exist.
#[derive(Debug)]
pub(crate) struct StreamSupport {
    enabled: bool,
    /// Time of the last such report.
    unimplemented_at: Mutex<Option<Instant>>,
}

impl StreamSupport {
    /// Streams are never used unless they are `enabled`.
    pub(crate) fn new(enabled: bool) -> Self {
        StreamSupport { enabled, unimplemented_at: Mutex::new(None) }
    }

    /// True if a list should be streamed.
    pub(crate) fn is_assumed(&self, now: Instant) -> bool {
        let reported = *self.unimplemented_at.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = reported.is_some_and(|at| now.saturating_duration_since(at) < RECHECK_INTERVAL);
        self.enabled && !missing
    }

    /// Records that a member does not have the method.
    pub(crate) fn record_unimplemented(&self, now: Instant) {
        *self.unimplemented_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}

/// A stream whose first chunk has arrived.
pub(crate) struct ChunkStream {
    members: Arc<Members>,
    member: Arc<Member>,
    responses: GetStreamResponse,
    check: RangeCheck,
    /// The first chunk, until it is delivered.
    first: Option<PbRangeResponse>,
    /// Maximum wait for a chunk.
    chunk_timeout: Duration,
    /// True if the last chunk has arrived.
    complete: bool,
}

impl ChunkStream {
    /// Opens a stream of the keys from `start` to the end of `prefix` at a revision. Tries other members as
    /// [`Members::call`] does.
    pub(crate) async fn open(
        members: &Arc<Members>,
        budget: Budget,
        prefix: &str,
        start: &str,
        revision: i64,
    ) -> Result<Self, CallError> {
        let range = GetOptions::new().with_range(prefix_end(prefix)).with_revision(revision);
        let open = async |member: Arc<Member>| {
            let mut responses = member.kv().get_stream(start, Some(range.clone())).await?;
            let first = responses.message().await?.map(|response| response.0);
            Ok((member, responses, first))
        };
        let (member, responses, first) = members.call(budget, Effect::Repeatable, open).await?;
        let chunk_timeout = budget.attempt;
        Ok(ChunkStream {
            members: Arc::clone(members),
            member,
            responses,
            check: RangeCheck::new(prefix, start, revision),
            first,
            chunk_timeout,
            complete: false,
        })
    }

    /// Returns all chunks.
    pub(crate) fn chunks(self) -> BoxStream<'static, Result<Vec<KeyValue>, Error>> {
        let chunks = stream::try_unfold(Box::new(self), |mut stream| async move {
            let chunk = stream.next_chunk().await?;
            Ok(chunk.map(|chunk| (chunk, stream)))
        });
        chunks.boxed()
    }

    /// Returns the next chunk; `None` after the last one.
    async fn next_chunk(&mut self) -> Result<Option<Vec<KeyValue>>, Error> {
        if self.complete {
            return Ok(None);
        }
        let response = match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.receive().await,
        };
        let response = response.and_then(|response| {
            let ended = || CallError::unavailable("etcd ended a list before its last chunk".to_owned());
            let response = response.ok_or_else(ended)?;
            self.check.check_chunk(&response).map_err(CallError::Malformed)?;
            Ok(response)
        });
        let response = response.map_err(|failure| self.blame(failure).into_error())?;
        self.complete = response.header.is_some();
        let readable = |kv: &PbKeyValue| !self.members.foreign_keys.contain(kv);
        response.kvs.into_iter().filter(readable).map(key_value).collect::<Result<_, _>>().map(Some)
    }

    async fn receive(&mut self) -> Result<Option<PbRangeResponse>, CallError> {
        let message = self.responses.message();
        let response =
            self.members.wait_for(&self.member, self.chunk_timeout, REPEATABLE_GRACE, message).await?;
        Ok(response?.map(|response| response.0))
    }

    /// Marks the member suspect if it caused the failure, so that the rest of the list is read from another one.
    fn blame(&self, failure: CallError) -> CallError {
        if failure.blames_member() {
            self.members.suspect(&self.member, &failure);
        }
        failure
    }
}

#[cfg(test)]
mod tests;
