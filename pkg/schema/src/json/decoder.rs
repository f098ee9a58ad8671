//! State of the decoder.

use std::ops::Range;

use super::errors::{Error, StrictError};
use super::path::Step;
use super::scan::Scanner;
use crate::memory::DecodeBudget;

/// A decoder of one text.
pub(crate) struct Decoder<'a> {
    pub(super) scan: Scanner<'a>,
    pub(super) path: Vec<Step<'a>>,
    pub(super) strict: Vec<StrictError>,
    pub(super) saved: Option<Error>,
    /// Length of `path` at the outermost value of a type with a custom decoder. Such decoders are not strict,
    /// and their errors contain the enclosing struct.
    pub(super) nested_at: Option<usize>,
    /// The remaining memory budget.
    pub(super) budget: DecodeBudget,
    /// True if defaults may fill empty objects, which then count as structs.
    pub(super) defaults: bool,
    /// The objects to skip in untyped values, if an outline is requested.
    pub(super) outline: Option<SkippedObjects>,
    /// Depth from which objects and lists stay raw.
    pub(super) raw_depth: usize,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Decoder::at(Scanner::new(text))
    }

    pub(super) fn at(scan: Scanner<'a>) -> Self {
        Decoder {
            scan,
            path: Vec::new(),
            strict: Vec::new(),
            saved: None,
            nested_at: None,
            budget: DecodeBudget::UNLIMITED,
            defaults: true,
            outline: None,
            raw_depth: usize::MAX,
        }
    }

    /// Returns the decoded value and the strict errors, or the deferred error.
    pub(super) fn finish<T>(self, decoded: T) -> Result<(T, Vec<StrictError>), Error> {
        match self.saved {
            Some(error) => Err(error),
            None => Ok((decoded, self.strict)),
        }
    }
}

/// The objects to skip.
pub(super) struct SkippedObjects {
    /// Names of members whose objects are skipped.
    pub(super) names: &'static [&'static str],
    /// Ranges of the objects skipped so far.
    pub(super) ranges: Vec<Range<usize>>,
}
