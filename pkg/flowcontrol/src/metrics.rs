//! Metrics `apiserver_flowcontrol_*`, with upstream's names, labels, buckets and help texts
//! (`flowcontrol/metrics`).
//!
//! There is a series for every existing level, and for every configured schema that has received a request.
//! The series of a removed object disappear.

use std::sync::Arc;

use component_base::metrics::Stability::{Alpha, Beta, Experimental};
use component_base::metrics::{AnyFamily, Counter, Family, Gauge, Histogram, Page, buckets};

use crate::digest::Route;
use crate::plan::{Plan, PlannedLevel};
use crate::queue_set::{LoadHistograms, VirtualTimes};
use crate::request_counts::READ_VS_WRITE;
use crate::schema_metrics::{RejectReason, SchemaMetrics};

const CURRENT_LIMIT: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_current_limit_seats",
    "current derived number of execution seats available to each priority level",
    ["priority_level"],
);
const DEMAND_AVERAGE: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_demand_seats_average",
    "Time-weighted average, over last adjustment period, of demand_seats",
    ["priority_level"],
);
const DEMAND_HIGH: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_demand_seats_high_watermark",
    "High watermark, over last adjustment period, of demand_seats",
    ["priority_level"],
);
const DEMAND_SMOOTHED: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_demand_seats_smoothed",
    "Smoothed seat demands",
    ["priority_level"],
);
const DEMAND_DEVIATION: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_demand_seats_stdev",
    "Time-weighted standard deviation, over last adjustment period, of demand_seats",
    ["priority_level"],
);
const LOWER_LIMIT: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_lower_limit_seats",
    "Configured lower bound on number of execution seats available to each priority level",
    ["priority_level"],
);
const NOMINAL_LIMIT: Family<Gauge, 1> = Family::gauge(
    Beta,
    "apiserver_flowcontrol_nominal_limit_seats",
    "Nominal number of execution seats configured for each priority level",
    ["priority_level"],
);
const TARGET: Family<Gauge, 1> =
    Family::gauge(Alpha, "apiserver_flowcontrol_target_seats", "Seat allocation targets", ["priority_level"]);
const UPPER_LIMIT: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_upper_limit_seats",
    "Configured upper bound on number of execution seats available to each priority level",
    ["priority_level"],
);
const CURRENT_R: Family<Gauge, 1> =
    Family::gauge(Alpha, "apiserver_flowcontrol_current_r", "R(time of last change)", ["priority_level"]);
const DISPATCH_R: Family<Gauge, 1> =
    Family::gauge(Alpha, "apiserver_flowcontrol_dispatch_r", "R(time of last dispatch)", ["priority_level"]);
