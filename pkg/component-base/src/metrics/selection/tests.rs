//! Tests of the selection.

use super::super::{
    Buckets, Counter, CounterVec, Family, Gauge, Histogram, HistogramVec, MetricsRegistry, Stability,
};
use super::*;

static SECONDS: Buckets = Buckets::counts(&[("1", 1)]);
const HITS: Family<Counter, 2> = Family::counter(Stability::Stable, "hits_total", "Hits.", ["code", "path"]);
const WAITING: Family<Gauge, 1> = Family::gauge(Stability::Internal, "waiting", "Waiting.", ["kind"]);
const TOOK: Family<Histogram, 1> =
    Family::histogram(Stability::Internal, "took_seconds", "Time.", ["verb"], &SECONDS);

fn registry() -> MetricsRegistry {
    let registry = MetricsRegistry::default();
    let hits: CounterVec<2> = registry.register_vec(&HITS);
    for (labels, count) in
        [(["200", "/a"], 3), (["404", "/a"], 2), (["500", "/a"], 5), (["500", "a\",b=\""], 1)]
    {
        hits.with(labels).add(count);
    }
    let waiting = registry.register_vec(&WAITING);
    waiting.with(["read"]).set(7);
    waiting.with(["write"]).set(1);
    let duration: HistogramVec<1> = registry.register_vec(&TOOK);
    for (verb, values) in [("GET", [1, 2]), ("PUT", [1, 0])] {
        values.iter().for_each(|value| duration.with([verb]).observe(*value));
    }
    registry
}

fn allowing(pairs: &[(&str, &str)]) -> Result<Selection, InvalidNameError> {
    Selection::default().with_allowed(pairs.iter().copied())
}

/// Samples of a family on the filtered page.
fn samples(selection: &Selection, family: &str) -> Vec<String> {
    let page = registry().render(selection);
    page.lines().filter(|line| line.starts_with(family)).map(str::to_owned).collect()
}

#[test]
fn disallowed_values_are_merged_and_counted() -> Result<(), InvalidNameError> {
    let selection = allowing(&[("hits_total,code", "200,201")])?;
    assert_eq!(
        samples(&selection, "hits_total"),
        [
            "hits_total{code=\"200\",path=\"/a\"} 3",
            "hits_total{code=\"unexpected\",path=\"/a\"} 7",
            "hits_total{code=\"unexpected\",path=\"a\\\",b=\\\"\"} 1",
        ]
    );
    let total = "cardinality_enforcement_unexpected_categorizations_total";
    assert_eq!(samples(&selection, total), [format!("{total} 8")]);
    assert_eq!(samples(&selection, "waiting").len(), 2);
    Ok(())
}

#[test]
fn values_are_compared_without_their_escapes() -> Result<(), InvalidNameError> {
    let selection = allowing(&[("hits_total,path", "a\",b=\"")])?;
    let quoted = "hits_total{code=\"500\",path=\"a\\\"";
    assert_eq!(samples(&selection, quoted).len(), 0);
    let all = samples(&selection, "hits_total{code=\"500\"");
    assert_eq!(all, ["hits_total{code=\"500\",path=\"unexpected\"} 6"]);
    let only = allowing(&[("hits_total,path", "/a,x")])?;
    let line = "hits_total{code=\"500\",path=\"unexpected\"} 1".to_owned();
    assert!(samples(&only, "hits_total").contains(&line));
    Ok(())
}

#[test]
fn histograms_are_added_up_bucket_by_bucket() -> Result<(), InvalidNameError> {
    let selection = allowing(&[("took_seconds,verb", "POST"), ("took_seconds,le", "7")])?;
    assert_eq!(
        samples(&selection, "took_seconds"),
        [
            "took_seconds_bucket{verb=\"unexpected\",le=\"1\"} 3",
            "took_seconds_bucket{verb=\"unexpected\",le=\"+Inf\"} 4",
            "took_seconds_sum{verb=\"unexpected\"} 4",
            "took_seconds_count{verb=\"unexpected\"} 4",
        ]
    );
    let total = "cardinality_enforcement_unexpected_categorizations_total";
    assert_eq!(samples(&selection, total), [format!("{total} 4")]);
    Ok(())
}

#[test]
fn gauge_counts_once_per_replaced_value() -> Result<(), InvalidNameError> {
    let selection = allowing(&[("waiting,kind", "read")])?;
    assert_eq!(
        samples(&selection, "waiting"),
        ["waiting{kind=\"read\"} 7", "waiting{kind=\"unexpected\"} 1"]
    );
    let total = "cardinality_enforcement_unexpected_categorizations_total";
    assert_eq!(samples(&selection, total), [format!("{total} 1")]);
    Ok(())
}

#[test]
fn disabled_families_are_gone_with_all_their_lines() -> Result<(), InvalidNameError> {
    let selection = Selection::default().disable(vec!["waiting".to_owned(), "nothing".to_owned()])?;
    let page = registry().render(&selection);
    assert!(!page.contains("waiting"), "{page}");
    assert!(page.contains("# HELP took_seconds Time.\n"), "{page}");
    assert!(page.contains("\ndisabled_metrics_total 2\n"), "{page}");
    assert!(page.contains("stability_level=\"STABLE\"} 1\n"), "{page}");
    Ok(())
}

#[test]
fn names_of_another_form_are_refused() {
    let check = |key: &str| {
        assert_eq!(allowing(&[(key, "x")]).err(), Some(InvalidNameError(key.to_owned())), "{key:?}");
    };
    for key in ["", "hits", "hits,", ",code", "1hits,code", "hits,co:de", "hits,code,more", "hits code,x"] {
        check(key);
    }
    assert!(allowing(&[("a:b_1,c_2", "")]).is_ok());
    let disabled = |name: &str| Selection::default().disable(vec![name.to_owned()]).err();
    assert_eq!(disabled("a b"), Some(InvalidNameError("a b".to_owned())));
    assert_eq!(disabled(""), Some(InvalidNameError(String::new())));
    assert_eq!(disabled("a:b"), None);
}
