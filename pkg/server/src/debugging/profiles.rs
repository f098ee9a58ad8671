//! `/debug/pprof`: profiles of this process in the form that `go tool pprof` reads (apiserver `server/routes/profiling.go`,
//! Go's `net/http/pprof`).
//!
//! Of Go's profiles there are the two that mean something here: where time goes, and who holds memory. `goroutine` and
//! `threadcreate` are answered with the threads that there are, as text alone.

use std::fmt::Write;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use apimachinery::go_quote::Quoted;
use bytes::Bytes;
use endpoints::dispatch::Response;
use futures::future::BoxFuture;
use http::header::{CONTENT_DISPOSITION, HeaderName, HeaderValue, LOCATION};
use tokio::sync::Semaphore;

use crate::pages::{Context, Pages};
use crate::respond;

/// A profile as gzipped `profile.proto`.
pub type Profile = Result<Bytes, String>;

/// What takes profiles of this process. One is taken at a time.
pub trait Profiles: Send + Sync + 'static {
    /// Where processors spend their time for so long.
    fn cpu(&self, time: Duration) -> BoxFuture<'static, Profile>;

    /// Who holds memory that was allocated within so long and is still held then; where sampling has been on since the
    /// start, who holds any.
    fn heap(&self, time: Duration) -> BoxFuture<'static, Profile>;

    /// What the allocator has, in bytes: names and figures.
    fn allocator(&self) -> Vec<(&'static str, u64)>;
}

/// How long a profile takes if nobody says, in seconds: Go's 30 for processors; memory is asked for without a time.
const CPU_SECONDS: u64 = 30;
const HEAP_SECONDS: u64 = 10;
/// No profile takes longer.
const SECONDS_MAX: u64 = 300;

const GO_PPROF: HeaderName = HeaderName::from_static("x-go-pprof");

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n\
                    <h1>/debug/pprof/</h1>\n<ul>\n";
const TAKEN: &str = "<li><a href=\"profile?seconds=10\">profile</a>: where processors spend their time, for \
                     <code>?seconds=</code> (30)</li>\n\
                     <li><a href=\"heap?seconds=10\">heap</a>: who holds what was allocated within \
                     <code>?seconds=</code> (10); <a href=\"heap?debug=1\">what the allocator has</a></li>\n";
const END: &str = "<li><a href=\"goroutine?debug=1\">goroutine</a>: there are none; the threads of the process</li>\n\
                   </ul>\n<p>What is under way: <a href=\"../console\">/debug/console</a>.</p>\n</body>\n</html>\n";

/// Under `/debug/pprof`.
pub(super) fn pages(profiles: Option<&Arc<dyn Profiles>>) -> Pages {
    let one_at_a_time = Arc::new(Semaphore::new(1));
    let taken = if profiles.is_some() { TAKEN } else { "" };
    let pages = Pages::default()
        .unlisted("/debug/pprof", async || moved("/debug/pprof/"))
        .unlisted("/debug/pprof/", async move || super::html(&[HEAD, taken, END].concat()))
        // Go's handlers are asked what they know of addresses; here profiles come with names.
        .unlisted("/debug/pprof/symbol", async || respond::text(200, "num_symbols: 0\n"))
        .unlisted("/debug/pprof/goroutine", async |context: Context| threads(&context))
        .unlisted("/debug/pprof/threadcreate", async |context: Context| threads(&context))
        .unlisted("/debug/pprof/{*profile}", async || unknown());
    let Some(profiles) = profiles else { return pages };
    let (cpu, heap, turn) = (Arc::clone(profiles), Arc::clone(profiles), Arc::clone(&one_at_a_time));
    pages
        .unlisted("/debug/pprof/profile", async move |context: Context| {
            let Ok(seconds) = seconds(&context, CPU_SECONDS) else { return invalid() };
            take("profile", &turn, || cpu.cpu(seconds)).await
        })
        .unlisted("/debug/pprof/heap", async move |context: Context| {
            if is_text(&context) {
                return respond::text(200, allocator(&heap.allocator()));
            }
            let Ok(seconds) = seconds(&context, HEAP_SECONDS) else { return invalid() };
            take("heap", &one_at_a_time, || heap.heap(seconds)).await
        })
}

/// Whether something for people is wanted (`?debug=1`).
fn is_text(context: &Context) -> bool {
    context.query.first("debug").is_some_and(|debug| debug.parse::<u32>().is_ok_and(|debug| debug > 0))
}

/// For how long a profile is to be taken.
fn seconds(context: &Context, usual: u64) -> Result<Duration, ()> {
    match context.query.first("seconds") {
        None | Some("" | "0") => Ok(Duration::from_secs(usual)),
        Some(text) => match text.parse() {
            Ok(seconds @ 1..=SECONDS_MAX) => Ok(Duration::from_secs(seconds)),
            _ => Err(()),
        },
    }
}

async fn take(
    name: &str,
    one_at_a_time: &Semaphore,
    profile: impl FnOnce() -> BoxFuture<'static, Profile>,
) -> Response {
    let Ok(_turn) = one_at_a_time.try_acquire() else {
        let text = "Could not enable profiling: another profile is being taken\n";
        return respond::text(500, text);
    };
    match profile().await {
        Ok(profile) => {
            let mut response =
                respond::response(200, HeaderValue::from_static("application/octet-stream"), profile);
            let name = format!("attachment; filename=\"{name}\"");
            if let Ok(name) = HeaderValue::try_from(name) {
                response.headers_mut().insert(CONTENT_DISPOSITION, name);
            }
            let nosniff = HeaderValue::from_static("nosniff");
            response.headers_mut().insert(respond::X_CONTENT_TYPE_OPTIONS, nosniff);
            response
        }
        Err(error) => failed(500, format!("Could not enable profiling: {error}\n")),
    }
}

fn invalid() -> Response {
    failed(400, format!("{} is from 1 to {SECONDS_MAX}\n", Quoted("seconds")))
}

fn unknown() -> Response {
    failed(404, "Unknown profile\n".to_owned())
}

/// As Go's handlers say that something is wrong.
fn failed(code: u16, text: String) -> Response {
    let mut response = respond::text(code, text);
    response.headers_mut().insert(GO_PPROF, HeaderValue::from_static("1"));
    response
}

fn moved(location: &'static str) -> Response {
    let body = format!("<a href=\"{location}\">Found</a>.\n\n");
    let mut response = respond::response(302, HeaderValue::from_static("text/html; charset=utf-8"), body);
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(location));
    response
}

fn allocator(figures: &[(&'static str, u64)]) -> String {
    let mut text = "what the allocator has, in bytes; ?seconds=10 without debug is a profile\n".to_owned();
    for (name, bytes) in figures {
        let _ = writeln!(text, "{name}: {bytes}");
    }
    text
}

/// The threads of the process with their states and the time that they took, in hundredths of seconds. Only as text.
fn threads(context: &Context) -> Response {
    if !is_text(context) {
        return unknown();
    }
    let mut text =
        "there are no goroutines; threads, their states, and their user and system time in 10 ms\n"
            .to_owned();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    for stat in tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok()) {
        // ID (NAME) STATE …; user and system time are fields 14 and 15.
        let Some((head, rest)) = stat.rsplit_once(") ") else { continue };
        let fields: Vec<&str> = rest.split(' ').collect();
        if let [state, _, _, _, _, _, _, _, _, _, _, user, system, ..] = fields.as_slice() {
            let _ = writeln!(text, "{head}) {state} {user} {system}");
        }
    }
    respond::text(200, text)
}
