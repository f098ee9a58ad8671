//! The compaction protocol of all API servers of a cluster, upstream's and Mainstay's.
//!
//! One key outside every resource's prefix ([`COMPACT_REV_KEY`]) is the clock: its version counts the rounds,
//! its value is the last compacted revision. Once per interval, every server tries to increase the version by
//! one. The winner compacts to the revision that it saw in its previous round; the others learn the new
//! version and wait. So history is compacted once per interval regardless of the number of servers, and
//! compacted revisions are at least one interval old.

use etcd_client::proto::{PbTxnOpResponse, PbTxnResponse};
use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use storage::{Error, Revision, Storage};

use crate::Etcd;
use crate::call_error::CallError;

/// The key of the protocol. Its name is shared with upstream.
pub const COMPACT_REV_KEY: &str = "compact_rev_key";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compacted {
    /// This server compacted to this revision.
    ThisServer(Revision),
    /// Another server compacted to this revision: caches may drop older states.
    OtherServer(Revision),
    /// No compaction is known yet.
    NotYet,
}

/// A server's participation in the protocol. [`Compactor::round`] must be called once per
/// `--etcd-compaction-interval`, the first time after one interval.
#[derive(Debug, Default)]
pub struct Compactor {
    /// The last known version of the key.
    version: i64,
    /// The store's revision at the previous round: old enough for a compaction at the next.
    previous: Revision,
}

/// The revision to compact to, or the known compaction.
#[derive(Debug, PartialEq, Eq)]
enum RoundResult {
    Compact(Revision),
    Finished(Compacted),
}

impl Compactor {
    /// Runs a round: at most one transaction and one compaction.
    ///
    /// # Errors
    /// As for [`Storage`]; the next round continues from the known state.
    pub async fn round(&mut self, etcd: &Etcd) -> Result<Compacted, Error> {
        let version = self.version;
        let value = self.previous.to_string();
        let response = etcd.txn(|| {
            Txn::new()
                .when([Compare::version(COMPACT_REV_KEY, CompareOp::Equal, version)])
                .and_then([TxnOp::put(COMPACT_REV_KEY, value.as_str(), None)])
                .or_else([TxnOp::get(COMPACT_REV_KEY, None)])
        });
        match self.on_response(response.await.map_err(CallError::into_error)?)? {
            RoundResult::Finished(compacted) => Ok(compacted),
            RoundResult::Compact(revision) => {
                etcd.compact(revision).await.map(|()| Compacted::ThisServer(revision))
            }
        }
    }

    fn on_response(&mut self, response: PbTxnResponse) -> Result<RoundResult, Error> {
        let malformed = || Error::Internal("etcd's answer about the compaction is incomplete".to_owned());
        let now = response.header.ok_or_else(malformed)?.revision;
        if response.succeeded {
            self.version += 1;
            return Ok(match std::mem::replace(&mut self.previous, now) {
                0 => RoundResult::Finished(Compacted::NotYet),
                previous => RoundResult::Compact(previous),
            });
        }
        self.previous = now;
        let Some(PbTxnOpResponse::ResponseRange(range)) =
            response.responses.into_iter().next().and_then(|op| op.response)
        else {
            return Err(malformed());
        };
        // Absent: the key was deleted, and the count restarts.
        let Some(kv) = range.kvs.into_iter().next() else {
            self.version = 0;
            return Ok(RoundResult::Finished(Compacted::NotYet));
        };
        self.version = kv.version;
        Ok(RoundResult::Finished(revision_in(&kv.value).map_or(Compacted::NotYet, Compacted::OtherServer)))
    }
}

/// The compacted revision in the key's value. A server's first round writes 0, which is no revision.
pub(crate) fn revision_in(value: &[u8]) -> Option<Revision> {
    let revision = std::str::from_utf8(value).ok()?.parse().ok()?;
    (revision > 0).then_some(revision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etcd_client::proto::{PbKeyValue, PbRangeResponse, PbResponseHeader, PbResponseOp};

    fn won(revision: Revision) -> PbTxnResponse {
        let header = Some(PbResponseHeader { revision, ..Default::default() });
        PbTxnResponse { header, succeeded: true, responses: Vec::new() }
    }

    fn lost(revision: Revision, key: Option<(i64, &str)>) -> PbTxnResponse {
        let kv = |(version, value): (i64, &str)| PbKeyValue {
            version,
            value: value.as_bytes().to_vec(),
            ..Default::default()
        };
        let range = PbRangeResponse { kvs: key.map(kv).into_iter().collect(), ..Default::default() };
        let op = PbResponseOp { response: Some(PbTxnOpResponse::ResponseRange(range)) };
        PbTxnResponse { succeeded: false, responses: vec![op], ..won(revision) }
    }

    fn check(rounds: Vec<(PbTxnResponse, RoundResult)>) {
        let mut compactor = Compactor::default();
        for (response, expected) in rounds {
            assert_eq!(compactor.on_response(response).ok(), Some(expected));
        }
    }

    #[test]
    fn winner_compacts_to_previous_rounds_revision() {
        check(vec![
            (won(10), RoundResult::Finished(Compacted::NotYet)),
            (won(20), RoundResult::Compact(10)),
            (won(30), RoundResult::Compact(20)),
        ]);
    }

    #[test]
    fn loser_learns_the_compaction_and_can_win() {
        check(vec![
            (lost(10, Some((4, "7"))), RoundResult::Finished(Compacted::OtherServer(7))),
            (lost(20, Some((5, "9"))), RoundResult::Finished(Compacted::OtherServer(9))),
            (won(30), RoundResult::Compact(20)),
        ]);
    }

    #[test]
    fn invalid_values_are_not_compactions() {
        check(vec![
            (lost(10, Some((1, "0"))), RoundResult::Finished(Compacted::NotYet)),
            (lost(11, Some((2, "x"))), RoundResult::Finished(Compacted::NotYet)),
            (lost(12, None), RoundResult::Finished(Compacted::NotYet)),
        ]);
    }

    #[test]
    fn versions_follow_the_key() {
        let mut compactor = Compactor::default();
        let mut version_after =
            |response| compactor.on_response(response).map(|_| compactor.version).unwrap_or(-1);
        assert_eq!(version_after(lost(10, Some((4, "7")))), 4);
        assert_eq!(version_after(won(11)), 5);
        assert_eq!(version_after(lost(12, None)), 0);
    }

    #[test]
    fn incomplete_response_is_an_error() {
        let response = PbTxnResponse { succeeded: false, ..won(5) };
        assert!(Compactor::default().on_response(response).is_err());
        assert!(Compactor::default().on_response(PbTxnResponse::default()).is_err());
    }
}