const LATEST_S: Family<Gauge, 1> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_latest_s",
    "S(most recently dispatched request)",
    ["priority_level"],
);
const NEXT_DISCOUNTED: Family<Gauge, 2> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_next_discounted_s_bounds",
    "min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress",
    ["bound", "priority_level"],
);
const NEXT_S: Family<Gauge, 2> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_next_s_bounds",
    "min and max, over queues, of S(oldest waiting request in queue)",
    ["bound", "priority_level"],
);
const FAIR_FRACTION: Family<Gauge, 0> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_seat_fair_frac",
    "Fair fraction of server's concurrency to allocate to each priority level that can use it",
    [],
);
const EXECUTING_REQUESTS: Family<Gauge, 2> = Family::gauge(
    Beta,
    "apiserver_flowcontrol_current_executing_requests",
    "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem",
    ["flow_schema", "priority_level"],
);
const EXECUTING_SEATS: Family<Gauge, 2> = Family::gauge(
    Beta,
    "apiserver_flowcontrol_current_executing_seats",
    "Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
    ["flow_schema", "priority_level"],
);
const WAITING_REQUESTS: Family<Gauge, 2> = Family::gauge(
    Beta,
    "apiserver_flowcontrol_current_inqueue_requests",
    "Number of requests currently pending in queues of the API Priority and Fairness subsystem",
    ["flow_schema", "priority_level"],
);
const WAITING_SEATS: Family<Gauge, 2> = Family::gauge(
    Alpha,
    "apiserver_flowcontrol_current_inqueue_seats",
    "Number of seats currently pending in queues of the API Priority and Fairness subsystem",
    ["flow_schema", "priority_level"],
);
const DISPATCHED: Family<Counter, 2> = Family::counter(
    Beta,
    "apiserver_flowcontrol_dispatched_requests_total",
    "Number of requests executed by API Priority and Fairness subsystem",
    ["flow_schema", "priority_level"],
);
const REJECTED: Family<Counter, 3> = Family::counter(
    Beta,
    "apiserver_flowcontrol_rejected_requests_total",
    "Number of requests rejected by API Priority and Fairness subsystem",
    ["flow_schema", "priority_level", "reason"],
);
const NO_ACCOMMODATION: Family<Counter, 2> = Family::counter(
    Alpha,
    "apiserver_flowcontrol_request_dispatch_no_accommodation_total",
    "Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats",
    ["flow_schema", "priority_level"],
);
const EXECUTION_SECONDS: Family<Histogram, 3> = Family::histogram(
    Alpha,
    "apiserver_flowcontrol_request_execution_seconds",
    "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem",
    ["flow_schema", "priority_level", "type"],
    &buckets::FLOW_CONTROL_SECONDS,
);
const QUEUE_LENGTH: Family<Histogram, 2> = Family::histogram(
    Alpha,
    "apiserver_flowcontrol_request_queue_length_after_enqueue",
    "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued",
    ["flow_schema", "priority_level"],
    &buckets::QUEUE_LENGTHS,
);
const WAIT_SECONDS: Family<Histogram, 3> = Family::histogram(
    Beta,
    "apiserver_flowcontrol_request_wait_duration_seconds",
    "Length of time a request spent waiting in its queue",
    ["execute", "flow_schema", "priority_level"],
    &buckets::FLOW_CONTROL_SECONDS,
);
const WATCHERS: Family<Histogram, 2> = Family::histogram(
    Alpha,
    "apiserver_flowcontrol_watch_count_samples",
    "count of watchers for mutating requests in API Priority and Fairness",
    ["flow_schema", "priority_level"],
    &buckets::WATCHERS,
);
const ESTIMATED_SEATS: Family<Histogram, 2> = Family::histogram(
    Alpha,
    "apiserver_flowcontrol_work_estimated_seats",
    "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness",
    ["flow_schema", "priority_level"],
    &buckets::SEATS,
);
const DEMAND: Family<Histogram, 1> = Family::histogram(
    Experimental,
    "apiserver_flowcontrol_demand_seats",
    "Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)",
    ["priority_level"],
    &buckets::SEAT_DEMAND_RATIOS,
);
const REQUEST_UTILIZATION: Family<Histogram, 2> = Family::histogram(
    Experimental,
    "apiserver_flowcontrol_priority_level_request_utilization",
    "Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)",
    ["phase", "priority_level"],
    &buckets::REQUEST_UTILIZATION_RATIOS,
);
const SEAT_UTILIZATION: Family<Histogram, 2> = Family::histogram(
    Experimental,
    "apiserver_flowcontrol_priority_level_seat_utilization",
    "Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)",
    ["phase", "priority_level"],
    &buckets::SEAT_UTILIZATION_RATIOS,
);

/// All families, with the one in [`crate::request_counts`].
pub(crate) const FAMILIES: &[&dyn AnyFamily] = &[
    &CURRENT_LIMIT,
    &DEMAND_AVERAGE,
    &DEMAND_HIGH,
    &DEMAND_SMOOTHED,
    &DEMAND_DEVIATION,
    &LOWER_LIMIT,
    &NOMINAL_LIMIT,
    &TARGET,
    &UPPER_LIMIT,
    &CURRENT_R,
    &DISPATCH_R,
    &LATEST_S,
    &NEXT_DISCOUNTED,
    &NEXT_S,
    &FAIR_FRACTION,
    &EXECUTING_REQUESTS,
    &EXECUTING_SEATS,
    &WAITING_REQUESTS,
    &WAITING_SEATS,
    &DISPATCHED,
    &REJECTED,
    &NO_ACCOMMODATION,
    &EXECUTION_SECONDS,
    &QUEUE_LENGTH,
    &WAIT_SECONDS,
    &WATCHERS,
    &ESTIMATED_SEATS,
    &DEMAND,
    &REQUEST_UTILIZATION,
    &SEAT_UTILIZATION,
    &READ_VS_WRITE,
];

