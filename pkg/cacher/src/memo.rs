//! Cache of encoded forms: each (object, representation) is encoded once while the budget lasts, and shared
//! by all lists and watches.
//!
//! A form is cached on its second use, so a scan of cold objects costs nothing extra. It is dropped if unused
//! for two sweeps. Nothing is evicted to make room: a list larger than the budget keeps its first part cached
//! instead of evicting everything in turn.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Id of a representation. Everything that affects the bytes (served version, media type, transform) needs
/// its own number, chosen by the caller.
pub type Representation = u32;

/// Memory budget in bytes for encoded forms.
#[derive(Debug)]
pub struct Budget {
    limit: usize,
    used: AtomicUsize,
    epoch: AtomicU32,
}

impl Budget {
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Budget { limit, used: AtomicUsize::new(0), epoch: AtomicU32::new(2) })
    }

    pub fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Starts the next sweep. Then [`Memo::sweep`] drops the forms that were not used since the second last
    /// sweep.
    pub fn next_epoch(&self) {
        self.epoch.fetch_add(1, Relaxed);
    }

    /// Reserves bytes; `None` if the budget is exhausted.
    pub fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        let updated = self.used.fetch_update(Relaxed, Relaxed, |used| {
            let total = used.checked_add(bytes)?;
            (total <= self.limit).then_some(total)
        });
        updated.ok().map(|_| Reservation { budget: Arc::clone(self), bytes })
    }
}

/// Reserved bytes of a budget, released on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[derive(Debug)]
struct Entry {
    representation: Representation,
    bytes: Bytes,
    last_used: u32,
    _reservation: Reservation,
}

/// The encoded forms of one object.
#[derive(Debug, Default)]
pub struct Memo {
    /// Bit set of representations that were requested (by their number modulo 32).
    requested_forms: AtomicU32,
    /// True if nothing is cached anymore. Changed under the lock of the entries.
    closed: AtomicBool,
    entries: Mutex<Vec<Entry>>,
}

impl Memo {
    pub fn get(&self, representation: Representation, budget: &Budget) -> Option<Bytes> {
        if self.requested_forms.load(Relaxed) & bit(representation) == 0 {
            return None;
        }
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter_mut().find(|entry| entry.representation == representation)?;
        entry.last_used = budget.epoch.load(Relaxed);
        Some(entry.bytes.clone())
    }

    /// Appends the form to `out`, from the cache or by `encode`. The encoded form is cached on its second use
    /// if the budget allows. On an error `out` is unchanged.
    ///
    /// # Errors
    /// The errors of `encode`.
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
        let again = self.requested_forms.fetch_or(bit(representation), Relaxed) & bit(representation) != 0;
        if let Some(form) = out.get(begin..).filter(|_| again) {
            self.insert(representation, budget, || Bytes::copy_from_slice(form), form.len());
        }
        Ok(())
    }

    /// Returns the form as shared bytes, from the cache or by `encode`. The encoded form is cached on its
    /// first use if the budget allows. For forms that many readers are about to request.
    ///
    /// # Errors
    /// The errors of `encode`.
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
        self.requested_forms.fetch_or(bit(representation), Relaxed);
        self.insert(representation, budget, || bytes.clone(), bytes.len());
        Ok(bytes)
    }

    fn insert(
        &self,
        representation: Representation,
        budget: &Arc<Budget>,
        bytes: impl FnOnce() -> Bytes,
        length: usize,
    ) {
        if self.closed.load(Relaxed) {
            return;
        }
        let Some(reservation) = budget.reserve(length) else { return };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = self.closed.load(Relaxed);
        if !closed && entries.iter().all(|entry| entry.representation != representation) {
            let last_used = budget.epoch.load(Relaxed);
            entries.push(Entry { representation, bytes: bytes(), last_used, _reservation: reservation });
        }
    }

    /// Drops the forms that were not used since the second last sweep.
    pub fn sweep(&self, budget: &Budget) {
        if self.requested_forms.load(Relaxed) == 0 {
            return;
        }
        let epoch = budget.epoch.load(Relaxed);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| epoch.wrapping_sub(entry.last_used) < 2);
        if entries.is_empty() {
            entries.shrink_to_fit();
            self.requested_forms.store(0, Relaxed);
        }
    }

    /// Drops every form and caches none from now on: the object is superseded, and the budget is for current
    /// objects.
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
        let mut out = b"-".to_vec();
        let mut encoded = false;
        memo.append(7, budget, &mut out, |out| {
            encoded = true;
            out.extend_from_slice(text.as_bytes());
            Ok::<(), ()>(())
        })
        .unwrap();
        (String::from_utf8(out).unwrap(), encoded)
    }

    #[test]
    fn forms_are_cached_on_second_use() {
        let memo = Memo::default();
        let budget = Budget::new(100);
        assert_eq!(append(&memo, &budget, "one"), ("-one".to_owned(), true));
        assert_eq!(budget.used(), 0);
        assert_eq!(append(&memo, &budget, "one"), ("-one".to_owned(), true));
        assert_eq!(budget.used(), 3);
        assert_eq!(append(&memo, &budget, "two"), ("-one".to_owned(), false));
    }

    #[test]
    fn forms_over_budget_are_not_cached() {
        let budget = Budget::new(5);
        let first = Memo::default();
        let second = Memo::default();
        for _ in 0..3 {
            append(&first, &budget, "four");
            append(&second, &budget, "four");
        }
        assert_eq!(budget.used(), 4);
        assert!(append(&second, &budget, "four").1);
        drop(first);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn unused_forms_are_dropped_after_two_sweeps() {
        let memo = Memo::default();
        let budget = Budget::new(100);
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
    fn encode_errors_leave_output_unchanged() {
        let memo = Memo::default();
        let budget = Budget::new(100);
        let mut out = b"-".to_vec();
        let failed = memo.append(1, &budget, &mut out, |out| {
            out.extend_from_slice(b"half");
            Err("no")
        });
        assert_eq!((failed, &*out), (Err("no"), &b"-"[..]));
    }

    #[test]
    fn closed_memo_encodes_without_caching() {
        let memo = Memo::default();
        let budget = Budget::new(100);
        append(&memo, &budget, "one");
        append(&memo, &budget, "one");
        memo.close();
        for _ in 0..3 {
            assert_eq!(append(&memo, &budget, "two"), ("-two".to_owned(), true));
        }
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn shared_forms_are_cached_on_first_use() {
        let memo = Memo::default();
        let budget = Budget::new(100);
        let first = memo.shared(3, &budget, || Ok::<_, ()>(Bytes::from_static(b"abc"))).unwrap();
        let again = memo.shared(3, &budget, || Err("asked again")).unwrap();
        assert_eq!((first.as_ptr(), budget.used()), (again.as_ptr(), 3));
    }
}
