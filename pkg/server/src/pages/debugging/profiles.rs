//! `/debug/pprof` (apiserver `server/routes/profiling.go`, Go's `net/http/pprof`): CPU and heap profiles for
//! `go tool pprof`.
//!
//! Of Go's other profiles, `goroutine` and `threadcreate` return the list of threads, as text only. The rest
//! have no equivalent here.

use std::fmt::Write;
use std::fs;
use std::time::Duration;

use endpoints::routing::dispatch::Response;
use http::header::{CONTENT_DISPOSITION, HeaderName, HeaderValue, LOCATION};

use crate::pages::{Context, Pages, console};
use crate::respond;

const GO_PPROF: HeaderName = HeaderName::from_static("x-go-pprof");

const INDEX: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n\
                     <h1>/debug/pprof/</h1>\n<ul>\n\
                     <li><a href=\"profile\">profile</a>: where the processor's time goes; \
                     <code>?seconds=</code> says for how long, 30 unless told</li>\n\
                     <li><a href=\"flamegraph?seconds=10\">flamegraph</a>: the same for 10 seconds, as an image</li>\n\
                     <li><a href=\"heap\">heap</a>: what keeps the memory \
                     (<a href=\"heap?debug=1\">as text</a>)</li>\n\
                     <li><a href=\"goroutine?debug=1\">goroutine</a>: there are none; the threads of the process</li>\n\
                     </ul>\n<p>What is under way: <a href=\"../console\">/debug/console</a>.</p>\n</body>\n</html>\n";

/// Default duration of a CPU profile, as in Go's handler.
const DURATION: Duration = Duration::from_secs(30);

/// Pages under `/debug/pprof`.
pub(super) fn pages() -> Pages {
    Pages::default()
        .add_unlisted("/debug/pprof", async || redirect("/debug/pprof/"))
        .add_unlisted("/debug/pprof/", async || super::html(INDEX))
        .add_unlisted("/debug/pprof/profile", async |context: Context| cpu_profile(&context).await)
        .add_unlisted("/debug/pprof/flamegraph", async |context: Context| flame_graph(&context).await)
        .add_unlisted("/debug/pprof/heap", async |context: Context| heap(&context).await)
        // Go's tool requests the number of known symbols.
        .add_unlisted("/debug/pprof/symbol", async || respond::text(200, "num_symbols: 0\n"))
        .add_unlisted("/debug/pprof/goroutine", async |context: Context| threads(&context))
        .add_unlisted("/debug/pprof/threadcreate", async |context: Context| threads(&context))
        .add_unlisted("/debug/pprof/{*profile}", async || error_response(404, "Unknown profile"))
}

/// True if human-readable output is requested (`?debug=1`).
fn is_text(context: &Context) -> bool {
    context.query.first("debug").is_some_and(|debug| debug.parse::<u32>().is_ok_and(|debug| debug > 0))
}

/// Returns the requested duration of a CPU profile; `None` if it is too long.
fn duration(context: &Context) -> Option<Duration> {
    let seconds = context.query.first("seconds").and_then(|seconds| seconds.parse::<u64>().ok());
    let duration = seconds.filter(|seconds| *seconds > 0).map_or(DURATION, Duration::from_secs);
    (duration <= profiling::DURATION_MAX).then_some(duration)
}

fn too_long() -> Response {
    let seconds_max = profiling::DURATION_MAX.as_secs();
    error_response(400, &format!("a profile of the processor takes {seconds_max} seconds at most"))
}

async fn cpu_profile(context: &Context) -> Response {
    let Some(duration) = duration(context) else { return too_long() };
    match profiling::processor(duration).await {
        Ok(profile) => file("profile", profile),
        Err(error) => error_response(500, &format!("Could not enable CPU profiling: {error}")),
    }
}

async fn flame_graph(context: &Context) -> Response {
    let Some(duration) = duration(context) else { return too_long() };
    match profiling::flame_graph(duration).await {
        Ok(svg) => console::asset("image/svg+xml", svg),
        Err(error) => error_response(500, &format!("no flame graph: {error}")),
    }
}

async fn heap(context: &Context) -> Response {
    let text = is_text(context);
    let response = match profiling::heap().await {
        Ok(heap) if text => heap.text().map(|text| respond::text(200, text)),
        Ok(heap) => heap.encoded().map(|profile| file("heap", profile)),
        Err(error) => Err(error),
    };
    response.unwrap_or_else(|error| error_response(500, &format!("no profile of the heap: {error}")))
}

/// Response with a binary file for download.
fn file(name: &str, content: Vec<u8>) -> Response {
    let mut response = respond::response(200, HeaderValue::from_static("application/octet-stream"), content);
    let headers = response.headers_mut();
    headers.insert(respond::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(disposition) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, disposition);
    }
    response
}

fn error_response(code: u16, message: &str) -> Response {
    let mut response = respond::text(code, format!("{message}\n"));
    // Go's handlers mark errors with this header.
    response.headers_mut().insert(GO_PPROF, HeaderValue::from_static("1"));
    response
}

fn redirect(location: &'static str) -> Response {
    let body = format!("<a href=\"{location}\">Found</a>.\n\n");
    let mut response = respond::response(302, HeaderValue::from_static("text/html; charset=utf-8"), body);
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(location));
    response
}

/// Lists the threads of the process with their states and CPU times in hundredths of a second. Text only.
fn threads(context: &Context) -> Response {
    if !is_text(context) {
        return error_response(404, "Unknown profile");
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
