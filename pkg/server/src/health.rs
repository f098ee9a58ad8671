//! `/healthz`, `/livez` and `/readyz`: named checks with upstream's response texts (apiserver
//! `server/healthz/healthz.go`).

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use apimachinery::go_quote::quote;
use apimachinery::query::Query;
use component_base::metrics::{Counter, Family, Gauge, Page, Stability};
use endpoints::routing::dispatch::Response;

use crate::pages::{Context, Pages};
use crate::respond;

/// Health check.
#[async_trait]
pub trait Check: Send + Sync + 'static {
    /// Name in the list of checks, in `exclude`, and in the path of the single check.
    fn name(&self) -> &str;

    /// Runs the check, which must limit its own duration.
    ///
    /// # Errors
    /// The check failed. The text is visible only at the path of the single check, which needs authorization,
    /// and in the log.
    async fn check(&self) -> Result<(), CheckError>;
}

/// Error of a health check. Cheap to clone.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct CheckError(Arc<dyn std::error::Error + Send + Sync>);

impl CheckError {
    /// Creates the error from its cause or from a text.
    pub fn new(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        CheckError(Arc::from(cause.into()))
    }
}

/// Check made of a name and a function.
pub struct NamedCheck<F>(pub Cow<'static, str>, pub F);

#[async_trait]
impl<F, R> Check for NamedCheck<F>
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), CheckError>> + Send,
{
    fn name(&self) -> &str {
        &self.0
    }

    async fn check(&self) -> Result<(), CheckError> {
        (self.1)().await
    }
}

/// Always succeeds; shows that the process responds.
pub struct Ping;

#[async_trait]
impl Check for Ping {
    fn name(&self) -> &str {
        "ping"
    }

    async fn check(&self) -> Result<(), CheckError> {
        Ok(())
    }
}

/// Checks that a line can be written to the log, which is standard error. If another thread holds its lock
/// for more than a moment, the reader of the log is stuck.
#[derive(Default)]
pub struct Log {
    running: Arc<AtomicBool>,
}

/// Maximum time that the log's lock may be held.
const LOG_LOCK_MAX: Duration = Duration::from_secs(1);

#[async_trait]
impl Check for Log {
    fn name(&self) -> &str {
        "log"
    }

    async fn check(&self) -> Result<(), CheckError> {
        let blocked = || CheckError::new("logging blocked");
        if self.running.swap(true, Relaxed) {
            // Another check is running. A second thread would block behind it.
            return Ok(());
        }
        let running = Arc::clone(&self.running);
        let look = tokio::task::spawn_blocking(move || {
            drop(std::io::stderr().lock());
            running.store(false, Relaxed);
        });
        tokio::time::timeout(LOG_LOCK_MAX, look).await.map_err(|_| blocked())?.map_err(|_| blocked())
    }
}

/// Fails from the moment the server starts to shut down.
pub struct Shutdown(pub CancellationToken);

#[async_trait]
impl Check for Shutdown {
    fn name(&self) -> &str {
        "shutdown"
    }

    async fn check(&self) -> Result<(), CheckError> {
        if self.0.is_cancelled() { Err(CheckError::new("process is shutting down")) } else { Ok(()) }
    }
}

/// Post-start hook: fails until [`done`](Self::done) was called.
#[derive(Debug)]
pub struct Hook {
    name: String,
    finished: AtomicBool,
}

impl Hook {
    /// Creates an unfinished hook, listed as `poststarthook/NAME`.
    pub fn new(name: &str) -> Arc<Self> {
        Self::with_name(format!("poststarthook/{name}"))
    }

    /// As [`new`](Self::new), listed under `name`.
    pub fn with_name(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Hook { name: name.into(), finished: AtomicBool::new(false) })
    }

    /// Marks the work as done.
    pub fn done(&self) {
        self.finished.store(true, Relaxed);
    }
}

