//! `/debug/console`: live state of the server for an operator during an incident, and all metrics as JSON.
//!
//! It consists of sections. Each is a function that reads existing counters and lists, and it runs only while
//! a console is open. Sections for requests and flow control are defined here; other components register a
//! [`Section`].

mod families;
mod history;
mod requests;
mod stream;

use std::sync::Arc;

use axum::extract::Path;
use bytes::Bytes;
use flowcontrol::LevelState;
use http::HeaderMap;
use http::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, X_FRAME_OPTIONS};
use jsontree::{Object, Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use endpoints::routing::dispatch::Response;

use crate::env::Env;
use crate::limits::flow::Fairness;
use crate::limits::limiter::RequestLimiter;
use crate::metrics::Metrics;
use crate::pages::{Context, Pages};
use crate::{process, respond};
pub use families::histograms;
pub(crate) use requests::{RequestTracker, Requests, Stage};

/// Maximum number of rows of a list in a section.
pub const ROWS_MAX: usize = 50;
/// Maximum length of a text in a row, in characters. Clients control some of the texts.
const TEXT_CHARS_MAX: usize = 200;
/// Maximum number of queues of a priority level.
const QUEUES_MAX: usize = 10;

/// Returns the state of a section. It must not block, and must respect [`ROWS_MAX`].
pub type StateFn = Arc<dyn Fn() -> Value + Send + Sync>;

/// Section of another component. `console/page.js` renders it.
#[derive(Clone)]
pub struct Section {
    /// Name in the document and in paths.
    pub name: &'static str,
    /// Returns the state.
    pub state: StateFn,
}

pub(crate) struct Console {
    sections: Vec<Section>,
    requests: Arc<Requests>,
    env: Env,
    /// Permits for concurrent state streams.
    watchers: Arc<Semaphore>,
    disconnecting: CancellationToken,
}

/// Data sources of the built-in sections.
pub(crate) struct Sources<'a> {
    pub(crate) requests: &'a Arc<Requests>,
    pub(crate) metrics: &'a Arc<Metrics>,
    pub(crate) limiter: &'a Arc<RequestLimiter>,
    pub(crate) fairness: Option<&'a Arc<Fairness>>,
    /// Name of this server among its replicas.
    pub(crate) replica: &'a str,
    pub(crate) disconnecting: CancellationToken,
}

impl Console {
    /// Creates a console with the sources and with the sections in `others`.
    pub(crate) fn new(sources: Sources<'_>, others: &[Section], env: &Env) -> Arc<Self> {
        let Sources { requests, metrics, limiter, fairness, replica, disconnecting } = sources;
        let of = |name, state: StateFn| Section { name, state };
        let counted = Arc::clone(metrics);
        let clock = Arc::clone(&env.clock);
        let going = disconnecting.clone();
        let entered = Arc::clone(requests);
        let replica = replica.to_owned();
        let server: StateFn = Arc::new(move || {
            let mut state = server(&counted, &entered, clock.now().seconds, going.is_cancelled());
            state["replica"] = replica.as_str().into();
            state
        });
        let [under_way, watchers, failed] = [(); 3].map(|()| Arc::clone(requests));
        let limiter = Arc::clone(limiter);
        let fairness = fairness.cloned();
        let mut sections = vec![
            of("server", server),
            of("requests", Arc::new(move || under_way.active())),
            of("watchers", Arc::new(move || watchers.watchers())),
            of("flowControl", Arc::new(move || flow_control(&limiter, fairness.as_deref()))),
            of("failures", Arc::new(move || failed.failures())),
        ];
        sections.extend(others.iter().cloned());
        let watchers = Arc::new(Semaphore::new(stream::STREAMS_MAX));
        Arc::new(Console {
            sections,
            requests: Arc::clone(requests),
            env: env.clone(),
            watchers,
            disconnecting,
        })
    }

    /// Returns all sections as one document.
    fn state(&self) -> Value {
        let time = Value::from(self.env.clock.now().rfc3339());
        let mut state = Object::from_iter([("time".to_owned(), time)]);
        state.extend(self.sections.iter().map(|section| (section.name.to_owned(), (section.state)())));
        Value::Object(state)
    }
}

