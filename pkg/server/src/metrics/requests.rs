//! Request metrics with upstream's names, labels and buckets (behaviour of apiserver
//! `endpoints/metrics/metrics.go`).
//!
//! Every label value comes from a table, so a client cannot create new ones: unknown resources and unknown
//! paths share one row. A series is created when it is first counted. After that, counting is a lookup of the
//! row and a few relaxed additions, without lock or allocation.
//!
//! Unlike upstream, a request that was rejected before its handler ran (401, 403) is counted too.

mod bodies;
mod field_validation;
mod terminated;

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::request::Parts;

use apimachinery::query::Query;
use apimachinery::request_info::RequestInfo;
use component_base::metrics::{
    Counter, Family, Gauge, Histogram, Metric, MetricsRegistry, Page, Stability, buckets,
};
use jsontree::is_equal;

pub(crate) use field_validation::{Directive, FieldValidationHistograms};
use terminated::TerminationCounts;

/// Labels of a known resource or subresource.
#[derive(Debug, Clone, Copy, Eq, PartialOrd, Ord)]
pub struct ResourceLabels<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    pub version: &'a str,
    pub resource: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
}

impl PartialEq for ResourceLabels<'_> {
    fn eq(&self, other: &Self) -> bool {
        is_equal(self.group, other.group)
            && self.version == other.version
            && self.resource == other.resource
            && is_equal(self.subresource, other.subresource)
    }
}

impl Hash for ResourceLabels<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.group, self.version, self.resource, self.subresource).hash(state);
    }
}

/// Paths with their own series. As in upstream, the subresource label contains the path.
const PATHS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

const VERBS: [&str; 10] =
    ["GET", "LIST", "WATCH", "POST", "PUT", "PATCH", "APPLY", "DELETE", "CONNECT", "other"];
const SCOPES: [&str; 4] = ["", "cluster", "namespace", "resource"];
const DRY_RUNS: [&str; 3] = ["", "All", "invalid"];
const SLOTS: usize = VERBS.len() * SCOPES.len() * DRY_RUNS.len();

/// Codes with their own series. Others count as the first code of their hundred.
const CODES: [u16; 28] = [
    100, 101, 200, 201, 202, 204, 300, 301, 302, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422,
    429, 500, 501, 502, 503, 504, 507,
];

const DURATION: Family<Histogram, 8> = Family::histogram(
    Stability::Stable,
    "apiserver_request_duration_seconds",
    "Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.",
    ["component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"],
    &buckets::REQUEST_SECONDS,
);
const SLI: Family<Histogram, 7> = Family::histogram(
    Stability::Alpha,
    "apiserver_request_sli_duration_seconds",
    "Response latency distribution (not counting webhook duration and priority & fairness queue wait times) in seconds for each verb, group, version, resource, subresource, scope and component.",
    ["component", "group", "resource", "scope", "subresource", "verb", "version"],
    &buckets::SLI_SECONDS,
);
const TOTAL: Family<Counter, 9> = Family::counter(
    Stability::Stable,
    "apiserver_request_total",
    "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
    ["code", "component", "dry_run", "group", "resource", "scope", "subresource", "verb", "version"],
);
const RESPONSES: Family<Histogram, 7> = Family::histogram(
    Stability::Stable,
    "apiserver_response_sizes",
    "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
    ["component", "group", "resource", "scope", "subresource", "verb", "version"],
    &buckets::RESPONSE_BYTES,
);
const LONG_RUNNING: Family<Gauge, 7> = Family::gauge(
    Stability::Stable,
    "apiserver_longrunning_requests",
    "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.",
    ["component", "group", "resource", "scope", "subresource", "verb", "version"],
);

/// Labels of a request without its code, as table indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Labels {
    row: u16,
    verb: u8,
    scope: u8,
    dry_run: u8,
}