/// Writes all families except the one in [`crate::request_counts`].
pub(crate) fn write(page: &mut Page<'_>, plan: &Plan, routes: &[Arc<Route>]) {
    let levels: Vec<LevelMetrics<'_>> = plan
        .levels
        .iter()
        .map(|(name, planned)| {
            planned.level.with_queues(|set, now, after| {
                let meters = set.meters(now, after).clone();
                LevelMetrics { name, planned, meters, times: set.virtual_times() }
            })
        })
        .collect();
    write_levels(page, &levels);
    write_virtual_times(page, &levels);
    write_meters(page, &levels);
    page.family(&FAIR_FRACTION).add([], plan.fair_fraction);
    let mut schemas: Vec<SchemaSample<'_>> = routes
        .iter()
        .map(|route| SchemaSample {
            labels: [&route.schema.name, route.level.name()],
            metrics: &route.schema.metrics,
        })
        .filter(|schema| schema.metrics.seats.count() > 0)
        .collect();
    schemas.sort_by_key(|schema| schema.labels);
    write_gauges(page, &schemas);
    write_counters(page, &schemas);
    write_histograms(page, &schemas);
}

/// Current state of a level.
struct LevelMetrics<'a> {
    name: &'a str,
    planned: &'a PlannedLevel,
    meters: LoadHistograms,
    times: VirtualTimes,
}

/// Current state of a schema.
struct SchemaSample<'a> {
    /// Schema and level.
    labels: [&'a str; 2],
    metrics: &'a SchemaMetrics,
}

/// Writes configured, current and wanted seats.
fn write_levels(page: &mut Page<'_>, levels: &[LevelMetrics<'_>]) {
    type Value = fn(&PlannedLevel) -> f64;
    const FAMILIES: [(&Family<Gauge, 1>, Value); 9] = [
        (&CURRENT_LIMIT, |planned| planned.current.into()),
        (&DEMAND_AVERAGE, |planned| planned.demand.average),
        (&DEMAND_HIGH, |planned| planned.demand.high_watermark.into()),
        (&DEMAND_SMOOTHED, |planned| planned.demand.smoothed),
        (&DEMAND_DEVIATION, |planned| planned.demand.deviation),
        (&LOWER_LIMIT, |planned| planned.limits.min.into()),
        (&NOMINAL_LIMIT, |planned| planned.limits.nominal.into()),
        (&TARGET, |planned| planned.target),
        (&UPPER_LIMIT, |planned| planned.limits.max.into()),
    ];
    for (family, value) in FAMILIES {
        let mut samples = page.family(family);
        for level in levels {
            samples.add([level.name], value(level.planned));
        }
    }
}

fn write_virtual_times(page: &mut Page<'_>, levels: &[LevelMetrics<'_>]) {
    type Value = fn(&VirtualTimes) -> Option<f64>;
    const READINGS: [(&Family<Gauge, 1>, Value); 3] = [
        (&CURRENT_R, |times| Some(times.current)),
        (&DISPATCH_R, |times| times.last_dispatch.map(|(at, _)| at)),
        (&LATEST_S, |times| times.last_dispatch.map(|(_, due)| due)),
    ];
    type Bounds = fn(&VirtualTimes) -> Option<[f64; 2]>;
    const BOUNDS: [(&Family<Gauge, 2>, Bounds); 2] =
        [(&NEXT_DISCOUNTED, |times| times.discounted), (&NEXT_S, |times| times.starts)];
    for (family, value) in READINGS {
        let mut samples = page.family(family);
        for level in levels {
            if let Some(value) = value(&level.times) {
                samples.add([level.name], value);
            }
        }
    }
    for (family, bounds) in BOUNDS {
        let mut samples = page.family(family);
        for level in levels {
            // While no request waits, the last dispatch replaces the bounds of the queues.
            let last = level.times.last_dispatch.map(|(_, due)| [due, due]);
            let values = bounds(&level.times).or(last).into_iter().flatten();
            for (bound, value) in ["min", "max"].into_iter().zip(values) {
                samples.add([bound, level.name], value);
            }
        }
    }
}

