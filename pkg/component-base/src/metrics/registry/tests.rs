//! Tests of the registry with exact pages.

use super::super::{Buckets, CounterVec, Gauge, Histogram, HistogramVec, Summary};
use super::*;
use crate::metrics::vec::SERIES_MAX;

static SIZES: Buckets = Buckets::counts(&[("1", 1), ("10", 10)]);
static TIMES: Buckets = Buckets::seconds(&[("0.5", 500_000_000), ("1", 1_000_000_000)]);
const EVENTS: Family<Counter, 0> = Family::counter(Stability::Alpha, "events_total", "Events.", []);
const BY_KIND: Family<Counter, 2> =
    Family::counter(Stability::Beta, "kinds_total", "By kind.", ["kind", "name"]);
const SENT: Family<Histogram, 1> = Family::histogram(Stability::Internal, "sizes", "Sizes.", ["x"], &SIZES);
const TOOK: Family<Histogram, 0> = Family::histogram(Stability::Stable, "took_seconds", "Time.", [], &TIMES);
const LIMIT: Family<Gauge, 1> = Family::gauge(Stability::Experimental, "limit", "Limit.", ["level"]);
const WAITED: Family<Summary, 0> = Family::summary(Stability::Internal, "waited", "Waited.", []);

#[test]
fn families_are_sorted_and_unused_series_omitted() {
    let registry = MetricsRegistry::default();
    let kinds: CounterVec<2> = registry.register_vec(&BY_KIND);
    let events = registry.register(&EVENTS);
    let limit = registry.register_vec(&LIMIT);
    assert_eq!(
        registry.to_string(),
        "# HELP events_total [ALPHA] Events.\n# TYPE events_total counter\nevents_total 0\n"
    );
    kinds.with(["b", "never"]);
    kinds.with(["b", ""]).increment();
    kinds.with(["a", "\"\\\nü"]).add(2);
    kinds.with_zero(["c", ""]);
    limit.with(["high"]).set(-1);
    events.increment();
    events.clone().add(3);
    assert_eq!(
        registry.to_string(),
        "# HELP events_total [ALPHA] Events.\n\
         # TYPE events_total counter\n\
         events_total 4\n\
         # HELP kinds_total [BETA] By kind.\n\
         # TYPE kinds_total counter\n\
         kinds_total{kind=\"a\",name=\"\\\"\\\\\\nü\"} 2\n\
         kinds_total{kind=\"b\",name=\"\"} 1\n\
         kinds_total{kind=\"c\",name=\"\"} 0\n\
         # HELP limit EXPERIMENTAL: [ALPHA] Limit.\n\
         # TYPE limit gauge\n\
         limit{level=\"high\"} -1\n"
    );
    kinds.retain(|[kind, _]| kind == "b");
    let samples = registry.to_string().lines().filter(|line| line.starts_with("kinds_total{")).count();
    assert_eq!(samples, 1);
}

#[test]
fn histogram_bounds_are_inclusive_and_follow_labels() {
    let registry = MetricsRegistry::default();
    let sizes: HistogramVec<1> = registry.register_vec(&SENT);
    let duration = registry.register(&TOOK);
    sizes.with(["unused"]);
    [1, 2, 10, 11].iter().for_each(|size| sizes.with(["y"]).observe(*size));
    duration.observe_duration(std::time::Duration::from_millis(750));
    assert_eq!(
        registry.to_string(),
        "# HELP sizes Sizes.\n\
         # TYPE sizes histogram\n\
         sizes_bucket{x=\"y\",le=\"1\"} 1\n\
         sizes_bucket{x=\"y\",le=\"10\"} 3\n\
         sizes_bucket{x=\"y\",le=\"+Inf\"} 4\n\
         sizes_sum{x=\"y\"} 24\n\
         sizes_count{x=\"y\"} 4\n\
         # HELP took_seconds [STABLE] Time.\n\
         # TYPE took_seconds histogram\n\
         took_seconds_bucket{le=\"0.5\"} 0\n\
         took_seconds_bucket{le=\"1\"} 1\n\
         took_seconds_bucket{le=\"+Inf\"} 1\n\
         took_seconds_sum 0.75\n\
         took_seconds_count 1\n"
    );
    let copy = duration.deep_clone();
    duration.observe_duration(std::time::Duration::from_secs(2));
    assert_eq!((copy.count(), duration.count()), (1, 2));
    assert_eq!(duration.distribution().buckets, [(0.5, 0), (1.0, 1)]);
    copy.add_all(&duration);
    assert_eq!((copy.distribution().count, copy.distribution().sum), (3, 3.5));
}

