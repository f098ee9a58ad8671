//! Work estimates in seats. `docs/flow-control.md` describes the measurements behind the constants.
//!
//! Upstream counts objects (100 per seat) or bytes (100 kB per seat), because each object of a list is in
//! memory during the response. Here the memory of a list does not grow with its length, and its cost is CPU
//! time. So a seat is a unit of CPU time, and an estimate is the CPU time of the request.

use std::time::Duration;

use flowcontrol::{Class, WorkEstimate};

use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use endpoints::routing::dispatch::{Dispatch, Extent};

/// CPU time of one seat in nanoseconds.
const SEAT_NANOS: u64 = 1_000_000;
/// CPU time to visit an object in the cache.
const OBJECT_NANOS: u64 = 60;
/// CPU time per stored byte to encode it as JSON and send it, in picoseconds, if the encoding is not cached.
const BYTE_PICOS: u64 = 4_400;
/// Additional CPU time to read an object from the store and decode it.
const STORED_NANOS: u64 = 10_000;
/// CPU time to send an event to a watch: wake-up, filter, and encryption and sending of a shared frame.
const EVENT_NANOS: u64 = 7_000;
/// Maximum number of seats, so that a request can run while others do (upstream's `MaximumSeatsLimit`).
const SEATS_MAX: u32 = 10;
/// A write with fewer watches gets no additional seats.
const WATCHES_MIN: usize = SEAT_NANOS as usize / EVENT_NANOS as usize;

/// Estimates the work of a request of a limited priority level.
pub(super) fn estimate(context: &RequestContext, class: &Class, dispatch: &dyn Dispatch) -> WorkEstimate {
    let seats_max = class.seats_max().unwrap_or(SEATS_MAX).clamp(1, SEATS_MAX);
    let info = &context.info;
    match info.verb.as_str() {
        _ if !info.is_resource => WorkEstimate::ONE,
        "list" => WorkEstimate { initial_seats: list(context, dispatch, seats_max), ..WorkEstimate::ONE },
        "watch" if sends_initial_state(context) => {
            WorkEstimate { initial_seats: list(context, dispatch, seats_max), ..WorkEstimate::ONE }
        }
        "create" | "update" | "patch" | "delete" if !has_no_watchers(info) => {
            let watches = dispatch.watch_count(info);
            class.observe_watchers(watches);
            estimate_write(watches, seats_max)
        }
        _ => WorkEstimate::ONE,
    }
}

/// True if a watch sends initial objects.
fn sends_initial_state(context: &RequestContext) -> bool {
    let query = &context.query;
    let legacy = matches!(query.first("resourceVersion"), None | Some("" | "0"));
    legacy || query.flag("sendInitialEvents") == Some(true)
}

/// True if no watch sees the write, as for a service account token.
fn has_no_watchers(info: &RequestInfo) -> bool {
    info.resource == "serviceaccounts" && info.subresource == "token"
}

fn list(context: &RequestContext, dispatch: &dyn Dispatch, seats_max: u32) -> u32 {
    // A request with an invalid limit is rejected before it costs anything.
    let limit = context.query.integer("limit").ok().flatten().unwrap_or(0);
    let Some(extent) = dispatch.extent(&context.info) else { return 1 };
    let filtered = !context.info.selectors.is_empty();
    let single = !context.info.name.is_empty();
    let limit = usize::try_from(limit).unwrap_or(0);
    seats(nanos(extent, if single { 1 } else { limit }, filtered && !single), seats_max)
}

/// CPU time of a list in nanoseconds. `limit` is 0 for none.
fn nanos(extent: Extent, limit: usize, filtered: bool) -> u64 {
    let Extent { objects, bytes, stored } = extent;
    let returned = if limit == 0 { objects } else { limit.min(objects) };
    // A page ends with its last object. With a selector its position is unknown.
    let visited = if filtered { objects } else { returned };
    let returned_bytes = bytes.checked_div(objects).unwrap_or(0) as u64 * returned as u64;
    let object_nanos = OBJECT_NANOS + if stored { STORED_NANOS } else { 0 };
    (visited as u64).saturating_mul(object_nanos) + returned_bytes.saturating_mul(BYTE_PICOS) / 1000
}

fn seats(nanos: u64, seats_max: u32) -> u32 {
    u32::try_from(nanos.div_ceil(SEAT_NANOS)).unwrap_or(u32::MAX).clamp(1, seats_max)
}

/// A write takes one seat, and afterwards seats for the events of its watches. If they exceed the maximum, it
/// holds the seats longer.
fn estimate_write(watches: usize, seats_max: u32) -> WorkEstimate {
    if watches < WATCHES_MIN {
        return WorkEstimate::ONE;
    }
    let nanos = (watches as u64).saturating_mul(EVENT_NANOS);
    let final_seats = seats(nanos, seats_max);
    let additional_latency = Duration::from_nanos(nanos / u64::from(final_seats));
    WorkEstimate { final_seats, additional_latency, ..WorkEstimate::ONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_width_follows_visited_and_returned_objects() {
        let check = |(objects, each): (usize, usize), limit: usize, selects: bool, expected: u32| {
            let extent = Extent { objects, bytes: objects * each, stored: false };
            assert_eq!(
                seats(nanos(extent, limit, selects), SEATS_MAX),
                expected,
                "{objects} {limit} {selects}"
            );
        };
        check((0, 0), 0, false, 1);
        check((1, 1_000_000), 0, false, 5);
        check((100, 1000), 0, false, 1);
        check((1000, 1000), 0, false, 5);
        check((5000, 3200), 0, false, 10);
        check((5000, 3200), 50, false, 1);
        check((50_000, 1000), 500, false, 3);
        check((50_000, 1000), 1, true, 4);
        check((1_000_000, 1_000_000), 0, true, 10);
    }

    #[test]
    fn reads_from_store_are_wider() {
        let extent = Extent { objects: 500, bytes: 50_000, stored: true };
        assert_eq!(seats(nanos(extent, 0, false), SEATS_MAX), 6);
        assert_eq!(seats(nanos(extent, 0, false), 3), 3);
    }

    #[test]
    fn write_holds_seats_for_watches() {
        let check = |watches: usize, seats_max: u32, expected: (u32, u64)| {
            let work = estimate_write(watches, seats_max);
            let micros = u64::try_from(work.additional_latency.as_micros()).unwrap_or(0);
            assert_eq!((work.initial_seats, (work.final_seats, micros)), (1, expected), "{watches}");
        };
        check(0, 10, (0, 0));
        check(WATCHES_MIN - 1, 10, (0, 0));
        check(WATCHES_MIN, 10, (1, 994));
        check(250, 10, (2, 875));
        check(5000, 10, (10, 3500));
        check(5000, 2, (2, 17_500));
    }
}
