//! List of field errors with bounded memory, whatever the object contains.
#![allow(clippy::arithmetic_side_effects)]

use std::collections::HashSet;

use super::Error;

/// Maximum size in bytes of the texts of one list; a `Status` has the same limit.
pub const LIST_BYTES_MAX: usize = 1024 * 1024;
/// Minimum size of an error on the wire besides its texts.
const FIXED_BYTES: usize = r#"{"reason":"FieldValueInvalid","message":"","field":""}"#.len();

/// Errors of one validation, in order of detection.
///
/// The first [`LIST_BYTES_MAX`] bytes are kept; further errors are only counted. So rules can check the whole
/// object, however many errors it has. A rule whose message repeats more than the faulty field uses
/// [`ErrorList::push_with`], which builds the text only if there is space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorList {
    errors: Vec<Error>,
    /// Size of the kept errors.
    bytes: usize,
    /// Number of errors found after the kept ones.
    omitted: usize,
}

impl ErrorList {
    /// Creates an empty list without allocating.
    pub const fn new() -> Self {
        Self { errors: Vec::new(), bytes: 0, omitted: 0 }
    }

    /// Adds an error, or counts it if there is no space. The first error is always kept, but its long texts
    /// are cut.
    pub fn push(&mut self, error: Error) {
        let bytes = FIXED_BYTES + error.text_bytes();
        if self.is_full() || (self.bytes + bytes > LIST_BYTES_MAX && !self.errors.is_empty()) {
            self.omitted += 1;
        } else {
            let error = if bytes > LIST_BYTES_MAX { error.shortened() } else { error };
            self.bytes += FIXED_BYTES + error.text_bytes();
            self.errors.push(error);
        }
    }

    /// Adds an error whose text is expensive to build, or counts it without building it.
    pub fn push_with(&mut self, error: impl FnOnce() -> Error) {
        if self.is_full() { self.omitted += 1 } else { self.push(error()) }
    }

    /// Adds an error `times` times, like [`push_with`](Self::push_with).
    pub fn push_times(&mut self, times: usize, error: impl Fn() -> Error) {
        for remaining in (1..=times).rev() {
            if self.is_full() {
                self.omitted += remaining;
                return;
            }
            self.push(error());
        }
    }

    /// Adds errors in order, within the limit of [`push`](Self::push).
    pub fn extend(&mut self, errors: impl IntoIterator<Item = Error>) {
        for error in errors {
            self.push(error);
        }
    }

    /// Adds the errors of another list, including its omitted ones. Kept errors of the other list stay kept while
    /// there is space, even if this list has omitted errors.
    pub fn append(&mut self, other: ErrorList) {
        let omitted = std::mem::take(&mut self.omitted);
        self.extend(other.errors);
        self.omitted += omitted + other.omitted;
    }

    /// True if further errors are only counted.
    pub fn is_full(&self) -> bool {
        self.omitted > 0
    }

    /// True if no error was found. A list whose kept errors were all removed has its omitted ones.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty() && self.omitted == 0
    }

    /// Number of errors found, kept or not.
    pub fn len(&self) -> usize {
        self.errors.len() + self.omitted
    }

    /// Number of errors that were not kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// Iterates over the kept errors.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.errors.iter()
    }

    /// Keeps only the first `len` errors.
    pub fn truncate(&mut self, len: usize) {
        self.omitted = len.saturating_sub(self.errors.len()).min(self.omitted);
        self.errors.truncate(len);
        self.recount();
    }

    /// Removes the kept errors that `wanted` does not accept. Omitted errors stay counted.
    pub fn retain(&mut self, wanted: impl FnMut(&Error) -> bool) {
        self.errors.retain(wanted);
        self.recount();
    }

    fn recount(&mut self) {
        self.bytes = self.errors.iter().map(|error| FIXED_BYTES + error.text_bytes()).sum();
    }

    /// Removes kept errors with the text of an earlier one.
    pub fn remove_repeated(&mut self) {
        let mut seen = HashSet::with_capacity(self.errors.len());
        self.errors.retain(|error| seen.insert(error.to_string()));
        self.recount();
    }

    /// Returns the list without repeated errors. Upstream's `ValidateObjectMetaDeclaratively` reports equal errors of the
    /// metadata once.
    pub fn distinct(mut self) -> Self {
        if self.errors.len() > 1 {
            self.remove_repeated();
        }
        self
    }

    /// Sorts the kept errors by their texts.
    pub fn sort(&mut self) {
        self.errors.sort_by_cached_key(Error::to_string);
    }
}

