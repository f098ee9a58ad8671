//! The families and their samples.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::config::Configuration;
use crate::level::Admission;
use crate::request::WorkEstimate;
use crate::testing::{class, level, one_level, queuing, request, schema};

/// The families of an upstream server, and the two counters that appear only after an event.
const FAMILIES: [(&str, &str); 31] = [
    ("current_executing_requests", "gauge"),
    ("current_executing_seats", "gauge"),
    ("current_inqueue_requests", "gauge"),
    ("current_inqueue_seats", "gauge"),
    ("current_limit_seats", "gauge"),
    ("current_r", "gauge"),
    ("demand_seats", "histogram"),
    ("demand_seats_average", "gauge"),
    ("demand_seats_high_watermark", "gauge"),
    ("demand_seats_smoothed", "gauge"),
    ("demand_seats_stdev", "gauge"),
    ("dispatch_r", "gauge"),
    ("dispatched_requests_total", "counter"),
    ("latest_s", "gauge"),
    ("lower_limit_seats", "gauge"),
    ("next_discounted_s_bounds", "gauge"),
    ("next_s_bounds", "gauge"),
    ("nominal_limit_seats", "gauge"),
    ("priority_level_request_utilization", "histogram"),
    ("priority_level_seat_utilization", "histogram"),
    ("read_vs_write_current_requests", "histogram"),
    ("rejected_requests_total", "counter"),
    ("request_dispatch_no_accommodation_total", "counter"),
    ("request_execution_seconds", "histogram"),
    ("request_queue_length_after_enqueue", "histogram"),
    ("request_wait_duration_seconds", "histogram"),
    ("seat_fair_frac", "gauge"),
    ("target_seats", "gauge"),
    ("upper_limit_seats", "gauge"),
    ("watch_count_samples", "histogram"),
    ("work_estimated_seats", "histogram"),
];

#[test]
fn page_has_upstreams_families() {
    let (flow, clock) = one_level(2, queuing(4, 1, 1));
    let admissions: Vec<Admission> =
        (0..4).map(|_| flow.request_seats(&class(&flow, "ann"), request(WorkEstimate::ONE))).collect();
    class(&flow, "ann").observe_watchers(5);
    clock.set(Duration::from_secs(1));
    drop(admissions);
    let page = crate::testing::metrics_page(&flow);
    let mut families = BTreeSet::new();
    for line in page.lines() {
        if let Some(family) = line.strip_prefix("# TYPE apiserver_flowcontrol_") {
            families.insert(family.to_owned());
        }
        let sample =
            line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok_and(f64::is_finite));
        assert!(line.starts_with("# HELP ") || line.starts_with("# TYPE ") || sample, "{line}");
    }
    // No attempt to dispatch failed for lack of seats, and a family without samples is not on the page.
    let used = FAMILIES.iter().filter(|(name, _)| *name != "request_dispatch_no_accommodation_total");
    let expected: BTreeSet<String> = used.map(|(name, kind)| format!("{name} {kind}")).collect();
    assert_eq!(families, expected);
    for sample in [
        "dispatched_requests_total{flow_schema=\"all\",priority_level=\"only\"} 3",
        "rejected_requests_total{flow_schema=\"all\",priority_level=\"only\",reason=\"queue-full\"} 1",
        "request_wait_duration_seconds_count{execute=\"true\",flow_schema=\"all\",priority_level=\"only\"} 3",
        "request_wait_duration_seconds_count{execute=\"false\",flow_schema=\"all\",priority_level=\"only\"} 1",
        "request_execution_seconds_bucket{flow_schema=\"all\",priority_level=\"only\",type=\"regular\",le=\"1\"} 3",
        "work_estimated_seats_count{flow_schema=\"all\",priority_level=\"only\"} 4",
        "watch_count_samples_sum{flow_schema=\"all\",priority_level=\"only\"} 5",
        "nominal_limit_seats{priority_level=\"only\"} 2",
        "current_executing_requests{flow_schema=\"all\",priority_level=\"only\"} 0",
        "current_inqueue_requests{flow_schema=\"all\",priority_level=\"only\"} 0",
        "read_vs_write_current_requests_count{phase=\"executing\",request_kind=\"readOnly\"} 1000000000",
        "next_s_bounds{bound=\"max\",priority_level=\"only\"} 1.003",
    ] {
        assert!(page.contains(&format!("apiserver_flowcontrol_{sample}\n")), "{sample}\n{page}");
    }
}

#[test]
fn series_of_removed_objects_disappear() {
    let (flow, _clock) = one_level(2, queuing(4, 1, 1));
    let page = || crate::testing::metrics_page(&flow);
    let seat = flow.request_seats(&class(&flow, "ann"), request(WorkEstimate::ONE));
    assert!(page().contains("flow_schema=\"all\"") && page().contains("priority_level=\"only\""));
    let schemas = vec![schema("other", "other", 5, &[])];
    flow.configure(Configuration::new(schemas, vec![level("other", 5, None)], 2));
    assert!(!page().contains("flow_schema=\"all\""));
    assert!(page().contains("priority_level=\"only\""), "somebody is served there");
    drop(seat);
    flow.adjust();
    assert!(!page().contains("priority_level=\"only\""));
}

#[test]
fn unchanged_schema_keeps_its_counts() {
    let (flow, _clock) = one_level(2, queuing(4, 1, 1));
    drop(flow.request_seats(&class(&flow, "ann"), request(WorkEstimate::ONE)));
    let schemas = vec![schema("all", "only", 5, &[])];
    flow.configure(Configuration::new(schemas, vec![level("only", 7, None)], 20));
    drop(flow.request_seats(&class(&flow, "ann"), request(WorkEstimate::ONE)));
    let page = crate::testing::metrics_page(&flow);
    let sample = "dispatched_requests_total{flow_schema=\"all\",priority_level=\"only\"} 2\n";
    assert!(page.contains(sample), "{page}");
}
