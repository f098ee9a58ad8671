//! Validation errors and their paths; the texts are visible on the wire.

use std::fmt::{self, Display};

/// Maximum number of errors; upstream keeps all.
const ERRORS_MAX: usize = 1000;
/// Maximum total size of the paths of several errors in one value, in bytes.
const PATHS_BYTES_MAX: usize = 1 << 20;

/// A validation error of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The path of the value, such as `.spec.ports[0]`; empty for the object itself.
    pub path: String,
    /// The error without its path.
    pub message: String,
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// The validation errors of an object, at most 1,000.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Errors(pub Vec<Error>);

impl Errors {
    /// A single error about the value itself.
    pub(super) fn one(message: impl Into<String>) -> Self {
        let mut errors = Errors::default();
        errors.push(message);
        errors
    }

    /// Adds an error about the value itself.
    pub(super) fn push(&mut self, message: impl Into<String>) {
        self.add(Error { path: String::new(), message: message.into() });
    }

    pub(super) fn add(&mut self, error: Error) {
        if self.0.len() < ERRORS_MAX {
            self.0.push(error);
        }
    }

    /// Prefixes the paths of the errors from `start` on with `step`.
    pub(super) fn prefix(&mut self, start: usize, step: impl Display) {
        if let Some(errors @ [_, ..]) = self.0.get_mut(start..) {
            let step = step.to_string();
            errors.iter_mut().for_each(|error| error.path.insert_str(0, &step));
            self.cut_paths(start);
        }
    }

    /// Drops errors that exceed the size limit: a step may be as long as the object, and each error below it
    /// repeats it.
    fn cut_paths(&mut self, start: usize) {
        let mut bytes = 0_usize;
        let fitting = self.0.iter().skip(start).take_while(|error| {
            bytes = bytes.saturating_add(error.path.len());
            bytes <= PATHS_BYTES_MAX
        });
        let fitting = fitting.count().max(1);
        self.0.truncate(start.saturating_add(fitting));
    }

    /// Adds the errors of a child at `step`.
    pub(super) fn append(&mut self, other: Errors, step: impl Display) {
        let start = self.0.len();
        self.0.extend(other.0.into_iter().take(ERRORS_MAX.saturating_sub(start)));
        self.prefix(start, step);
    }

    /// `Ok` if there are no errors.
    pub(super) fn result(self) -> Result<(), Errors> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => only.fmt(f),
            errors => {
                f.write_str("errors:")?;
                errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
            }
        }
    }
}

impl std::error::Error for Errors {}
