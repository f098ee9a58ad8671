//! Upstream's metrics that are promised to stay: STABLE and BETA ones, with their labels and buckets.

use std::collections::BTreeSet;

use serde_json::Value;

use super::page::{Family, Page, after_traffic};

/// Upstream's, of v1.36: name, type, stability, labels, buckets.
const UPSTREAM: &str = include_str!("metrics.json");

/// What need not be there, and why.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("running_managed_controllers", "of the controller manager, which shares upstream's library"),
    // Tests within the process have files that change.
    ("apiserver_authentication_config_controller_", "there once --authentication-config was read again"),
    ("apiserver_authorization_config_controller_", "there once --authorization-config was read again"),
    ("apiserver_flowcontrol_rejected_requests_total", "there once a request was turned away"),
];

/// What is wrong with a page, by upstream's list.
fn findings(page: &Page, upstream: &[Value]) -> Vec<String> {
    upstream.iter().filter_map(|metric| finding(page, metric)).collect()
}

fn finding(page: &Page, metric: &Value) -> Option<String> {
    let name = metric["name"].as_str().unwrap();
    if EXCEPTIONS.iter().any(|(prefix, _)| name.starts_with(prefix)) {
        return None;
    }
    let Some(family) = page.get(name).filter(|family| family.samples > 0) else {
        return Some(format!("{name} is missing"));
    };
    let Family { kind, stability, labels, buckets, .. } = family;
    let texts = |key: &str| {
        metric[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned())
    };
    let wanted: BTreeSet<String> = texts("labels").collect();
    let bounds: Vec<&String> = buckets.iter().filter(|bound| *bound != "+Inf").collect();
    if *kind != metric["type"] || *stability != metric["stability"] {
        Some(format!("{name} is a {kind} [{stability}]"))
    } else if *labels != wanted {
        Some(format!("{name} has labels {labels:?}, not {wanted:?}"))
    } else if metric["buckets"].is_array()
        && !texts("buckets").eq(bounds.iter().map(|bound| (*bound).clone()))
    {
        Some(format!("{name} has buckets {bounds:?}"))
    } else {
        None
    }
}

fn upstream() -> Vec<Value> {
    serde_json::from_str(UPSTREAM).unwrap()
}

#[test]
fn stable_and_beta_metrics_are_those_of_upstream() {
    let findings = findings(after_traffic(), &upstream());
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn a_metric_that_lacks_or_differs_is_found() {
    let metrics = upstream();
    let total = metrics.len();
    assert!(findings(&Page::new(), &metrics).len() > total / 2, "all but the exceptions");
    let page = super::page::parse(
        "# HELP apiserver_current_inflight_requests [STABLE] x\n# TYPE apiserver_current_inflight_requests gauge\n\
         apiserver_current_inflight_requests{kind=\"mutating\"} 0\n",
    );
    let found = findings(&page, &metrics);
    assert!(found.iter().any(|finding| finding.contains("has labels {\"kind\"}")), "{found:?}");
}
