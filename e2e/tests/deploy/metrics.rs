//! Upstream's metrics with their labels and buckets: all STABLE and BETA metrics, and the ALPHA metrics that
//! are meaningful here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::page::{Family, Page, after_traffic};

/// Upstream's STABLE and BETA metrics (`cargo xtask generate metrics`): name, type, stability, labels, buckets.
const UPSTREAM: &str = include_str!("metrics.json");

/// Upstream's ALPHA metrics that a server exported in a test of everything (`cargo xtask generate metrics-alpha`).
const ALPHA: &str = include_str!("metrics-alpha.json");

/// Document for operators that lists missing metrics.
const DIFFERENCES: &str = include_str!("../../../docs/differences.md");

/// Metrics that may be missing, with the reason.
const EXCEPTIONS: [(&str, &str); 4] = [
    ("running_managed_controllers", "of the controller manager, which shares upstream's library"),
    // Needs changing files; unit tests cover it.
    ("apiserver_authentication_config_controller_", "there once --authentication-config was read again"),
    ("apiserver_authorization_config_controller_", "there once --authorization-config was read again"),
    ("apiserver_flowcontrol_rejected_requests_total", "there once a request was turned away"),
];

/// ALPHA metrics that appear only after an event, with that event.
const ALPHA_LATER: [(&str, &str); 20] = [
    ("apiserver_admission_match_condition_", "a webhook with match conditions"),
    ("apiserver_admission_webhook_fail_open_count", "a webhook that fails open"),
    ("apiserver_conversion_webhook_", "a conversion webhook"),
    ("apiserver_crd_conversion_webhook_", "a conversion webhook"),
    ("apiserver_impersonation_", "an impersonated request"),
    ("apiserver_mutating_admission_policy_check_", "a mutating policy"),
    ("apiserver_request_aborts_total", "a client that does not read its answer in time"),
    ("apiserver_request_terminations_total", "a request that is sent away or is late"),
    ("apiserver_envelope_encryption_dek_cache_fill_percent", "--encryption-provider-config"),
    ("apiserver_storage_data_key_generation_", "--encryption-provider-config"),
    ("apiserver_storage_decode_errors_total", "an unreadable object"),
    ("apiserver_storage_envelope_transformation_cache_misses_total", "--encryption-provider-config"),
    ("apiserver_watch_cache_initialization_errors_total", "a failed list of etcd"),
    ("authentication_token_cache_", "a token that is remembered"),
    ("etcd_lease_object_counts", "a lease of etcd whose time is over"),
    ("etcd_request_errors_total", "a failed call of etcd"),
    ("kube_apiserver_clusterip_allocator_allocation_errors_total", "an address that is taken"),
    ("kube_apiserver_nodeport_allocator_allocation_errors_total", "a port that is taken"),
    ("leader_election_master_status", "CoordinatedLeaderElection"),
    ("rest_client_response_size_bytes", "a webhook that answers"),
];

/// Missing ALPHA metrics. The reasons are in the document about differences.
const ALPHA_ABSENT: [&str; 15] = [
    "aggregator_discovery_nopeer_requests_total",
    "aggregator_discovery_peer_aggregated_cache_",
    "apiextensions_apiserver_validation_ratcheting_seconds",
    "apiserver_admission_step_admission_duration_seconds_summary",
    "apiserver_kube_aggregator_x509_",
    "apiserver_nodeport_repair_port_errors_total",
    "apiserver_request_post_timeout_total",
    "apiserver_request_timestamp_comparison_time",
    "apiserver_selfrequest_total",
    "apiserver_storage_consistency_checks_total",
    "apiserver_validation_declarative_validation_parity_discrepancies_total",
    "etcd_bookmark_total",
    "rest_client_transport_",
    "watch_cache_capacity_decrease_total",
    "watch_cache_capacity_increase_total",
];

/// Minimum share of upstream's ALPHA metrics, in percent.
const ALPHA_PERCENT: usize = 80;

/// Compares a page with upstream's list.
fn findings(page: &Page, upstream: &[Value], excepted: impl Fn(&str) -> bool) -> Vec<String> {
    let required = upstream.iter().filter(|metric| !excepted(metric["name"].as_str().unwrap()));
    required.filter_map(|metric| finding(page, metric)).collect()
}

fn is_exception(name: &str) -> bool {
    EXCEPTIONS.iter().any(|(prefix, _)| name.starts_with(prefix))
}

fn is_absent(name: &str) -> bool {
    ALPHA_ABSENT.iter().any(|prefix| name.starts_with(prefix))
}

fn finding(page: &Page, metric: &Value) -> Option<String> {
    let name = metric["name"].as_str().unwrap();
    let Some(family) = page.get(name).filter(|family| family.samples > 0) else {
        return Some(format!("{name} is missing"));
    };
    let Family { kind, stability, labels, buckets, .. } = family;
    let texts = |key: &str| {
        metric[key].as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned())
    };
    let expected: BTreeSet<String> = texts("labels").collect();
    let bounds: Vec<&String> = buckets.iter().filter(|bound| *bound != "+Inf").collect();
    if *kind != metric["type"] || *stability != metric["stability"] {
        Some(format!("{name} is a {kind} [{stability}]"))
    } else if *labels != expected {
        Some(format!("{name} has labels {labels:?}, not {expected:?}"))
    } else if metric["buckets"].is_array()
        && !texts("buckets").eq(bounds.iter().map(|bound| (*bound).clone()))
    {
        Some(format!("{name} has buckets {bounds:?}"))
    } else {
        None
    }
}

fn read(list: &str) -> Vec<Value> {
    serde_json::from_str(list).unwrap()
}

#[test]
fn stable_and_beta_metrics_equal_upstreams() {
    let findings = findings(after_traffic(), &read(UPSTREAM), is_exception);
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn alpha_metrics_equal_upstreams_or_are_documented() {
    let page = after_traffic();
    let alpha = read(ALPHA);
    let later = |name: &str| ALPHA_LATER.iter().any(|(prefix, _)| name.starts_with(prefix));
    let findings = findings(page, &alpha, |name| is_absent(name) || later(name));
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    let names = || alpha.iter().map(|metric| metric["name"].as_str().unwrap());
    let absent = names().filter(|name| is_absent(name)).count();
    assert!((alpha.len() - absent) * 100 >= alpha.len() * ALPHA_PERCENT, "{absent} of {}", alpha.len());
    let present: Vec<&str> = names().filter(|name| is_absent(name) && page.contains_key(*name)).collect();
    assert!(present.is_empty(), "they are there: {present:?}");
    let unsaid: Vec<&str> = ALPHA_ABSENT.into_iter().filter(|prefix| !DIFFERENCES.contains(prefix)).collect();
    assert!(unsaid.is_empty(), "docs/differences.md does not say that these are not there: {unsaid:?}");
}

#[test]
fn missing_or_different_metric_is_found() {
    let metrics = read(UPSTREAM);
    let total = metrics.len();
    assert!(findings(&Page::new(), &metrics, is_exception).len() > total / 2, "all but the exceptions");
    let page = super::page::parse(
        "# HELP apiserver_current_inflight_requests [STABLE] x\n# TYPE apiserver_current_inflight_requests gauge\n\
         apiserver_current_inflight_requests{kind=\"mutating\"} 0\n",
    );
    let findings = findings(&page, &metrics, is_exception);
    assert!(findings.iter().any(|finding| finding.contains("has labels {\"kind\"}")), "{findings:?}");
}
