//! How many seats a request takes. `docs/flow-control.md` says how the figures were found.
//!
//! Upstream counts objects (100 per seat) or bytes (100 kB per seat), for it has each object of a list in memory while
//! it answers. Here a list is a walk over what is there, whose memory does not grow with it: what it takes is time of
//! a processor. So a seat stands for a piece of that, and an estimate is the time that a request will take of it.

use std::time::Duration;

use flowcontrol::{Class, WorkEstimate};

use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use endpoints::routing::dispatch::{Dispatch, Extent};

/// What one seat stands for, in nanoseconds of a processor.
const SEAT_NANOS: u64 = 1_000_000;
/// To look at an object in the cache.
const OBJECT_NANOS: u64 = 60;
/// To make JSON of a byte that is stored and to send it, in thousandths: when nobody has asked for the object before.
const BYTE_PICOS: u64 = 4_400;
/// To have an object read by the store and to take it in, beyond that.
const STORED_NANOS: u64 = 10_000;
/// To send a watch an event: to wake it, to look whether it wants it, to encrypt and send a frame that others share.
const EVENT_NANOS: u64 = 7_000;
/// The widest that a request is: it must not wait until nobody else is served (upstream's `MaximumSeatsLimit`).
const SEATS_MAX: u32 = 10;
/// With fewer watches a change costs them too little to be counted.
const WATCHES_MIN: usize = SEAT_NANOS as usize / EVENT_NANOS as usize;

/// The work of a request, whose class is limited.
pub(super) fn work(context: &RequestContext, class: &Class, dispatch: &dyn Dispatch) -> WorkEstimate {
    let seats_max = class.seats_max().unwrap_or(SEATS_MAX).clamp(1, SEATS_MAX);
    let info = &context.info;
    match info.verb.as_str() {
        _ if !info.is_resource => WorkEstimate::ONE,
        "list" => WorkEstimate { initial_seats: list(context, dispatch, seats_max), ..WorkEstimate::ONE },
        "watch" if begins_with_state(context) => {
            WorkEstimate { initial_seats: list(context, dispatch, seats_max), ..WorkEstimate::ONE }
        }
        "create" | "update" | "patch" | "delete" if !is_unseen(info) => {
            let watches = dispatch.watch_count(info);
            class.observe_watchers(watches);
            change(watches, seats_max)
        }
        _ => WorkEstimate::ONE,
    }
}

/// Whether a watch has objects to send before it waits for changes.
fn begins_with_state(context: &RequestContext) -> bool {
    let query = &context.query;
    let old_way = matches!(query.first("resourceVersion"), None | Some("" | "0"));
    old_way || query.flag("sendInitialEvents") == Some(true)
}

/// Whether no watch sees what a change does: a token for a service account is none.
fn is_unseen(info: &RequestInfo) -> bool {
    info.resource == "serviceaccounts" && info.subresource == "token"
}

fn list(context: &RequestContext, dispatch: &dyn Dispatch, seats_max: u32) -> u32 {
    // Requests with options that cannot be read are refused before they look at anything.
    let limit = context.query.integer("limit").ok().flatten().unwrap_or(0);
    let Some(extent) = dispatch.extent(&context.info) else { return 1 };
    let selects = !context.info.selectors.is_empty();
    let single = !context.info.name.is_empty();
    let limit = usize::try_from(limit).unwrap_or(0);
    seats(nanos(extent, if single { 1 } else { limit }, selects && !single), seats_max)
}

/// What a list takes of a processor. `limit` is 0 for none.
fn nanos(extent: Extent, limit: usize, selects: bool) -> u64 {
    let Extent { objects, bytes, stored } = extent;
    let shown = if limit == 0 { objects } else { limit.min(objects) };
    // A page ends with its last object; nobody knows where that is when not every object belongs to it.
    let looked_at = if selects { objects } else { shown };
    let shown_bytes = bytes.checked_div(objects).unwrap_or(0) as u64 * shown as u64;
    let each = OBJECT_NANOS + if stored { STORED_NANOS } else { 0 };
    (looked_at as u64).saturating_mul(each) + shown_bytes.saturating_mul(BYTE_PICOS) / 1000
}

fn seats(nanos: u64, seats_max: u32) -> u32 {
    u32::try_from(nanos.div_ceil(SEAT_NANOS)).unwrap_or(u32::MAX).clamp(1, seats_max)
}

/// A change takes one seat, and afterwards those of the work that it makes for watches. What is too wide lasts longer.
fn change(watches: usize, seats_max: u32) -> WorkEstimate {
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
    fn a_list_is_as_wide_as_what_it_looks_at_and_shows() {
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
    fn what_the_store_has_to_read_is_wider() {
        let extent = Extent { objects: 500, bytes: 50_000, stored: true };
        assert_eq!(seats(nanos(extent, 0, false), SEATS_MAX), 6);
        assert_eq!(seats(nanos(extent, 0, false), 3), 3);
    }

    #[test]
    fn a_change_keeps_seats_for_its_watches() {
        let check = |watches: usize, seats_max: u32, expected: (u32, u64)| {
            let work = change(watches, seats_max);
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
