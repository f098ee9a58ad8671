//! Guarded writes (by the key's mod revision), and the outcome of those whose response was lost.
//!
//! A mod revision above 0 never recurs, so a write guarded by one happens at most once regardless of retries.
//! If a response is lost, the write is retried on another member. If the guard then fails, the key's history
//! shows which writer was first, so a write that happened is never reported as failed. A create is guarded by
//! the key's absence, which recurs after a deletion: a retry could restore a deleted object. So it is sent
//! once. If its response is lost, the key is read: if it contains the written value, the write happened.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use etcd_client::proto::{PbTxnOpResponse, PbTxnResponse};
use etcd_client::{Compare, CompareOp, PutOptions, Txn, TxnOp};
use futures::StreamExt;
use storage::{EventKind, PutResult, Revision, WatchEvent, WatchItem, WatchOptions};
use tokio::sync::watch as signal;
use tokio::time::{Instant, sleep, timeout};

use crate::Etcd;
use crate::call::{Budget, Effect, WRITE_GRACE};
use crate::call_error::CallError;
use crate::cursor::key_value;
use crate::member::Member;
use crate::responses::revision_of;
use crate::watch::Watch;

/// Time limit for determining the outcome of a write.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(1);

/// A write of one key.
pub(crate) struct GuardedWrite<'a> {
    pub(crate) key: &'a str,
    /// The expected mod revision of the key; 0 if it must not exist.
    pub(crate) expected: Revision,
    pub(crate) op: Op<'a>,
}

#[derive(Clone, Copy)]
pub(crate) enum Op<'a> {
    /// Write a value; lease 0 removes an earlier lease of the key.
    Put {
        value: &'a Bytes,
        lease: i64,
    },
    Delete,
}

impl GuardedWrite<'_> {
    /// A transaction: if the key is at `expected`, then the write, else get.
    fn txn(&self) -> Txn {
        let op = match self.op {
            Op::Put { value, lease } => {
                TxnOp::put(self.key, value.as_ref(), Some(PutOptions::new().with_lease(lease)))
            }
            Op::Delete => TxnOp::delete(self.key, None),
        };
        Txn::new()
            .when([Compare::mod_revision(self.key, CompareOp::Equal, self.expected)])
            .and_then([op])
            .or_else([TxnOp::get(self.key, None)])
    }

    /// True if the key's value `stored` means that this write, or an equal one, happened.
    fn matches_written(&self, stored: &Bytes) -> bool {
        matches!(self.op, Op::Put { value, .. } if value == stored)
    }

    /// The outcome of the write according to `first`, the first change of the key after `expected`; `None` if
    /// ambiguous.
    fn verdict(&self, first: &WatchEvent, stale: PutResult) -> Option<PutResult> {
        match (first.kind, self.op) {
            (EventKind::Delete, Op::Delete) => None,
            (EventKind::Delete, Op::Put { .. }) => Some(stale),
            _ if self.matches_written(&first.kv.value) => Some(PutResult::Done(first.kv.mod_revision)),
            _ => Some(stale),
        }
    }
}

impl Etcd {
    /// Performs a write, and determines its outcome.
    pub(crate) async fn write(&self, write: GuardedWrite<'_>) -> Result<PutResult, CallError> {
        match write.expected {
            0 => self.create(&write).await,
            _ => self.change(&write).await,
        }
    }

    async fn create(&self, write: &GuardedWrite<'_>) -> Result<PutResult, CallError> {
        let failure = match self.txn(|| write.txn()).await {
            Ok(response) => return put_result(response),
            Err(failure) => failure,
        };
        if !failure.is_outcome_unknown() {
            return Err(failure);
        }
        let read =
            async |member: Arc<Member>| member.kv().get(write.key, None).await.map(|response| response.0);
        let response = self.members.call(Budget::repeatable(RESOLVE_TIMEOUT), Effect::Read, read).await;
        let kv = response.ok().and_then(|response| response.kvs.into_iter().next()).map(key_value);
        match kv {
            Some(Ok(kv)) if write.matches_written(&kv.value) => Ok(PutResult::Done(kv.mod_revision)),
            _ => Err(failure),
        }
    }

