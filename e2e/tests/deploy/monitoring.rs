//! Alert rules and dashboards, Mainstay's and kubernetes-mixin's. Prometheus' own evaluator finds series for
//! each of their selectors on the metrics pages of a used server, and every alert is documented.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};

use super::mixin;
use super::page::texts;
use e2e::{process, tools};

/// Timeout of the first build, which fetches and compiles Prometheus' evaluator.
const BUILD_MAX: Duration = Duration::from_secs(900);
const RUN_MAX: Duration = Duration::from_secs(60);

/// Parts of selectors that match nothing before an event, with that event.
const LATER: [(&str, &str); 4] = [
    ("apiserver_request_total{code=\"429\"", "a request that was refused"),
    ("apiserver_requested_deprecated_apis", "a request for a version that a release will not serve"),
    ("aggregator_unavailable_apiservice_total", "an APIService whose server was lost"),
    ("rest_client_requests_total{code=~\"5..\"", "a webhook that failed with an answer"),
];

fn read(path: &str) -> String {
    std::fs::read_to_string(tools::root().join(path)).unwrap()
}

/// Returns the name and expression of each alert.
fn alerts() -> Vec<(String, String)> {
    let rules = schema::yaml::to_json(read("deploy/monitoring/rules.yaml").as_bytes()).unwrap();
    let rules: Value = serde_json::from_slice(&rules.json).unwrap();
    let groups = rules["groups"].as_array().unwrap().iter();
    let rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap().to_owned();
    rules.map(|rule| (text(rule, "alert"), text(rule, "expr"))).collect()
}

/// Returns the expressions of the dashboard, for all instances and with a fixed interval.
fn board() -> Vec<String> {
    let board: Value = serde_json::from_str(&read("deploy/monitoring/dashboard.json")).unwrap();
    let panels = board["panels"].as_array().unwrap().iter();
    let text = |panel: &Value| panel["targets"][0]["expr"].as_str().unwrap().to_owned();
    panels.map(text).map(|expr| expr.replace("$instance", ".*").replace("$__rate_interval", "5m")).collect()
}

/// Returns the evaluator. Built once, because a running program cannot be overwritten.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> PathBuf {
    let built = tools::target().join("e2e/promql");
    let mut command = Command::new(tools::program("go"));
    command.args(["build", "-mod=mod", "-o"]).arg(&built).arg(".");
    let done = process::run(command.current_dir(tools::root().join("e2e/promql")), "", BUILD_MAX);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    built
}

/// Evaluates rules over a server's pages. Returns the selectors without series, with the rules that use them.
fn missing(rules: &[Value]) -> BTreeMap<String, Vec<String>> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("work.json");
    let target = json!({"job": "apiserver", "instance": "127.0.0.1:6443"});
    let work = json!({"target": target, "pages": texts(), "rules": rules});
    std::fs::write(&file, work.to_string()).unwrap();
    let done = process::run(Command::new(program()).arg(file), "", RUN_MAX);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

/// Fails if a selector without such a precondition matches nothing.
fn all_find_their_series(rules: &[Value]) {
    let mut missing = missing(rules);
    missing.retain(|selector, _| !LATER.iter().any(|(part, _)| selector.contains(part)));
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn alert_and_dashboard_series_exist() {
    let expressions = alerts().into_iter().map(|(_, expression)| expression).chain(board());
    let rules: Vec<Value> = expressions.map(|expr| json!({"expr": expr})).collect();
    assert!(rules.len() > 20, "{rules:?}");
    all_find_their_series(&rules);
}

#[test]
fn kubernetes_mixin_series_exist() {
    all_find_their_series(&mixin::rules());
}

#[test]
fn unmatched_selector_is_reported() {
    let expr = "sum(rate(apiserver_request_total{job=\"apiserver\",verb=\"NONE\"}[5m])) or nothing or up";
    let missing = missing(&[json!({"expr": expr})]);
    let selectors: Vec<&str> = missing.keys().map(String::as_str).collect();
    assert_eq!(selectors, ["apiserver_request_total{job=\"apiserver\",verb=\"NONE\"}", "nothing"]);
}

#[test]
fn every_alert_is_documented() {
    let text = read("docs/troubleshooting.md");
    let explained: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let alerts = alerts();
    let named: BTreeSet<&str> = alerts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(explained, named, "headings of docs/troubleshooting.md and alerts");
}