impl<const N: usize> From<[Error; N]> for ErrorList {
    fn from(errors: [Error; N]) -> Self {
        errors.into_iter().collect()
    }
}

impl FromIterator<Error> for ErrorList {
    fn from_iter<I: IntoIterator<Item = Error>>(errors: I) -> Self {
        let mut list = Self::new();
        list.extend(errors);
        list
    }
}

impl<'a> IntoIterator for &'a ErrorList {
    type Item = &'a Error;
    type IntoIter = std::slice::Iter<'a, Error>;

    fn into_iter(self) -> Self::IntoIter {
        self.errors.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Path;

    fn error(bytes: usize) -> Error {
        Error::invalid(&Path::root("spec"), "x".repeat(bytes), "")
    }

    #[test]
    fn excess_errors_are_counted_without_text() {
        let mut errors: ErrorList = (0..100).map(|_| error(20_000)).collect();
        assert_eq!(errors.len(), 100);
        assert_eq!(errors.iter().count(), LIST_BYTES_MAX / (20_000 + FIXED_BYTES + "spec".len()));
        errors.push_with(|| unreachable!("there is no room"));
        assert_eq!((errors.len(), errors.omitted()), (101, 101 - errors.iter().count()));
    }

    #[test]
    fn repeated_error_is_built_while_space_remains() {
        let mut errors = ErrorList::new();
        let worded = std::cell::Cell::new(0);
        errors.push_times(1_000_000, || {
            worded.set(worded.get() + 1);
            error(LIST_BYTES_MAX / 3)
        });
        assert_eq!((errors.len(), errors.iter().count(), worded.get()), (1_000_000, 2, 3));
    }

    #[test]
    fn nothing_is_kept_after_omitted_error() {
        let errors = ErrorList::from([error(600_000), error(600_000), error(1)]);
        assert_eq!((errors.iter().count(), errors.omitted()), (1, 2));
    }

    #[test]
    fn repeated_texts_are_removed() {
        let mut errors = ErrorList::from([error(1), error(2), error(1)]);
        errors.remove_repeated();
        assert_eq!(errors, ErrorList::from([error(1), error(2)]));
    }

    #[test]
    fn single_long_error_is_cut() {
        let errors = ErrorList::from([error(3 * LIST_BYTES_MAX), error(1)]);
        assert_eq!(errors.len(), 2);
        assert!(errors.iter().all(|error| error.to_string().len() < LIST_BYTES_MAX));
    }

    #[test]
    fn list_with_omitted_errors_is_not_empty() {
        let mut errors: ErrorList = (0..3).map(|_| error(LIST_BYTES_MAX / 2)).collect();
        errors.retain(|_| false);
        assert!(!errors.is_empty());
        errors.append(ErrorList::from([error(1)]));
        assert_eq!((errors.iter().count(), errors.len()), (1, 3));
    }

    #[test]
    fn appended_lists_add_their_counts() {
        let mut errors = ErrorList::from([error(1)]);
        errors.append((0..3).map(|_| error(LIST_BYTES_MAX / 2)).collect());
        assert_eq!((errors.iter().count(), errors.len()), (2, 4));
        errors.truncate(3);
        assert_eq!((errors.iter().count(), errors.len()), (2, 3));
        errors.truncate(1);
        assert_eq!((errors.iter().count(), errors.len()), (1, 1));
    }
}