/// Routes of the page, its assets, the state, each section by name, and the stream. None is listed at `/`.
pub(crate) fn pages(console: &Arc<Console>) -> Pages {
    let [whole, part, past, live] = [(); 4].map(|()| Arc::clone(console));
    let state =
        async move |context: Context, headers: HeaderMap| document(&whole.state(), &context, &headers);
    let section = async move |Path(name): Path<String>, context: Context, headers: HeaderMap| match part
        .sections
        .iter()
        .find(|section| section.name == name)
    {
        Some(section) => document(&(section.state)(), &context, &headers),
        None => respond::not_found(),
    };
    let history = async move |context: Context, headers: HeaderMap| {
        document(&past.requests.history(), &context, &headers)
    };
    Pages::default()
        .add_unlisted("/debug/console/icon.svg", async || {
            asset("image/svg+xml", include_str!("console/icon.svg"))
        })
        .add_unlisted("/debug/console/history", history)
        .add_unlisted("/debug/console", async || {
            asset("text/html; charset=utf-8", include_str!("console/page.html"))
        })
        .add_unlisted("/debug/console/page.css", async || {
            asset("text/css; charset=utf-8", include_str!("console/page.css"))
        })
        .add_unlisted("/debug/console/page.js", async || {
            asset("text/javascript; charset=utf-8", include_str!("console/page.js"))
        })
        .add_unlisted("/debug/console/state", state)
        .add_unlisted("/debug/console/state/{section}", section)
        .add_unlisted("/debug/console/stream", async move || stream::handle(&live))
}

/// Asset of the page. Its policy allows only the page's own assets and no framing.
pub(crate) fn asset(media_type: &'static str, text: impl Into<Bytes>) -> Response {
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                          img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let mut response = respond::response(200, HeaderValue::from_static(media_type), text);
    let headers: [(HeaderName, &'static str); 4] = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (respond::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn document(value: &Value, context: &Context, headers: &HeaderMap) -> Response {
    let pretty = endpoints::negotiation::is_pretty(headers, context.query.first("pretty"));
    let encoded = if pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) };
    let mut body = encoded.unwrap_or_default();
    body.push(b'\n');
    respond::json(200, body)
}

/// Section for the process and its counters since the start.
fn server(metrics: &Metrics, requests: &Requests, now: i64, leaving: bool) -> Value {
    let (started, version) = metrics.started();
    json!({
        "version": version.git_version.as_str(),
        "uptimeSeconds": now.saturating_sub(started).max(0),
        "leaving": leaving,
        "connections": metrics.connections.get(),
        "requests": requests.started_count(),
        "cpuSeconds": process::cpu_seconds_so_far(),
        "recent": requests.summary(),
        "dropped": metrics.dropped.get(),
        "timeouts": metrics.timeouts.get(),
        "panics": metrics.panics.get(),
        "tlsHandshakeErrors": metrics.tls_handshake_errors.get(),
    })
}

/// Section for seats and queues by priority level, fullest first. Without priority and fairness, the number
/// of requests.
fn flow_control(limiter: &RequestLimiter, fairness: Option<&Fairness>) -> Value {
    let watermarks = limiter.watermarks();
    let watermarks = json!({
        "executing": { "readOnly": watermarks.executing.reading, "mutating": watermarks.executing.mutating },
        "waiting": { "readOnly": watermarks.waiting.reading, "mutating": watermarks.waiting.mutating },
    });
    let Some(fairness) = fairness else {
        return json!({ "fair": false, "lately": watermarks, "levels": [] });
    };
    let mut levels = fairness.levels(QUEUES_MAX);
    levels.sort_by_key(|level| (std::cmp::Reverse(level.waiting), std::cmp::Reverse(level.seats_in_use)));
    let total = levels.len();
    levels.truncate(ROWS_MAX);
    let levels: Vec<Value> = levels.iter().map(level).collect();
    json!({ "fair": true, "lately": watermarks, "total": total, "levels": levels })
}

fn level(state: &LevelState) -> Value {
    let queues = state.queues.iter().map(|queue| {
        json!({
            "index": queue.index,
            "waiting": queue.waiting,
            "executing": queue.executing,
            "seatsWaiting": queue.seats_waiting,
        })
    });
    json!({
        "name": text(&state.name),
        "exempt": state.exempt,
        "quiescing": state.quiescing,
        "seats": state.seats,
        "seatsInUse": state.seats_in_use,
        "seatsWaiting": state.seats_waiting,
        "executing": state.executing,
        "waiting": state.waiting,
        "dispatched": state.dispatched,
        "rejected": state.rejected,
        "cancelled": state.cancelled,
        "queues": queues.collect::<Vec<_>>(),
    })
}

/// Truncates a text from a client.
fn text(text: &str) -> Value {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => Value::from(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Value::from(text),
    }
}

#[cfg(test)]
mod tests;
