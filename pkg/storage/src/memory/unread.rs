//! What a store began with and nobody has asked for yet: parts of an archive, and which of them a call needs.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::mvcc::{Archive, Found, Millis, Part, Scan};

/// The parts that are not read yet. A key of one of them is not known to the state in memory, so whoever looks for keys
/// asks here first what has to be read.
#[derive(Debug, Default)]
pub(super) struct UnreadParts {
    archive: Option<Arc<dyn Archive>>,
    parts: BTreeSet<usize>,
    /// Those with keys that expire, by the time of the first of them.
    expiring: BTreeSet<(Millis, usize)>,
}

impl UnreadParts {
    /// All of an archive, where it is 0.
    pub(super) fn of(archive: Arc<dyn Archive>) -> Self {
        let parts = archive.parts();
        let expiring = |(number, part): (usize, &Part)| part.soonest.map(|at| (at, number));
        UnreadParts {
            parts: (0..parts.len()).collect(),
            expiring: parts.iter().enumerate().filter_map(expiring).collect(),
            archive: Some(archive),
        }
    }

    /// Where parts are read.
    pub(super) fn archive(&self) -> Option<&Arc<dyn Archive>> {
        self.archive.as_ref().filter(|_| !self.parts.is_empty())
    }

    /// A part is read, or its keys will never be. Says whether it was not before.
    pub(super) fn remove(&mut self, part: usize) -> bool {
        self.forget_deadlines(part);
        self.parts.remove(&part)
    }

    /// Nobody waits any more for keys of a part to expire.
    pub(super) fn forget_deadlines(&mut self, part: usize) {
        let soonest = self.all().get(part).and_then(|part| part.soonest);
        soonest.iter().for_each(|at| _ = self.expiring.remove(&(*at, part)));
    }

    /// When the first key expires.
    pub(super) fn soonest(&self) -> Option<Millis> {
        self.expiring.first().map(|(at, _)| *at)
    }

    /// The parts in which keys have expired.
    pub(super) fn due(&self, now: Millis) -> Vec<usize> {
        self.expiring.iter().take_while(|(at, _)| *at <= now).map(|(_, part)| *part).collect()
    }

    /// All parts.
    pub(super) fn whole(&self) -> Vec<usize> {
        self.parts.iter().copied().collect()
    }

    /// The part in which a key would be.
    pub(super) fn with_key(&self, key: &str) -> Vec<usize> {
        let part = self.before(|first| first <= key).checked_sub(1);
        part.filter(|part| self.parts.contains(part)).into_iter().collect()
    }

    /// The parts that a scan has to look into, as far as can be told before: those with keys that it takes, and those at
    /// the ends of its range, of which some keys may be outside.
    pub(super) fn within(&self, scan: &Scan<'_>) -> Vec<usize> {
        let range = self.range(scan);
        let mut sure = 0;
        let needed = |part: &usize| {
            let is_begin = *part == range.start;
            let is_end = *part + 1 == range.end && !scan.uncounted;
            let needed = is_begin || is_end || sure < scan.take as u64;
            if needed && !is_begin {
                sure += self.all().get(*part).map_or(0, |part| part.keys);
            }
            needed
        };
        self.parts.range(range.clone()).copied().filter(needed).collect()
    }

    /// The parts that a scan went past without looking into them, as it would if keys that were there went meanwhile.
    pub(super) fn passed_over(&self, scan: &Scan<'_>, found: &[Found]) -> Vec<usize> {
        let range = self.range(scan);
        let end = match found.last().filter(|_| found.len() >= scan.take) {
            Some(last) => self.before(|first| first <= &*last.key).min(range.end),
            None if scan.take == 0 => range.start,
            None => range.end,
        };
        self.parts.range(range.start.min(end)..end).copied().collect()
    }

    /// How many keys in the range of a scan are in parts that it [need not](Self::within) look into.
    pub(super) fn counted(&self, scan: &Scan<'_>) -> u64 {
        let parts = self.parts.range(self.range(scan));
        parts.filter_map(|part| self.all().get(*part)).map(|part| part.keys).sum()
    }

    /// The parts in which keys of a scan can be.
    fn range(&self, scan: &Scan<'_>) -> Range<usize> {
        use std::ops::Bound::{Excluded, Included};
        let start = match scan.start {
            Included(key) | Excluded(key) if key > scan.prefix => key,
            _ => scan.prefix,
        };
        let end = self.before(|first| first < scan.prefix || first.starts_with(scan.prefix));
        self.before(|first| first <= start).saturating_sub(1).min(end)..end
    }

    /// How many parts begin with a key of which something is true that is true up to some key.
    fn before(&self, holds: impl Fn(&str) -> bool) -> usize {
        self.all().partition_point(|part| holds(&part.first))
    }

    fn all(&self) -> &[Part] {
        self.archive.as_ref().map_or(&[], |archive| archive.parts())
    }
}