/// Series of requests with the same labels.
struct Series {
    codes: [AtomicU64; CODES.len()],
    latencies: Histogram,
    /// Latency without the time in the queue.
    sli: Histogram,
    sizes: Histogram,
    long_running: AtomicI64,
    /// True if `long_running` was ever nonzero. A gauge that fell back to 0 is still shown.
    was_long_running: AtomicBool,
    /// Body sizes, if any request had a body.
    bodies: OnceLock<Histogram>,
    terminated: TerminationCounts,
    aborted: AtomicU64,
}

impl Default for Series {
    fn default() -> Self {
        Series {
            codes: std::array::from_fn(|_| AtomicU64::new(0)),
            latencies: Histogram::new(DURATION.buckets()),
            sli: Histogram::new(SLI.buckets()),
            sizes: Histogram::new(RESPONSES.buckets()),
            long_running: AtomicI64::new(0),
            was_long_running: AtomicBool::new(false),
            bodies: OnceLock::new(),
            terminated: TerminationCounts::default(),
            aborted: AtomicU64::new(0),
        }
    }
}

impl Series {
    /// Sets all counts to zero. The number of running requests stays.
    fn reset(&self) {
        let counts = self.codes.iter().chain(&self.terminated).chain([&self.aborted]);
        counts.for_each(|count| count.store(0, Relaxed));
        let histograms = [&self.latencies, &self.sli, &self.sizes].into_iter().chain(self.bodies.get());
        histograms.for_each(Metric::reset);
    }
}

/// Series of one resource.
struct Row {
    labels: ResourceLabels<'static>,
    slots: OnceLock<Box<[OnceLock<Box<Series>>; SLOTS]>>,
}

pub(crate) struct Requests {
    /// Sorted by labels. The first row has empty labels and counts everything without a row of its own.
    rows: Vec<Row>,
    /// Row index by labels.
    by_labels: HashMap<ResourceLabels<'static>, u16>,
}

impl Requests {
    /// Creates counters for requests for these resources.
    pub(crate) fn new(resources: impl IntoIterator<Item = ResourceLabels<'static>>) -> Self {
        let path = |subresource| ResourceLabels { group: "", version: "", resource: "", subresource };
        let mut labels: Vec<_> = std::iter::once("").chain(PATHS).map(path).chain(resources).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.truncate(usize::from(u16::MAX));
        let by_labels = labels.iter().copied().zip(0..).collect();
        let rows = labels.into_iter().map(|labels| Row { labels, slots: OnceLock::new() }).collect();
        Requests { rows, by_labels }
    }

    /// Returns the labels of a request. The scope follows from the path.
    pub(crate) fn labels(&self, parts: &Parts, info: &RequestInfo, query: &Query) -> Labels {
        let scope = scope(info, info.parts.len() > 1);
        let resource_labels = if info.is_resource {
            ResourceLabels {
                group: &info.group,
                version: &info.version,
                resource: &info.resource,
                subresource: &info.subresource,
            }
        } else {
            ResourceLabels { group: "", version: "", resource: "", subresource: &info.path }
        };
        // Shortens the lifetime of the keys, so that the request's labels can be looked up.
        let by_labels: &HashMap<ResourceLabels<'_>, u16> = &self.by_labels;
        Labels {
            row: by_labels.get(&resource_labels).copied().unwrap_or(0),
            verb: index(&VERBS, verb(parts, info, scope)),
            scope: index(&SCOPES, scope),
            dry_run: index(&DRY_RUNS, dry_run(query)),
        }
    }

    /// Counts a request with its response code and the `bytes` of its body. `queue_time`
    /// is the part of `duration` that it spent in the queue.
    pub(crate) fn count_response(
        &self,
        labels: Labels,
        code: u16,
        [duration, queue_time]: [Duration; 2],
        bytes: u64,
    ) {
        let Some(series) = self.series(labels) else { return };
        if let Some(count) = series.codes.get(code_index(code)) {
            count.fetch_add(1, Relaxed);
        }
        series.latencies.observe_duration(duration);
        if labels.has_sli() {
            series.sli.observe_duration(duration.saturating_sub(queue_time));
        }
        if matches!(labels.verb(), "GET" | "LIST" | "WATCH") {
            series.sizes.observe(bytes);
        }
    }