    async fn change(&self, write: &GuardedWrite<'_>) -> Result<PutResult, CallError> {
        let start = Instant::now();
        let deadline = start + self.request_timeout();
        // For deletions the author cannot be determined; for values it can.
        let grace = if matches!(write.op, Op::Delete) { WRITE_GRACE } else { Duration::ZERO };
        let mut attempts = 0;
        let mut in_doubt = false;
        loop {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let txn =
                async |member: Arc<Member>| member.kv().txn(write.txn()).await.map(|response| response.0);
            let failure = match self.members.guarded(remaining, grace, txn).await.and_then(put_result) {
                Ok(stale @ PutResult::Stale { .. }) if in_doubt => {
                    return self.resolve_stale(write, stale).await;
                }
                Ok(result) => return Ok(result),
                Err(failure) => failure,
            };
            in_doubt |= failure.is_outcome_unknown();
            attempts += 1;
            let pause = self.members.pause_after(attempts);
            let unreachable = self.members.is_unreachable(&failure, attempts, start);
            if !failure.may_retry(true) || unreachable || Instant::now() + pause >= deadline {
                let in_doubt =
                    in_doubt.then(|| CallError::unavailable(failure.clone().into_error().to_string()));
                return Err(in_doubt.unwrap_or(failure));
            }
            sleep(pause).await;
        }
    }

    /// The guard failed on a later attempt: another writer or an earlier attempt was first.
    async fn resolve_stale(
        &self,
        write: &GuardedWrite<'_>,
        stale: PutResult,
    ) -> Result<PutResult, CallError> {
        if let PutResult::Stale { current: Some(current), .. } = &stale
            && write.matches_written(&current.value)
        {
            return Ok(PutResult::Done(current.mod_revision));
        }
        let unknown =
            || CallError::unavailable("the answer was lost, and so is what it was about".to_owned());
        let first = timeout(RESOLVE_TIMEOUT, self.first_change(write)).await.ok().flatten();
        first.and_then(|first| write.verdict(&first, stale)).ok_or_else(unknown)
    }

    /// The first change of the key after the expected revision, while history contains it.
    async fn first_change(&self, write: &GuardedWrite<'_>) -> Option<WatchEvent> {
        let options = WatchOptions { exact: true, ..WatchOptions::default() };
        let (_, no_progress) = signal::channel(0);
        let start = write.expected + 1;
        let watch = Watch::new(self.members.clone(), write.key, start, options, RESOLVE_TIMEOUT, no_progress);
        match watch.open().await.ok()?.next().await? {
            Ok(WatchItem::Event(event)) => Some(event),
            _ => None,
        }
    }
}

/// The outcome of a guarded transaction.
fn put_result(response: PbTxnResponse) -> Result<PutResult, CallError> {
    let revision = revision_of(response.header)?;
    if response.succeeded {
        return Ok(PutResult::Done(revision));
    }
    match response.responses.into_iter().next().and_then(|op| op.response) {
        Some(PbTxnOpResponse::ResponseRange(range)) => {
            let current = range.kvs.into_iter().next().map(key_value).transpose();
            let current = current.map_err(|e| CallError::internal(e.to_string()))?;
            Ok(PutResult::Stale { current, revision })
        }
        _ => Err(CallError::internal("etcd did not answer the transaction's read".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use etcd_client::proto::PbResponseHeader;
    use storage::KeyValue;

    use super::*;

    #[test]
    fn incomplete_response_is_an_error() {
        let header = || Some(PbResponseHeader { revision: 7, ..Default::default() });
        let response = |header, succeeded| PbTxnResponse { header, succeeded, responses: Vec::new() };
        assert_eq!(put_result(response(header(), true)), Ok(PutResult::Done(7)));
        assert!(matches!(put_result(response(None, true)), Err(CallError::Internal(_))));
        assert!(matches!(put_result(response(header(), false)), Err(CallError::Internal(_))));
    }

    #[test]
    fn first_change_after_guard_decides_the_outcome() {
        let written = Bytes::from_static(b"ours");
        let foreign = Bytes::from_static(b"theirs");
        let stale = || PutResult::Stale { current: None, revision: 9 };
        let check = |op, kind, value: &Bytes, expected: Option<PutResult>| {
            let kv = KeyValue::new("k", value.clone(), 6);
            let first = WatchEvent { kind, kv, prev: None };
            assert_eq!(
                GuardedWrite { key: "k", expected: 5, op }.verdict(&first, stale()),
                expected,
                "{first:?}"
            );
        };
        let put = Op::Put { value: &written, lease: 0 };
        check(put, EventKind::Update, &written, Some(PutResult::Done(6)));
        check(put, EventKind::Update, &foreign, Some(stale()));
        check(put, EventKind::Delete, &Bytes::new(), Some(stale()));
        check(Op::Delete, EventKind::Update, &foreign, Some(stale()));
        // The author of a deletion cannot be determined.
        check(Op::Delete, EventKind::Delete, &Bytes::new(), None);
    }
}
