//! State of the decoder.

use super::errors::Error;
use super::scan::Scanner;
use crate::memory::DecodeBudget;

/// A decoder of one item. After each value the cursor is behind it, even if the value was rejected.
pub(super) struct Decoder<'a> {
    pub(super) scan: Scanner<'a>,
    /// True if unknown fields are rejected.
    pub(super) strict: bool,
    /// Depth of the next value in the tree.
    pub(super) depth: usize,
    /// The expected-conversion tags around the next value; they determine the text of its byte strings.
    pub(super) expected_encodings: Vec<ExpectedEncoding>,
    /// The first error that upstream finds when it post-processes the decoded object.
    pub(super) afterwards: Option<Error>,
    /// The remaining memory budget.
    pub(super) budget: DecodeBudget,
}

/// The expected conversion of a byte string to text (RFC 8949, section 3.4.5.2).
#[derive(Debug, Clone, Copy)]
pub(super) enum ExpectedEncoding {
    Base64Url,
    Base64,
    Base16,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(scan: Scanner<'a>, strict: bool, depth: usize) -> Self {
        Decoder {
            scan,
            strict,
            depth,
            expected_encodings: Vec::new(),
            afterwards: None,
            budget: DecodeBudget::UNLIMITED,
        }
    }

    /// Sets the memory budget.
    pub(super) fn with_budget(self, budget: DecodeBudget) -> Self {
        Decoder { budget, ..self }
    }

    /// A decoder for the bytes of a type with a custom decoder. It has fresh state and is strict.
    pub(super) fn nested<'b>(&self, item: &'b [u8]) -> Decoder<'b> {
        Decoder::new(Scanner::trusting(item), true, self.depth).with_budget(self.budget)
    }
}
