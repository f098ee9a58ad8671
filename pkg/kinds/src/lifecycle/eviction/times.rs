//! Times in the status of an eviction.

use api::tree::text;
use apimachinery::time::{UnixTime, parse_time};
use schema::object::Object;

/// Tolerated difference between the clocks of a responder and the server, in seconds.
pub(super) const SKEW_SECONDS: i64 = 30;

/// Returns a time in a status.
pub(super) fn time(status: &Object, member: &str) -> Option<UnixTime> {
    parse_time(text(status, member)).ok()
}

/// Returns the time `seconds` later.
pub(super) fn later(time: UnixTime, seconds: i64) -> UnixTime {
    UnixTime { seconds: time.seconds.saturating_add(seconds), ..time }
}
