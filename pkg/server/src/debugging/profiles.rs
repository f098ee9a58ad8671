//! `/debug/pprof` (apiserver `server/routes/profiling.go`, Go's `net/http/pprof`): no profile of Go's has a counterpart here.
//! `goroutine` and `threadcreate` are answered with the threads that there are, as text alone.

use std::fmt::Write;
use std::fs;

use endpoints::dispatch::Response;
use http::header::{HeaderName, HeaderValue, LOCATION};

use crate::pages::{Context, Pages};
use crate::respond;

const GO_PPROF: HeaderName = HeaderName::from_static("x-go-pprof");

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n\
                    <h1>/debug/pprof/</h1>\n<ul>\n";
const END: &str = "<li><a href=\"goroutine?debug=1\">goroutine</a>: there are none; the threads of the process</li>\n\
                   </ul>\n<p>What is under way: <a href=\"../console\">/debug/console</a>.</p>\n</body>\n</html>\n";

/// Under `/debug/pprof`.
pub(super) fn pages() -> Pages {
    Pages::default()
        .unlisted("/debug/pprof", async || moved("/debug/pprof/"))
        .unlisted("/debug/pprof/", async || super::html(&[HEAD, END].concat()))
        // Go's handlers are asked what they know of addresses.
        .unlisted("/debug/pprof/symbol", async || respond::text(200, "num_symbols: 0\n"))
        .unlisted("/debug/pprof/goroutine", async |context: Context| threads(&context))
        .unlisted("/debug/pprof/threadcreate", async |context: Context| threads(&context))
        .unlisted("/debug/pprof/{*profile}", async || unknown())
}

/// Whether something for people is wanted (`?debug=1`).
fn is_text(context: &Context) -> bool {
    context.query.first("debug").is_some_and(|debug| debug.parse::<u32>().is_ok_and(|debug| debug > 0))
}

fn unknown() -> Response {
    let mut response = respond::text(404, "Unknown profile\n");
    // As Go's handlers say that something is wrong.
    response.headers_mut().insert(GO_PPROF, HeaderValue::from_static("1"));
    response
}

fn moved(location: &'static str) -> Response {
    let body = format!("<a href=\"{location}\">Found</a>.\n\n");
    let mut response = respond::response(302, HeaderValue::from_static("text/html; charset=utf-8"), body);
    response.headers_mut().insert(LOCATION, HeaderValue::from_static(location));
    response
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
