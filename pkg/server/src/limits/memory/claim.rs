//! Claim on memory: its size and its precedence.

use super::{REQUEST_BYTES, SheddingRank};

/// Use of claimed memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Start of a request.
    Start,
    /// Bytes of a body beyond a small one.
    Receive,
    /// Work on a small body while it is read.
    ProcessPart,
    /// Work on a received body.
    Process,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) rank: SheddingRank,
    pub(super) purpose: Purpose,
    pub(super) bytes: u64,
}

impl Claim {
    /// Number of [`Claim::class`] values.
    pub(super) const CLASSES: usize = 5;

    /// Rank of the limit for this claim.
    ///
    /// Received bodies are released only after they were processed. So bodies of any rank leave a part of the
    /// memory to other requests, and to the processing of bodies, which cannot wait for itself.
    pub(super) fn limit_rank(self) -> SheddingRank {
        match self.purpose {
            Purpose::Start => self.rank,
            Purpose::Receive => SheddingRank::Bulk,
            Purpose::ProcessPart | Purpose::Process => self.rank.above(),
        }
    }

    /// Precedence among waiting claims; the highest is first.
    pub(super) fn class(self) -> usize {
        match self.purpose {
            Purpose::Start => self.rank as usize,
            Purpose::Receive => 3,
            Purpose::ProcessPart | Purpose::Process => 4,
        }
    }

    /// 1 for a claim to process a complete body, otherwise 0.
    pub(super) fn processing(self) -> usize {
        usize::from(self.purpose == Purpose::Process)
    }

    /// True for a claim that does not queue behind waiting claims if it fits. It delays them little. Otherwise
    /// the reads of a cluster would wait for its large writes.
    pub(super) fn is_small(self) -> bool {
        self.bytes <= REQUEST_BYTES
    }
}