#[async_trait]
impl Check for Hook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), CheckError> {
        if self.finished.load(Relaxed) { Ok(()) } else { Err(CheckError::new("not finished")) }
    }
}

/// Reports success during `--livez-grace-period`, so that a slow start does not cause an endless restart
/// loop.
pub struct GracePeriodCheck {
    check: Arc<dyn Check>,
    until: Instant,
}

impl GracePeriodCheck {
    /// Ignores failures of `check` for the duration of `grace`, from now on.
    pub fn new(check: Arc<dyn Check>, grace: Duration) -> Self {
        GracePeriodCheck { check, until: Instant::now() + grace }
    }
}

#[async_trait]
impl Check for GracePeriodCheck {
    fn name(&self) -> &str {
        self.check.name()
    }

    async fn check(&self) -> Result<(), CheckError> {
        if Instant::now() < self.until { Ok(()) } else { self.check.check().await }
    }
}

/// Runs a check at most once per interval, because probes of anonymous clients must not load the store.
/// Callers within the interval get the last result (as in upstream's check of etcd). Callers during a run
/// wait for its result.
pub struct ThrottledCheck {
    check: Arc<dyn Check>,
    interval: Duration,
    last: Mutex<LastResult>,
}

#[derive(Default)]
struct LastResult {
    started: Option<Instant>,
    /// Result of the last completed run.
    result: Option<Result<(), CheckError>>,
}

impl ThrottledCheck {
    /// Runs `check` at most once in `interval`.
    pub fn new(check: Arc<dyn Check>, interval: Duration) -> Self {
        ThrottledCheck { check, interval, last: Mutex::default() }
    }
}

#[async_trait]
impl Check for ThrottledCheck {
    fn name(&self) -> &str {
        self.check.name()
    }

    async fn check(&self) -> Result<(), CheckError> {
        let mut last = self.last.lock().await;
        let now = Instant::now();
        let recent = last.started.is_some_and(|start| now.duration_since(start) < self.interval);
        if let Some(result) = last.result.as_ref().filter(|_| recent) {
            return result.clone();
        }
        last.started = Some(now);
        let result = self.check.check().await;
        last.result = Some(result.clone());
        result
    }
}

/// Checks of one path, in the order in which they are run and listed.
#[derive(Default)]
pub struct CheckGroup {
    checks: Vec<Arc<CountedCheck>>,
}

/// Check with its results, for `/metrics/slis`.
struct CountedCheck {
    check: Arc<dyn Check>,
    succeeded: AtomicU64,
    failed: AtomicU64,
    last: AtomicBool,
}

impl CountedCheck {
    async fn run(&self) -> Result<(), CheckError> {
        let result = self.check.check().await;
        let count = if result.is_ok() { &self.succeeded } else { &self.failed };
        count.fetch_add(1, Relaxed);
        self.last.store(result.is_ok(), Relaxed);
        result
    }

    /// Page of a single check, with the reason of a failure.
    async fn respond(&self) -> Response {
        match self.check.check().await {
            Ok(()) => respond::text(200, "ok"),
            Err(reason) => respond::text(500, format!("internal server error: {reason}\n")),
        }
    }
}

impl CheckGroup {
    pub fn new(checks: Vec<Arc<dyn Check>>) -> Self {
        let counted = |check| {
            Arc::new(CountedCheck {
                check,
                succeeded: AtomicU64::new(0),
                failed: AtomicU64::new(0),
                last: AtomicBool::new(false),
            })
        };
        CheckGroup { checks: checks.into_iter().map(counted).collect() }
    }

