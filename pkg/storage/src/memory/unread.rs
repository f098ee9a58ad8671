//! The unread parts of an archive, and the parts that a call needs.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::mvcc::{Archive, FoundKey, Millis, PartInfo, Scan};

/// The parts that are not yet read. The in-memory state lacks their keys, so lookups must first check here
/// which parts to read.
#[derive(Debug, Default)]
pub(super) struct UnreadParts {
    archive: Option<Arc<dyn Archive>>,
    parts: BTreeSet<usize>,
    /// Parts with expiring keys, by their earliest deadline.
    expiring: BTreeSet<(Millis, usize)>,
}

impl UnreadParts {
    /// All parts of an archive; its time base is 0.
    pub(super) fn of(archive: Arc<dyn Archive>) -> Self {
        let parts = archive.parts();
        let expiring = |(number, part): (usize, &PartInfo)| part.first_expiry.map(|at| (at, number));
        UnreadParts {
            parts: (0..parts.len()).collect(),
            expiring: parts.iter().enumerate().filter_map(expiring).collect(),
            archive: Some(archive),
        }
    }

    /// The archive, while there are unread parts.
    pub(super) fn archive(&self) -> Option<&Arc<dyn Archive>> {
        self.archive.as_ref().filter(|_| !self.parts.is_empty())
    }

    /// Removes a part that is read or will never be. Returns true if it was unread.
    pub(super) fn remove(&mut self, part: usize) -> bool {
        self.forget_deadlines(part);
        self.parts.remove(&part)
    }

    /// Drops the deadlines of a part.
    pub(super) fn forget_deadlines(&mut self, part: usize) {
        let soonest = self.all().get(part).and_then(|part| part.first_expiry);
        soonest.iter().for_each(|at| _ = self.expiring.remove(&(*at, part)));
    }

    pub(super) fn soonest(&self) -> Option<Millis> {
        self.expiring.first().map(|(at, _)| *at)
    }

    /// The parts with expired keys.
    pub(super) fn due(&self, now: Millis) -> Vec<usize> {
        self.expiring.iter().take_while(|(at, _)| *at <= now).map(|(_, part)| *part).collect()
    }

    pub(super) fn all_parts(&self) -> Vec<usize> {
        self.parts.iter().copied().collect()
    }

    /// The unread part that may contain a key.
    pub(super) fn with_key(&self, key: &str) -> Vec<usize> {
        let part = self.before(|first| first <= key).checked_sub(1);
        part.filter(|part| self.parts.contains(part)).into_iter().collect()
    }

    /// The parts that a scan must read, as far as this can be determined in advance: those with keys that it
    /// returns, and those at the ends of its range, which may have keys outside of it.
    pub(super) fn parts_of_scan(&self, scan: &Scan<'_>) -> Vec<usize> {
        let range = self.range(scan);
        let mut sure = 0;
        let needed = |part: &usize| {
            let is_begin = *part == range.start;
            let is_end = *part + 1 == range.end && !scan.uncounted;
            let needed = is_begin || is_end || sure < scan.limit as u64;
            if needed && !is_begin {
                sure += self.all().get(*part).map_or(0, |part| part.keys);
            }
            needed
        };
        self.parts.range(range.clone()).copied().filter(needed).collect()
    }

    /// The parts that a scan passed without reading them, because keys that it had counted on were deleted
    /// concurrently.
    pub(super) fn skipped_parts(&self, scan: &Scan<'_>, found: &[FoundKey]) -> Vec<usize> {
        let range = self.range(scan);
        let end = match found.last().filter(|_| found.len() >= scan.limit) {
            Some(last) => self.before(|first| first <= &*last.key).min(range.end),
            None if scan.limit == 0 => range.start,
            None => range.end,
        };
        self.parts.range(range.start.min(end)..end).copied().collect()
    }

    /// Number of keys in the range of a scan that are in parts that it [need not](Self::parts_of_scan) read.
    pub(super) fn unread_key_count(&self, scan: &Scan<'_>) -> u64 {
        let parts = self.parts.range(self.range(scan));
        parts.filter_map(|part| self.all().get(*part)).map(|part| part.keys).sum()
    }

    /// The parts that may contain keys of a scan.
    fn range(&self, scan: &Scan<'_>) -> Range<usize> {
        use std::ops::Bound::{Excluded, Included};
        let start = match scan.start {
            Included(key) | Excluded(key) if key > scan.prefix => key,
            _ => scan.prefix,
        };
        let end = self.before(|first| first < scan.prefix || first.starts_with(scan.prefix));
        self.before(|first| first <= start).saturating_sub(1).min(end)..end
    }

    /// Number of parts whose first key satisfies `holds`, which must be true up to some key.
    fn before(&self, holds: impl Fn(&str) -> bool) -> usize {
        self.all().partition_point(|part| holds(&part.first))
    }

    fn all(&self) -> &[PartInfo] {
        self.archive.as_ref().map_or(&[], |archive| archive.parts())
    }
}
