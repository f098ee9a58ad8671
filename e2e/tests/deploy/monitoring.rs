//! Rules and boards: every series that they name is on a page of metrics, and every alert is explained.

use std::collections::BTreeSet;

use serde_json::Value;

use super::page::{Page, after_traffic};
use e2e::tools;

/// What Prometheus itself makes for each target.
const OF_PROMETHEUS: [&str; 1] = ["up"];
/// Operators and aggregations, which may stand before something else than a parenthesis.
const WORDS: [&str; 16] = [
    "and",
    "avg",
    "bool",
    "by",
    "count",
    "group_left",
    "group_right",
    "ignoring",
    "max",
    "min",
    "on",
    "or",
    "sum",
    "topk",
    "unless",
    "without",
];
/// After these, names in parentheses are labels.
const GROUPINGS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];

/// Series that kubernetes-mixin's alerts, recording rules and boards about the API server read, but for
/// two: `aggregator_unavailable_apiservice_total` is there once an APIService has been lost, and
/// `apiserver_request_terminations_total` once a request has been sent away or was late.
const MIXIN: &str = "
    apiserver_request_total
    apiserver_request_sli_duration_seconds_bucket
    apiserver_request_sli_duration_seconds_count
    apiserver_request_duration_seconds_bucket
    apiserver_client_certificate_expiration_seconds_bucket
    apiserver_client_certificate_expiration_seconds_count
    aggregator_unavailable_apiservice
    workqueue_adds_total
    workqueue_depth
    workqueue_queue_duration_seconds_bucket
    process_resident_memory_bytes
    process_cpu_seconds_total
    apiserver_current_inflight_requests
    apiserver_storage_objects
    kubernetes_build_info
";

/// What kubernetes-mixin's expressions select by, and sum up by: a series and its labels.
const MIXIN_LABELS: [(&str, &str); 7] = [
    ("apiserver_request_total", "verb code resource"),
    ("apiserver_request_sli_duration_seconds", "verb scope subresource resource"),
    ("apiserver_request_duration_seconds", "verb subresource"),
    ("aggregator_unavailable_apiservice", "name"),
    ("workqueue_adds_total", "name"),
    ("workqueue_depth", "name"),
    ("workqueue_queue_duration_seconds", "name"),
];
/// Bounds that its error budget counts requests by: of writes and single objects, of a namespace, of all.
const MIXIN_BOUNDS: [&str; 3] = ["1", "5", "30"];

/// The series that an expression of Prometheus names.
fn series(expression: &str) -> BTreeSet<String> {
    let (mut found, mut rest, mut grouping) = (BTreeSet::new(), expression, false);
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '"' | '\'' => closing(&rest[1..], first) + 2,
            '{' => closing(&rest[1..], '}') + 2,
            '[' => closing(&rest[1..], ']') + 2,
            '(' if grouping => closing(&rest[1..], ')') + 2,
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
                let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
                let called = after.trim_start().starts_with('(');
                if !called && !WORDS.contains(&name) {
                    found.insert(name.to_owned());
                }
                grouping = GROUPINGS.contains(&name);
                rest = after;
                continue;
            }
            '0'..='9' => rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len()),
            other => {
                grouping &= other.is_whitespace();
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        grouping = false;
        rest = rest.get(skipped..).unwrap_or_default();
    }
    found
}

/// Where something ends that `end` closes; strings within it may have that character too.
fn closing(text: &str, end: char) -> usize {
    let mut quoted = false;
    let found = text.char_indices().find(|&(_, c)| {
        quoted ^= c == '"' && end != '"';
        c == end && !quoted
    });
    found.map_or(text.len(), |(at, _)| at)
}

/// Names that the page has no series for.
fn missing<'n>(names: impl IntoIterator<Item = &'n str>, page: &Page) -> Vec<&'n str> {
    let there = |name: &str| {
        let family = ["_bucket", "_count", "_sum"].iter().find_map(|end| name.strip_suffix(end));
        let has = |name: &str| page.get(name).is_some_and(|family| family.samples > 0);
        OF_PROMETHEUS.contains(&name) || has(name) || family.is_some_and(has)
    };
    names.into_iter().filter(|name| !there(name)).collect()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(tools::root().join(path)).unwrap()
}

/// The alerts: name and expression.
fn alerts() -> Vec<(String, String)> {
    let rules = schema::yaml::to_json(read("deploy/monitoring/rules.yaml").as_bytes()).unwrap();
    let rules: Value = serde_json::from_slice(&rules.json).unwrap();
    let groups = rules["groups"].as_array().unwrap().iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap().to_owned();
    rules.map(|rule| (text(rule, "alert"), text(rule, "expr"))).collect()
}

#[test]
fn alerts_and_boards_find_their_series() {
    let board: Value = serde_json::from_str(&read("deploy/monitoring/dashboard.json")).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let of_board = panels.iter().map(|panel| panel["targets"][0]["expr"].as_str().unwrap().to_owned());
    let names: BTreeSet<String> = alerts()
        .into_iter()
        .map(|(_, expression)| expression)
        .chain(of_board)
        .flat_map(|e| series(&e))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let missing = missing(names.iter().map(String::as_str), after_traffic());
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_series_of_kubernetes_mixin_are_there() {
    let missing = missing(MIXIN.split_whitespace(), after_traffic());
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn kubernetes_mixin_finds_the_labels_and_bounds_that_it_asks_for() {
    let page = after_traffic();
    for (name, labels) in MIXIN_LABELS {
        let family = &page[name];
        let missing: Vec<&str> =
            labels.split_whitespace().filter(|label| !family.labels.contains(*label)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
    let bounds = &page["apiserver_request_sli_duration_seconds"].buckets;
    let missing: Vec<&str> =
        MIXIN_BOUNDS.into_iter().filter(|bound| !bounds.iter().any(|b| b == bound)).collect();
    assert!(missing.is_empty(), "{missing:?} of {bounds:?}");
}

#[test]
fn every_alert_has_its_cause_and_cure() {
    let text = read("docs/troubleshooting.md");
    let explained: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let alerts = alerts();
    let named: BTreeSet<&str> = alerts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(explained, named, "headings of docs/troubleshooting.md and alerts");
}

#[test]
fn series_are_told_from_functions_labels_and_strings() {
    let check = |expression: &str, expected: &[&str]| {
        assert_eq!(
            series(expression).iter().map(String::as_str).collect::<Vec<_>>(),
            expected,
            "{expression}"
        );
    };
    check(
        "sum by (le, a) (rate(x_bucket{code=~\"5..}\",z=\"1\"}[5m])) / on (a) y > 1.6e3 * 2",
        &["x_bucket", "y"],
    );
    check("absent(up{job=\"a\"} == 1)", &["up"]);
    check("histogram_quantile(0.99, sum(rate(a[$__rate_interval])) by (le)) or vector(0)", &["a"]);
}
