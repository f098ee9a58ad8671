//! Metrics `apiserver_flowcontrol_*`, with upstream's names, labels, buckets and help texts
//! (`flowcontrol/metrics`).
//!
//! There is a series for every existing level, and for every configured schema that has received a request.
//! The series of a removed object disappear.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use component_base::metrics::Histogram;

use crate::digest::Route;
use crate::figures::{
    DURATION_BOUNDS, LENGTH_BOUNDS, RejectReason, SEAT_BOUNDS, SchemaFigures, WATCH_BOUNDS,
};
use crate::plan::{Plan, PlannedLevel};
use crate::queue_set::{LoadHistograms, VirtualTimes};
use crate::ratio::Ratio;

/// Writes all families except the one in [`crate::kinds`].
pub(crate) fn write(out: &mut String, plan: &Plan, routes: &[Arc<Route>]) {
    let levels: Vec<LevelMetrics<'_>> = plan
        .levels
        .iter()
        .map(|(name, planned)| {
            planned.level.change(|set, now, after| {
                let meters = set.meters(now, after).clone();
                LevelMetrics { name, planned, meters, times: set.virtual_times() }
            })
        })
        .collect();
    let mut page = Page { out };
    page.levels(&levels);
    page.virtual_times(&levels);
    page.meters(&levels);
    let fair = "Fair fraction of server's concurrency to allocate to each priority level that can use it";
    page.family("seat_fair_frac", "gauge", "ALPHA", fair);
    page.sample("seat_fair_frac", "", plan.fair_fraction);
    let mut schemas: Vec<SchemaSample<'_>> = routes
        .iter()
        .map(|route| SchemaSample {
            labels: labels(&route.schema.name, route.level.name()),
            figures: &route.schema.figures,
        })
        .filter(|schema| !schema.figures.seats.is_empty())
        .collect();
    schemas.sort_by(|a, b| a.labels.cmp(&b.labels));
    page.gauges(&schemas);
    page.counters(&schemas);
    page.histograms(&schemas);
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
    labels: String,
    figures: &'a SchemaFigures,
}

fn labels(schema: &str, level: &str) -> String {
    format!("flow_schema=\"{schema}\",priority_level=\"{level}\"")
}

struct Page<'a> {
    out: &'a mut String,
}