    /// Records the start (`by` is 1) or end (-1) of a long-running request.
    pub(crate) fn add_long_running(&self, labels: Labels, by: i64) {
        if let Some(series) = self.series(labels) {
            series.was_long_running.store(true, Relaxed);
            series.long_running.fetch_add(by, Relaxed);
        }
    }

    fn series(&self, labels: Labels) -> Option<&Series> {
        let row = self.rows.get(usize::from(labels.row))?;
        let slots = row.slots.get_or_init(|| Box::new(std::array::from_fn(|_| OnceLock::new())));
        Some(slots.get(labels.slot())?.get_or_init(Box::default))
    }

    fn all(&self) -> impl Iterator<Item = (Labels, &ResourceLabels<'static>, &Series)> {
        self.rows.iter().zip(0_u16..).flat_map(|(row, at)| {
            let slots = row.slots.get().into_iter().flat_map(|slots| slots.iter()).enumerate();
            slots.filter_map(move |(slot, series)| {
                Some((Labels::from_slot(at, slot), &row.labels, series.get()?.as_ref()))
            })
        })
    }

    /// Registers the metric families.
    pub(crate) fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let requests = Arc::clone(self);
        registry.collect(
            &[
                &LONG_RUNNING,
                &DURATION,
                &SLI,
                &TOTAL,
                &RESPONSES,
                &bodies::SIZES,
                &terminated::TERMINATIONS,
                &terminated::ABORTS,
            ],
            move |page| requests.write(page),
        );
        let requests = Arc::clone(self);
        registry.on_reset(move || requests.all().for_each(|(_, _, series)| series.reset()));
    }

    fn write(&self, page: &mut Page<'_>) {
        let mut samples = page.family(&LONG_RUNNING);
        for (labels, row, series) in self.all().filter(|(_, _, series)| series.was_long_running.load(Relaxed))
        {
            samples.add(labels.by_component(row), series.long_running.load(Relaxed));
        }
        drop(samples);
        let mut samples = page.family(&DURATION);
        self.all().for_each(|(labels, row, series)| {
            samples.write_used(labels.with_dry_run(row), &series.latencies)
        });
        drop(samples);
        let mut samples = page.family(&SLI);
        self.all()
            .for_each(|(labels, row, series)| samples.write_used(labels.by_component(row), &series.sli));
        drop(samples);
        let mut samples = page.family(&RESPONSES);
        self.all()
            .filter(|(labels, ..)| labels.dry_run == 0)
            .for_each(|(labels, row, series)| samples.write_used(labels.by_component(row), &series.sizes));
        drop(samples);
        self.write_totals(page);
        self.write_bodies(page);
        self.write_terminated(page);
    }

    fn write_totals(&self, page: &mut Page<'_>) {
        let codes = CODES.map(|code| code.to_string());
        let mut samples = page.family(&TOTAL);
        for (labels, row, series) in self.all() {
            let [component, dry_run, group, resource, scope, subresource, verb, version] =
                labels.with_dry_run(row);
            for (code, count) in codes.iter().zip(&series.codes) {
                let labels = [code, component, dry_run, group, resource, scope, subresource, verb, version];
                samples.add_nonzero(labels, count.load(Relaxed));
            }
        }
    }
}

impl Labels {
    /// Labels of a request while it is active: without `dry_run`, and with the name from a field selector.
    pub(crate) fn while_running(self, info: &RequestInfo) -> Self {
        Labels { scope: index(&SCOPES, scope(info, !info.name.is_empty())), dry_run: 0, ..self }
    }

    fn slot(self) -> usize {
        let (verb, scope, dry_run) =
            (usize::from(self.verb), usize::from(self.scope), usize::from(self.dry_run));
        (verb * SCOPES.len() + scope) * DRY_RUNS.len() + dry_run
    }

