//! Encoded forms that are kept: each (object, representation) is encoded once while the budget lasts,
//! and shared by every list and watch that shows it.
//!
//! A form is kept when it is asked for a second time, so that a scan of cold objects costs nothing but
//! itself; it is dropped when it was not used for two sweeps. Nothing is evicted to make room: a list
//! larger than the budget keeps its first part instead of washing out everything in turn.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Names a representation: whatever decides about the bytes (served version, media type, transform)
/// has a number of its own. The caller chooses the numbers.
pub type Representation = u32;

/// How many bytes of encoded forms may be kept, and how many are.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    /// Counts sweeps.
    epoch: AtomicU32,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Budget { limit, used: AtomicUsize::new(0), epoch: AtomicU32::new(2) })
    }

    /// Bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Begins the next sweep; afterwards [`Memo::sweep`] drops what was not used since the last but
    /// one.
    pub fn next_epoch(&self) {
        self.epoch.fetch_add(1, Relaxed);
    }

    /// Takes room for some bytes, if there is any.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reserved> {
        let taken = self.used.fetch_update(Relaxed, Relaxed, |used| {
            let after = used.checked_add(bytes)?;
            (after <= self.limit).then_some(after)
        });
        taken.ok().map(|_| Reserved { budget: Arc::clone(self), bytes })
    }
}

/// Room in a budget, given back when dropped.
#[derive(Debug)]
pub struct Reserved {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[derive(Debug)]
struct Entry {
    representation: Representation,
    bytes: Bytes,
    last_used: u32,
    _room: Reserved,
}

/// The encoded forms of one thing.
#[derive(Debug, Default)]
pub struct Memo {
    /// A bit for each representation that was asked for (by its number modulo 32).
    asked: AtomicU32,
    /// Nothing is kept any more. Changed under the lock of the entries.
    closed: AtomicBool,
    entries: Mutex<Vec<Entry>>,
}

impl Memo {
    /// The kept form, if there is one.
    pub fn get(&self, representation: Representation, budget: &Budget) -> Option<Bytes> {
        if self.asked.load(Relaxed) & bit(representation) == 0 {
            return None;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter_mut().find(|entry| entry.representation == representation)?;
        entry.last_used = budget.epoch.load(Relaxed);
        Some(entry.bytes.clone())
    }

    /// Appends the form to `out`: from what is kept, or by `encode`, whose output is kept if it is
    /// the second time and there is room. On an error `out` is as it was.
    ///
    /// # Errors
    /// Those of `encode`.
    pub fn append<E>(
        &self,
        representation: Representation,
        budget: &Arc<Budget>,
        out: &mut Vec<u8>,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(bytes) = self.get(representation, budget) {
            out.extend_from_slice(&bytes);
            return Ok(());
        }
        let begin = out.len();
        if let Err(error) = encode(out) {
            out.truncate(begin);
            return Err(error);
        }
        let again = self.asked.fetch_or(bit(representation), Relaxed) & bit(representation) != 0;
        if let Some(form) = out.get(begin..).filter(|_| again) {
            self.keep(representation, budget, || Bytes::copy_from_slice(form), form.len());
        }
        Ok(())
    }

    /// The form as shared bytes: what is kept, or the output of `encode`, which is kept if there is
    /// room, the first time already. For what many are about to ask for.
    ///
    /// # Errors
    /// Those of `encode`.
    pub fn shared<E>(
        &self,
        representation: Representation,
        budget: &Arc<Budget>,
        encode: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        if let Some(bytes) = self.get(representation, budget) {
            return Ok(bytes);
        }
        let bytes = encode()?;
        self.asked.fetch_or(bit(representation), Relaxed);
        self.keep(representation, budget, || bytes.clone(), bytes.len());
        Ok(bytes)
    }

    fn keep(
        &self,
        representation: Representation,
        budget: &Arc<Budget>,
        bytes: impl FnOnce() -> Bytes,
        length: usize,
    ) {
        if self.closed.load(Relaxed) {
            return;
        }
        let Some(room) = budget.reserve(length) else { return };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = self.closed.load(Relaxed);
        if !closed && entries.iter().all(|entry| entry.representation != representation) {
            let last_used = budget.epoch.load(Relaxed);
            entries.push(Entry { representation, bytes: bytes(), last_used, _room: room });
        }
    }

    /// Drops what was not used since the last sweep but one.
    pub fn sweep(&self, budget: &Budget) {
        if self.asked.load(Relaxed) == 0 {
            return;
        }
        let epoch = budget.epoch.load(Relaxed);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| epoch.wrapping_sub(entry.last_used) < 2);
        if entries.is_empty() {
            entries.shrink_to_fit();
            self.asked.store(0, Relaxed);
        }
    }