impl Page<'_> {
    fn family(&mut self, name: &str, kind: &str, stability: &str, help: &str) {
        let _ = write!(
            self.out,
            "# HELP apiserver_flowcontrol_{name} [{stability}] {help}\n# TYPE apiserver_flowcontrol_{name} {kind}\n"
        );
    }

    /// Writes the header of a family that upstream marks as experimental.
    fn experimental(&mut self, name: &str, help: &str) {
        let _ = write!(
            self.out,
            "# HELP apiserver_flowcontrol_{name} EXPERIMENTAL: [ALPHA] {help}\n# TYPE apiserver_flowcontrol_{name} histogram\n"
        );
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl Display) {
        let _ = match labels {
            "" => writeln!(self.out, "apiserver_flowcontrol_{name} {value}"),
            labels => writeln!(self.out, "apiserver_flowcontrol_{name}{{{labels}}} {value}"),
        };
    }

    /// Writes configured, current and wanted seats.
    fn levels(&mut self, levels: &[LevelMetrics<'_>]) {
        type Value = fn(&PlannedLevel) -> f64;
        const FAMILIES: [(&str, &str, &str, Value); 10] = [
            (
                "current_limit_seats",
                "ALPHA",
                "current derived number of execution seats available to each priority level",
                |planned| planned.current.into(),
            ),
            (
                "demand_seats_average",
                "ALPHA",
                "Time-weighted average, over last adjustment period, of demand_seats",
                |planned| planned.demand.average,
            ),
            (
                "demand_seats_high_watermark",
                "ALPHA",
                "High watermark, over last adjustment period, of demand_seats",
                |planned| planned.demand.high_watermark.into(),
            ),
            ("demand_seats_smoothed", "ALPHA", "Smoothed seat demands", |planned| planned.demand.smoothed),
            (
                "demand_seats_stdev",
                "ALPHA",
                "Time-weighted standard deviation, over last adjustment period, of demand_seats",
                |planned| planned.demand.deviation,
            ),
            (
                "lower_limit_seats",
                "ALPHA",
                "Configured lower bound on number of execution seats available to each priority level",
                |planned| planned.limits.min.into(),
            ),
            (
                "nominal_limit_seats",
                "BETA",
                "Nominal number of execution seats configured for each priority level",
                |planned| planned.limits.nominal.into(),
            ),
            (
                // Exported until upstream removes it.
                "request_concurrency_limit",
                "ALPHA",
                "Nominal number of execution seats configured for each priority level",
                |planned| planned.limits.nominal.into(),
            ),
            ("target_seats", "ALPHA", "Seat allocation targets", |planned| planned.target),
            (
                "upper_limit_seats",
                "ALPHA",
                "Configured upper bound on number of execution seats available to each priority level",
                |planned| planned.limits.max.into(),
            ),
        ];
        for (name, stability, help, value) in FAMILIES {
            self.family(name, "gauge", stability, help);
            for level in levels {
                self.sample(name, &format!("priority_level=\"{}\"", level.name), value(level.planned));
            }
        }
    }

    fn virtual_times(&mut self, levels: &[LevelMetrics<'_>]) {
        type Value = fn(&VirtualTimes) -> Option<f64>;
        const READINGS: [(&str, &str, Value); 3] = [
            ("current_r", "R(time of last change)", |times| Some(times.current)),
            ("dispatch_r", "R(time of last dispatch)", |times| times.last_dispatch.map(|(at, _)| at)),
            ("latest_s", "S(most recently dispatched request)", |times| {
                times.last_dispatch.map(|(_, due)| due)
            }),
        ];
        type Bounds = fn(&VirtualTimes) -> Option<[f64; 2]>;
        const BOUNDS: [(&str, &str, Bounds); 2] = [
            (
                "next_discounted_s_bounds",
                "min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress",
                |times| times.discounted,
            ),
            ("next_s_bounds", "min and max, over queues, of S(oldest waiting request in queue)", |times| {
                times.starts
            }),
        ];
        for (name, help, value) in READINGS {
            self.family(name, "gauge", "ALPHA", help);
            for level in levels {
                if let Some(value) = value(&level.times) {
                    self.sample(name, &format!("priority_level=\"{}\"", level.name), value);
                }
            }
        }
        for (name, help, bounds) in BOUNDS {
            self.family(name, "gauge", "ALPHA", help);
            for level in levels {
                // While no request waits, the last dispatch replaces the bounds of the queues.
                let last = level.times.last_dispatch.map(|(_, due)| [due, due]);
                let values = bounds(&level.times).or(last).into_iter().flatten();
                for (bound, value) in ["min", "max"].into_iter().zip(values) {
                    self.sample(name, &format!("bound=\"{bound}\",priority_level=\"{}\"", level.name), value);
                }
            }
        }
    }

    /// Writes the load histograms over time.
    fn meters(&mut self, levels: &[LevelMetrics<'_>]) {
        type Parts = fn(&LoadHistograms) -> [Option<(&'static str, &Ratio)>; 2];
        const FAMILIES: [(&str, &str, Parts); 3] = [
            (
                "demand_seats",
                "Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)",
                |meters| [Some(("", &meters.seats_wanted)), None],
            ),
            (
                "priority_level_request_utilization",
                "Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)",
                |meters| {
                    [
                        Some(("phase=\"executing\",", &meters.requests_executing)),
                        Some(("phase=\"waiting\",", &meters.requests_waiting)),
                    ]
                },
            ),
            (
                "priority_level_seat_utilization",
                "Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)",
                |meters| [Some(("phase=\"executing\",", &meters.seats_executing)), None],
            ),
        ];
        for (name, help, parts) in FAMILIES {
            self.experimental(name, help);
            for level in levels {
                for (phase, ratio) in parts(&level.meters).into_iter().flatten() {
                    let labels = format!("{phase}priority_level=\"{}\"", level.name);
                    ratio.write(self.out, &format!("apiserver_flowcontrol_{name}"), &labels);
                }
            }
        }
    }

    /// Writes the numbers of waiting and executing requests per schema.
    fn gauges(&mut self, schemas: &[SchemaSample<'_>]) {
        type Value = fn(&SchemaFigures) -> i64;
        const FAMILIES: [(&str, &str, &str, Value); 5] = [
            (
                "current_executing_requests",
                "BETA",
                "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem",
                |figures| figures.executing_requests.load(Relaxed),
            ),
            (
                "current_executing_seats",
                "BETA",
                "Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
                |figures| figures.executing_seats.load(Relaxed),
            ),
            (
                "current_inqueue_requests",
                "BETA",
                "Number of requests currently pending in queues of the API Priority and Fairness subsystem",
                |figures| figures.waiting_requests.load(Relaxed),
            ),
            (
                "current_inqueue_seats",
                "ALPHA",
                "Number of seats currently pending in queues of the API Priority and Fairness subsystem",
                |figures| figures.waiting_seats.load(Relaxed),
            ),
            (
                "request_concurrency_in_use",
                "ALPHA",
                "Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
                |figures| figures.executing_seats.load(Relaxed),
            ),
        ];
        for (name, stability, help, value) in FAMILIES {
            self.family(name, "gauge", stability, help);
            for schema in schemas {
                self.sample(name, &schema.labels, value(schema.figures));
            }
        }
    }

    /// Writes the numbers of dispatched, rejected and cancelled requests.
    fn counters(&mut self, schemas: &[SchemaSample<'_>]) {
        let dispatched = "Number of requests executed by API Priority and Fairness subsystem";
        self.family("dispatched_requests_total", "counter", "BETA", dispatched);
        for schema in schemas {
            self.sample("dispatched_requests_total", &schema.labels, schema.figures.dispatched.load(Relaxed));
        }
        let rejected = "Number of requests rejected by API Priority and Fairness subsystem";
        self.family("rejected_requests_total", "counter", "BETA", rejected);
        for schema in schemas {
            for (why, reason) in RejectReason::ALL {
                let count = schema.figures.rejections(why);
                if count > 0 {
                    let labels = format!("{},reason=\"{reason}\"", schema.labels);
                    self.sample("rejected_requests_total", &labels, count);
                }
            }
        }
        let name = "request_dispatch_no_accommodation_total";
        let missed = "Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats";
        self.family(name, "counter", "ALPHA", missed);
        for schema in schemas {
            let count = schema.figures.no_accommodation.load(Relaxed);
            if count > 0 {
                self.sample(name, &schema.labels, count);
            }
        }
    }

    fn histograms(&mut self, schemas: &[SchemaSample<'_>]) {
        let help = "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem";
        self.family("request_execution_seconds", "histogram", "ALPHA", help);
        for schema in schemas {
            for (kind, histogram) in ["watch", "regular"].into_iter().zip(&schema.figures.executed) {
                let labels = format!("{},type=\"{kind}\"", schema.labels);
                self.histogram("request_execution_seconds", &labels, histogram, &DURATION_BOUNDS, 1e9);
            }
        }
        let name = "request_queue_length_after_enqueue";
        let help = "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued";
        self.family(name, "histogram", "ALPHA", help);
        for schema in schemas {
            self.histogram(name, &schema.labels, &schema.figures.queue_length, &LENGTH_BOUNDS, 1.0);
        }
        let name = "request_wait_duration_seconds";
        self.family(name, "histogram", "BETA", "Length of time a request spent waiting in its queue");
        for schema in schemas {
            for (execute, histogram) in ["false", "true"].into_iter().zip(&schema.figures.waited) {
                let labels = format!("execute=\"{execute}\",{}", schema.labels);
                self.histogram(name, &labels, histogram, &DURATION_BOUNDS, 1e9);
            }
        }
        let help = "count of watchers for mutating requests in API Priority and Fairness";
        self.family("watch_count_samples", "histogram", "ALPHA", help);
        for schema in schemas {
            self.histogram(
                "watch_count_samples",
                &schema.labels,
                &schema.figures.watchers,
                &WATCH_BOUNDS,
                1.0,
            );
        }
        let help = "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness";
        self.family("work_estimated_seats", "histogram", "ALPHA", help);
        for schema in schemas {
            self.histogram("work_estimated_seats", &schema.labels, &schema.figures.seats, &SEAT_BOUNDS, 1.0);
        }
    }

    fn histogram<const N: usize>(
        &mut self,
        name: &str,
        labels: &str,
        histogram: &Histogram<N>,
        bounds: &[(&str, u64); N],
        unit: f64,
    ) {
        if !histogram.is_empty() {
            histogram.write(self.out, &format!("apiserver_flowcontrol_{name}"), labels, 0, bounds, unit);
        }
    }
}

#[cfg(test)]
mod tests;