    /// Response for all checks. It lists every check after a failure, but no reasons, because anonymous
    /// clients can read it.
    async fn all(&self, group: &str, query: &Query) -> Response {
        let mut unknown: Vec<&str> = query.all("exclude").collect();
        unknown.sort_unstable();
        unknown.dedup();
        let excluded = unknown.clone();
        let mut detail = String::new();
        let mut failed = Vec::new();
        for counted in &self.checks {
            let name = counted.check.name();
            let line = if excluded.contains(&name) {
                unknown.retain(|&other| other != name);
                format_args!("[+]{name} excluded: ok").to_string()
            } else if let Err(reason) = counted.run().await {
                failed.push(format!("{name}: {reason}"));
                format!("[-]{name} failed: reason withheld")
            } else {
                format!("[+]{name} ok")
            };
            let _ = writeln!(detail, "{line}");
        }
        if !unknown.is_empty() {
            let names: Vec<String> = unknown.into_iter().map(quote).collect();
            let _ = writeln!(
                detail,
                "warn: some health checks cannot be excluded: no matches for {}",
                names.join(",")
            );
        }
        if !failed.is_empty() {
            tracing::info!(group, failed = failed.join("; "), "health check failed");
            return respond::text(500, format!("{detail}{group} check failed\n"));
        }
        match query.first("verbose") {
            None => respond::text(200, "ok"),
            Some(_) => respond::text(200, format!("{detail}{group} check passed\n")),
        }
    }
}

#[derive(Default)]
pub struct Health {
    /// `/healthz`, the oldest path, for old clients.
    pub healthz: CheckGroup,
    /// `/livez`: fails when only a restart can help.
    pub livez: CheckGroup,
    /// `/readyz`: fails when clients should use another server.
    pub readyz: CheckGroup,
}

const LAST: Family<Gauge, 2> = Family::gauge(
    Stability::Stable,
    "kubernetes_healthcheck",
    "This metric records the result of a single healthcheck.",
    ["name", "type"],
);
const RUNS: Family<Counter, 3> = Family::counter(
    Stability::Stable,
    "kubernetes_healthchecks_total",
    "This metric records the results of all healthcheck.",
    ["name", "status", "type"],
);

type GroupSelector = fn(&Health) -> &CheckGroup;

const GROUPS: [(&str, GroupSelector); 3] = [
    ("healthz", |health| &health.healthz),
    ("livez", |health| &health.livez),
    ("readyz", |health| &health.readyz),
];

impl Health {
    /// Pages of the groups and of each check.
    pub(crate) fn pages(self: &Arc<Self>) -> Pages {
        let mut pages = Pages::default();
        for (name, group) in GROUPS {
            let health = Arc::clone(self);
            let all = async move |context: Context| group(&health).all(name, &context.query).await;
            pages = pages.add_listed(&format!("/{name}"), all);
            for counted in &group(self).checks {
                let path = format!("/{name}/{}", counted.check.name());
                let counted = Arc::clone(counted);
                pages = pages.add_listed(&path, async move || counted.respond().await);
            }
        }
        pages
    }

    /// `/metrics/slis`: results of the checks of each group (KEP-3466).
    pub(crate) fn write_slis(&self, page: &mut Page<'_>) {
        let mut samples = page.family(&LAST);
        self.for_each(|kind, counted| {
            samples.add([counted.check.name(), kind], counted.last.load(Relaxed));
        });
        drop(samples);
        let mut samples = page.family(&RUNS);
        self.for_each(|kind, counted| {
            for (status, count) in [("error", &counted.failed), ("success", &counted.succeeded)] {
                samples.add_nonzero([counted.check.name(), status, kind], count.load(Relaxed));
            }
        });
    }

    /// Sets the counts of `/metrics/slis` to zero. A check is absent until it runs again.
    pub(crate) fn reset_slis(&self) {
        self.for_each(|_, counted| {
            counted.failed.store(0, Relaxed);
            counted.succeeded.store(0, Relaxed);
        });
    }

    /// Visits every check that has been run.
    fn for_each(&self, mut visit: impl FnMut(&str, &CountedCheck)) {
        for (kind, group) in GROUPS {
            for counted in &group(self).checks {
                if counted.succeeded.load(Relaxed) + counted.failed.load(Relaxed) > 0 {
                    visit(kind, counted);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