    /// Drops every form and keeps none from now on: the thing is of the past, and room is for what will
    /// be asked for.
    pub fn close(&self) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.closed.store(true, Relaxed);
        *entries = Vec::new();
    }
}

fn bit(representation: Representation) -> u32 {
    1 << (representation % 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(memo: &Memo, budget: &Arc<Budget>, text: &str) -> (String, bool) {
        let (mut out, mut encoded) = (b"-".to_vec(), false);
        memo.append(7, budget, &mut out, |out| {
            encoded = true;
            out.extend_from_slice(text.as_bytes());
            Ok::<(), ()>(())
        })
        .unwrap();
        (String::from_utf8(out).unwrap(), encoded)
    }

    #[test]
    fn a_form_is_kept_when_it_is_asked_for_again() {
        let (memo, budget) = (Memo::default(), Budget::new(100));
        assert_eq!(append(&memo, &budget, "one"), ("-one".to_owned(), true));
        assert_eq!(budget.used(), 0);
        assert_eq!(append(&memo, &budget, "one"), ("-one".to_owned(), true));
        assert_eq!(budget.used(), 3);
        assert_eq!(append(&memo, &budget, "two"), ("-one".to_owned(), false));
    }

    #[test]
    fn what_does_not_fit_is_not_kept_and_the_rest_is_given_back() {
        let budget = Budget::new(5);
        let (kept, other) = (Memo::default(), Memo::default());
        for _ in 0..3 {
            append(&kept, &budget, "four");
            append(&other, &budget, "four");
        }
        assert_eq!(budget.used(), 4);
        assert!(append(&other, &budget, "four").1);
        drop(kept);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_form_that_is_not_used_for_two_sweeps_is_dropped() {
        let (memo, budget) = (Memo::default(), Budget::new(100));
        append(&memo, &budget, "one");
        append(&memo, &budget, "one");
        budget.next_epoch();
        memo.sweep(&budget);
        assert!(!append(&memo, &budget, "one").1, "used in this epoch");
        for _ in 0..2 {
            assert_eq!(budget.used(), 3);
            budget.next_epoch();
            memo.sweep(&budget);
        }
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_failure_leaves_the_output_as_it_was() {
        let (memo, budget) = (Memo::default(), Budget::new(100));
        let mut out = b"-".to_vec();
        let failed = memo.append(1, &budget, &mut out, |out| {
            out.extend_from_slice(b"half");
            Err("no")
        });
        assert_eq!((failed, &*out), (Err("no"), &b"-"[..]));
    }

    #[test]
    fn a_closed_memo_keeps_nothing_and_still_encodes() {
        let (memo, budget) = (Memo::default(), Budget::new(100));
        append(&memo, &budget, "one");
        append(&memo, &budget, "one");
        memo.close();
        for _ in 0..3 {
            assert_eq!(append(&memo, &budget, "two"), ("-two".to_owned(), true));
        }
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn shared_forms_are_kept_at_once() {
        let (memo, budget) = (Memo::default(), Budget::new(100));
        let first = memo.shared(3, &budget, || Ok::<_, ()>(Bytes::from_static(b"abc"))).unwrap();
        let again = memo.shared(3, &budget, || Err("asked again")).unwrap();
        assert_eq!((first.as_ptr(), budget.used()), (again.as_ptr(), 3));
    }
}
