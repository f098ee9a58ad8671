//! JSON merge patch (RFC 7386), with the peculiarities of upstream's implementation.

use super::document::{Document, Node};
use super::{Error, object_patch};
use crate::json::scan::Scanner;
use crate::json::{self, StrictError, TREE_DEPTH_MAX};

/// The text of a patch: an object, or a list, which replaces the whole document. A list is only accepted if
/// fields are not validated.
#[derive(Debug, Clone, PartialEq)]
pub struct MergePatch<'t>(&'t [u8]);

impl<'t> MergePatch<'t> {
    /// Parses a merge patch and returns its strict validation errors. If fields are not validated, upstream
    /// reports fewer syntax details, and accepts a list.
    ///
    /// # Errors
    /// The text is not a JSON object: 400.
    pub fn parse(text: &'t [u8], validate_fields: bool) -> Result<(Self, Vec<StrictError>), Error> {
        let invalid = || Error::BadRequest("Invalid JSON Patch".to_owned());
        let mut strict = Vec::new();
        if validate_fields {
            let decoding = |error| match error {
                json::Error::BudgetExceeded(error) => Error::TooLarge(error.to_string()),
                error => Error::BadRequest(format!("error decoding patch: {error}")),
            };
            strict = object_patch(text).map_err(decoding)?.1;
        }
        let mut scan = Scanner::new(text);
        let value = scan.skip().and_then(|value| scan.end().map(|()| value)).map_err(|_| invalid())?;
        match value.first() {
            Some(b'{' | b'[') => Ok((MergePatch(value), strict)),
            _ => Err(invalid()),
        }
    }

    /// The text of the patch.
    pub(super) fn text(&self) -> &'t [u8] {
        self.0
    }

    /// Returns the text of the patched document: members replace members, `null` removes them.
    ///
    /// # Errors
    /// [`Error::DoesNotApply`]: the result is nested too deeply.
    pub fn apply(&self, document: &[u8]) -> Result<Vec<u8>, Error> {
        let mut patch = Node::new(self.0);
        let text = if self.0.starts_with(b"{") {
            let mut document = Document::new(document);
            document.merge(patch).map(|()| document.text())
        } else {
            patch.prune(TREE_DEPTH_MAX).map(|()| patch.text())
        };
        text.map_err(|error| Error::DoesNotApply(error.to_string()))
    }
}
