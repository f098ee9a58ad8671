//! Strategies for choosing a leader: of leases and of lease candidates.

use crate::validation::value::invalid_each;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;

pub(super) const OLDEST_EMULATION: &str = "OldestEmulationVersion";

/// Validates the strategy for choosing a candidate. `path` is that of the strategy; upstream appends another
/// step to it.
pub(super) fn strategy(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    let path = path.child("strategy");
    if value.contains('/') {
        invalid_each(&path, BadValue::json_text(value), names::is_label_key(value), errors);
    } else if value != OLDEST_EMULATION {
        errors.push(Error::not_supported(&path, BadValue::json_text(value), &[OLDEST_EMULATION]));
    }
}
