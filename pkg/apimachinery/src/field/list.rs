//! A list of field errors whose memory is bounded, whatever an object is made of.
#![allow(clippy::arithmetic_side_effects)]

use super::Error;

/// What the texts of one list may take, in bytes; a `Status` is cut at the same size.
pub const LIST_BYTES_MAX: usize = 1024 * 1024;
/// What an error takes on the wire besides its texts, at least.
const FIXED_BYTES: usize = r#"{"reason":"FieldValueInvalid","message":"","field":""}"#.len();

/// The errors of one validation, in the order in which they were found.
///
/// The first [`LIST_BYTES_MAX`] bytes of them are kept word for word; what comes after is counted. So
/// rules go on to the end of an object without regard to how much is wrong with it. A rule that
/// repeats more of the object than the member that it complains about uses [`ErrorList::push_with`]:
/// its texts are only made while there is room for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorList {
    kept: Vec<Error>,
    /// What the kept ones take.
    bytes: usize,
    /// How many were found after those.
    omitted: usize,
}

impl ErrorList {
    /// A list without errors.
    pub const fn new() -> Self {
        Self { kept: Vec::new(), bytes: 0, omitted: 0 }
    }

    /// Adds an error, or counts it when there is no room for it. The first one always has room, but
    /// what is too long in it is cut.
    pub fn push(&mut self, error: Error) {
        let bytes = FIXED_BYTES + error.text_bytes();
        if self.is_full() || (self.bytes + bytes > LIST_BYTES_MAX && !self.kept.is_empty()) {
            self.omitted += 1;
        } else {
            let error = if bytes > LIST_BYTES_MAX { error.shortened() } else { error };
            self.bytes += FIXED_BYTES + error.text_bytes();
            self.kept.push(error);
        }
    }

    /// Adds an error that costs something to word, or counts it without wording it.
    pub fn push_with(&mut self, error: impl FnOnce() -> Error) {
        if self.is_full() { self.omitted += 1 } else { self.push(error()) }
    }

    /// Adds an error so many times, as [`push_with`](Self::push_with) does.
    pub fn push_times(&mut self, times: usize, error: impl Fn() -> Error) {
        for left in (1..=times).rev() {
            if self.is_full() {
                self.omitted += left;
                return;
            }
            self.push(error());
        }
    }

    /// Adds each error in turn.
    pub fn extend(&mut self, errors: impl IntoIterator<Item = Error>) {
        for error in errors {
            self.push(error);
        }
    }

    /// Adds what another list has found.
    pub fn append(&mut self, other: ErrorList) {
        self.extend(other.kept);
        self.omitted += other.omitted;
    }

    /// Whether errors are only counted from now on.
    pub fn is_full(&self) -> bool {
        self.omitted > 0
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How many errors were found, kept or not.
    pub fn len(&self) -> usize {
        self.kept.len() + self.omitted
    }

    /// How many of the errors are not kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// The errors that are kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Error> {
        self.kept.iter()
    }

    /// Keeps the first `len` errors that were found.
    pub fn truncate(&mut self, len: usize) {
        self.omitted = len.saturating_sub(self.kept.len()).min(self.omitted);
        self.kept.truncate(len);
        self.bytes = self.kept.iter().map(|error| FIXED_BYTES + error.text_bytes()).sum();
    }

    /// Keeps those of the kept errors for which `wanted` holds.
    pub fn retain(&mut self, wanted: impl FnMut(&Error) -> bool) {
        self.kept.retain(wanted);
    }

    /// Sorts the kept errors by their texts.
    pub fn sort(&mut self) {
        self.kept.sort_by_cached_key(Error::to_string);
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
        self.kept.iter()
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
    fn what_does_not_fit_is_counted_and_not_worded() {
        let mut errors: ErrorList = (0..100).map(|_| error(20_000)).collect();
        assert_eq!(errors.len(), 100);
        assert_eq!(errors.iter().count(), LIST_BYTES_MAX / (20_000 + FIXED_BYTES + "spec".len()));
        errors.push_with(|| unreachable!("there is no room"));
        assert_eq!((errors.len(), errors.omitted()), (101, 101 - errors.iter().count()));
    }

    #[test]
    fn an_error_that_is_there_many_times_is_worded_while_there_is_room() {
        let (mut errors, worded) = (ErrorList::new(), std::cell::Cell::new(0));
        errors.push_times(1_000_000, || {
            worded.set(worded.get() + 1);
            error(LIST_BYTES_MAX / 3)
        });
        assert_eq!((errors.len(), errors.iter().count(), worded.get()), (1_000_000, 2, 3));
    }

    #[test]
    fn nothing_is_kept_after_what_was_left_out() {
        let errors = ErrorList::from([error(600_000), error(600_000), error(1)]);
        assert_eq!((errors.iter().count(), errors.omitted()), (1, 2));
    }

    #[test]
    fn an_error_that_is_too_long_alone_is_cut() {
        let errors = ErrorList::from([error(3 * LIST_BYTES_MAX), error(1)]);
        assert_eq!(errors.len(), 2);
        assert!(errors.iter().all(|error| error.to_string().len() < LIST_BYTES_MAX));
    }

    #[test]
    fn lists_join_with_what_they_have_counted() {
        let mut errors = ErrorList::from([error(1)]);
        errors.append((0..3).map(|_| error(LIST_BYTES_MAX / 2)).collect());
        assert_eq!((errors.iter().count(), errors.len()), (2, 4));
        errors.truncate(3);
        assert_eq!((errors.iter().count(), errors.len()), (2, 3));
        errors.truncate(1);
        assert_eq!((errors.iter().count(), errors.len()), (1, 1));
    }
}