#[test]
fn collected_values_are_read_on_each_scrape() {
    let registry = MetricsRegistry::default();
    let value = Counter::new(());
    let read = value.clone();
    registry.collect(&[&WAITED, &LIMIT, &BY_KIND], move |page| {
        page.family(&WAITED).add([], Summary { sum: 0.25, count: read.get() });
        page.family(&LIMIT).add(["low"], 0.5);
        page.family(&BY_KIND).add_nonzero(["a", "b"], 0);
    });
    value.add(2);
    assert_eq!(
        registry.to_string(),
        "# HELP limit EXPERIMENTAL: [ALPHA] Limit.\n# TYPE limit gauge\nlimit{level=\"low\"} 0.5\n\
         # HELP waited Waited.\n# TYPE waited summary\nwaited_sum 0.25\nwaited_count 2\n"
    );
}

#[test]
fn sources_of_one_family_share_its_header() {
    let registry = MetricsRegistry::default();
    registry.register_vec(&LIMIT).with(["a"]).set(1);
    registry.register_vec(&LIMIT).with(["b"]).set(2);
    assert_eq!(
        registry.to_string(),
        "# HELP limit EXPERIMENTAL: [ALPHA] Limit.\n# TYPE limit gauge\nlimit{level=\"a\"} 1\nlimit{level=\"b\"} 2\n"
    );
}

#[test]
fn counts_follow_their_histograms() {
    const SENDS: Family<Counter, 1> = Family::counter(Stability::Internal, "sends", "Sends.", ["x"]);
    let registry = MetricsRegistry::default();
    let sizes = HistogramVec::new(&SENT);
    registry.register_counts(&SENDS, &sizes);
    sizes.with(["y"]).observe(1);
    sizes.with(["unused"]);
    assert_eq!(registry.to_string(), "# HELP sends Sends.\n# TYPE sends counter\nsends{x=\"y\"} 1\n");
    registry.register_existing(&sizes);
    assert!(registry.to_string().contains("sizes_count{x=\"y\"} 1\n"));
}

#[test]
fn registered_families_are_counted_by_stability() {
    let registry = MetricsRegistry::default();
    registry.register(&EVENTS);
    registry.register_vec(&BY_KIND);
    registry.register_vec(&LIMIT);
    registry.register(&TOOK);
    registry.register_vec(&SENT);
    let page = registry.render(&Selection::default());
    for (level, count) in [("ALPHA", 3), ("BETA", 4), ("STABLE", 1)] {
        let line = format!(
            "registered_metrics_total{{deprecated_version=\"\",stability_level=\"{level}\"}} {count}\n"
        );
        assert!(page.contains(&line), "{line} in {page}");
    }
}

#[test]
fn series_of_one_family_are_bounded() {
    let registry = MetricsRegistry::default();
    let kinds = registry.register_vec(&BY_KIND);
    for number in 0..SERIES_MAX + 6 {
        kinds.with(["a", &number.to_string()]).increment();
    }
    assert_eq!(registry.to_string().lines().count(), SERIES_MAX + 2);
}

#[test]
fn special_values_are_written_as_go_does() {
    let registry = MetricsRegistry::default();
    registry.collect(&[&LIMIT], |page| {
        let mut samples = page.family(&LIMIT);
        for (level, value) in [("a", f64::INFINITY), ("b", f64::NEG_INFINITY), ("c", f64::NAN)] {
            samples.add([level], value);
        }
    });
    let page = registry.to_string();
    let values: Vec<&str> = page.lines().skip(2).filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(values, ["+Inf", "-Inf", "NaN"]);
}

#[test]
fn reset_hides_counts_and_keeps_handles() {
    let registry = MetricsRegistry::default();
    let count = registry.register_vec(&BY_KIND).with_zero(["a", "b"]);
    let total = registry.register(&EVENTS);
    count.increment();
    total.increment();
    registry.reset();
    assert_eq!((count.get(), total.get()), (0, 1));
    assert!(!registry.to_string().contains("{"));
    count.increment();
    assert!(registry.to_string().contains("} 1\n"));
}
