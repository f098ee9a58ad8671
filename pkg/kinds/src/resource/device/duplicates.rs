//! Duplicates in lists of texts.

use apimachinery::field::{Error, ErrorList, Path};
use std::collections::BTreeSet;

/// Reports every item that an earlier one equals.
pub(super) fn duplicates<'t>(path: &Path<'_>, items: impl Iterator<Item = &'t str>, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, item) in items.enumerate() {
        if !seen.insert(item) {
            errors.push(Error::duplicate(&path.index(index), item));
        }
    }
}