    fn from_slot(row: u16, slot: usize) -> Self {
        let place = |place: usize| u8::try_from(place).unwrap_or(0);
        let rest = slot / DRY_RUNS.len();
        let dry_run = slot % DRY_RUNS.len();
        let verb = rest / SCOPES.len();
        let scope = rest % SCOPES.len();
        Labels { row, verb: place(verb), scope: place(scope), dry_run: place(dry_run) }
    }

    /// True if these requests count in the SLI.
    fn has_sli(self) -> bool {
        self.dry_run == 0 && self.verb() != "WATCH"
    }

    fn scope(self) -> &'static str {
        SCOPES.get(usize::from(self.scope)).copied().unwrap_or_default()
    }

    fn verb(self) -> &'static str {
        VERBS.get(usize::from(self.verb)).copied().unwrap_or_default()
    }

    /// Values of group, resource, scope, subresource, verb and version.
    fn by_scope<'r>(self, row: &'r ResourceLabels<'_>) -> [&'r str; 6] {
        [row.group, row.resource, self.scope(), row.subresource, self.verb(), row.version]
    }

    /// As [`by_scope`](Self::by_scope), after the component.
    fn by_component<'r>(self, row: &'r ResourceLabels<'_>) -> [&'r str; 7] {
        let [group, resource, scope, subresource, verb, version] = self.by_scope(row);
        // Upstream counts health paths without a component.
        let component = if PATHS.contains(&subresource) { "" } else { "apiserver" };
        [component, group, resource, scope, subresource, verb, version]
    }

    /// As [`by_component`](Self::by_component), with `dry_run` after the component.
    fn with_dry_run<'r>(self, row: &'r ResourceLabels<'_>) -> [&'r str; 8] {
        let [component, group, resource, scope, subresource, verb, version] = self.by_component(row);
        let dry_run = DRY_RUNS.get(usize::from(self.dry_run)).copied().unwrap_or_default();
        [component, dry_run, group, resource, scope, subresource, verb, version]
    }
}

/// Returns the verb label. Upstream uses the method, with distinct values for the actions of one method.
fn verb(parts: &Parts, info: &RequestInfo, scope: &str) -> &'static str {
    const CONNECTS: [&str; 5] = ["log", "exec", "portforward", "attach", "proxy"];
    if info.is_resource && CONNECTS.contains(&info.subresource.as_str()) {
        return "CONNECT";
    }
    match parts.method.as_str() {
        "GET" | "HEAD" if info.verb == "watch" => "WATCH",
        "GET" | "HEAD" if matches!(scope, "cluster" | "namespace") => "LIST",
        "GET" | "HEAD" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "PATCH" => match parts.headers.get(CONTENT_TYPE).map(|kind| kind.as_bytes()) {
            Some(b"application/apply-patch+yaml") => "APPLY",
            _ => "PATCH",
        },
        _ => "other",
    }
}

fn scope(info: &RequestInfo, named: bool) -> &'static str {
    match info {
        _ if named || info.verb == "create" => "resource",
        _ if !info.namespace.is_empty() => "namespace",
        _ if info.is_resource => "cluster",
        _ => "",
    }
}

fn dry_run(query: &Query) -> &'static str {
    let mut values = query.all("dryRun");
    match values.next() {
        None => "",
        Some("All") if values.all(|value| value == "All") => "All",
        Some(_) => "invalid",
    }
}

fn index(table: &[&str], label: &str) -> u8 {
    table.iter().position(|&entry| entry == label).and_then(|at| u8::try_from(at).ok()).unwrap_or(0)
}

fn code_index(code: u16) -> usize {
    let hundred = code / 100 * 100;
    CODES.iter().position(|&c| c == code).or_else(|| CODES.iter().position(|&c| c == hundred)).unwrap_or(0)
}

#[cfg(test)]
mod tests;