/// Writes the load histograms over time.
fn write_meters(page: &mut Page<'_>, levels: &[LevelMetrics<'_>]) {
    let mut samples = page.family(&DEMAND);
    for level in levels {
        level.meters.seats_wanted.write([level.name], &mut samples);
    }
    drop(samples);
    let mut samples = page.family(&REQUEST_UTILIZATION);
    for level in levels {
        level.meters.requests_executing.write(["executing", level.name], &mut samples);
        level.meters.requests_waiting.write(["waiting", level.name], &mut samples);
    }
    drop(samples);
    let mut samples = page.family(&SEAT_UTILIZATION);
    for level in levels {
        level.meters.seats_executing.write(["executing", level.name], &mut samples);
    }
}

/// Writes the numbers of waiting and executing requests per schema.
fn write_gauges(page: &mut Page<'_>, schemas: &[SchemaSample<'_>]) {
    type Value = fn(&SchemaMetrics) -> &Gauge;
    const FAMILIES: [(&Family<Gauge, 2>, Value); 4] = [
        (&EXECUTING_REQUESTS, |metrics| &metrics.executing_requests),
        (&EXECUTING_SEATS, |metrics| &metrics.executing_seats),
        (&WAITING_REQUESTS, |metrics| &metrics.waiting_requests),
        (&WAITING_SEATS, |metrics| &metrics.waiting_seats),
    ];
    for (family, value) in FAMILIES {
        let mut samples = page.family(family);
        for schema in schemas {
            samples.write(schema.labels, value(schema.metrics));
        }
    }
}

/// Writes the numbers of dispatched, rejected and cancelled requests.
fn write_counters(page: &mut Page<'_>, schemas: &[SchemaSample<'_>]) {
    let mut samples = page.family(&DISPATCHED);
    for schema in schemas {
        samples.write(schema.labels, &schema.metrics.dispatched);
    }
    drop(samples);
    let mut samples = page.family(&REJECTED);
    for SchemaSample { labels: [schema, level], metrics } in schemas {
        for (why, reason) in RejectReason::ALL {
            samples.add_nonzero([schema, level, reason], metrics.rejections(why));
        }
    }
    drop(samples);
    let mut samples = page.family(&NO_ACCOMMODATION);
    for schema in schemas {
        samples.write_used(schema.labels, &schema.metrics.no_accommodation);
    }
}

/// Writes the histograms that have observations.
fn write_histograms(page: &mut Page<'_>, schemas: &[SchemaSample<'_>]) {
    let mut samples = page.family(&EXECUTION_SECONDS);
    for SchemaSample { labels: [schema, level], metrics } in schemas {
        for (kind, histogram) in ["watch", "regular"].into_iter().zip(&metrics.executed) {
            samples.write_used([schema, level, kind], histogram);
        }
    }
    drop(samples);
    let mut samples = page.family(&WAIT_SECONDS);
    for SchemaSample { labels: [schema, level], metrics } in schemas {
        for (execute, histogram) in ["false", "true"].into_iter().zip(&metrics.waited) {
            samples.write_used([execute, schema, level], histogram);
        }
    }
    drop(samples);
    type Value = fn(&SchemaMetrics) -> &Histogram;
    const FAMILIES: [(&Family<Histogram, 2>, Value); 3] = [
        (&QUEUE_LENGTH, |metrics| &metrics.queue_length),
        (&WATCHERS, |metrics| &metrics.watchers),
        (&ESTIMATED_SEATS, |metrics| &metrics.seats),
    ];
    for (family, value) in FAMILIES {
        let mut samples = page.family(family);
        for schema in schemas {
            samples.write_used(schema.labels, value(schema.metrics));
        }
    }
}

#[cfg(test)]
mod tests;
