//! `/debug`: log verbosity and profiles (apiserver `server/routes/{flags,profiling}.go`).

mod profiles;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http_body_util::{BodyExt, Limited};

use apimachinery::go_quote::Quoted;
use endpoints::routing::dispatch::Response;

use crate::pages::Pages;
use crate::pages::console::Section;
use crate::respond;

/// Sets the log verbosity, like the flag `-v`.
pub type SetVerbosity = Arc<dyn Fn(i32) + Send + Sync>;

/// Maximum size of a verbosity request in bytes; large enough for a number.
const BODY_BYTES_MAX: usize = 64;

const FLAGS: &str = "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\n\
                     flags:<br>\n<table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n\
                     </html>\n";
/// Configuration of `/debug`.
#[derive(Clone)]
pub struct DebugPages {
    pub set_verbosity: SetVerbosity,
    /// Console sections of other components.
    pub sections: Vec<Section>,
    /// Name of this server among its replicas, for the console.
    pub replica: String,
}

impl DebugPages {
    /// Creates a configuration without additional sections.
    pub fn new(set_verbosity: SetVerbosity) -> Self {
        DebugPages { set_verbosity, sections: Vec::new(), replica: String::new() }
    }
}

/// Pages for `--profiling`; none is listed at `/`.
pub(crate) fn pages(debugging: &DebugPages) -> Pages {
    let set_verbosity = Arc::clone(&debugging.set_verbosity);
    let flags = async || html(FLAGS);
    let verbosity = async move |request: axum::extract::Request| verbosity(request, &set_verbosity).await;
    Pages::default()
        .add_unlisted("/debug/flags", flags)
        .add_unlisted("/debug/flags/", flags)
        .add_unlisted("/debug/flags/{*flag}", flags)
        .add_unlisted("/debug/flags/v", verbosity)
        .merge(profiles::pages())
}

/// PUT of a number sets the log verbosity.
async fn verbosity(request: axum::extract::Request, set: &SetVerbosity) -> Response {
    if request.method() != http::Method::PUT {
        return plain(406, "unsupported http method");
    }
    let body = match Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return plain(400, format!("error reading request body: {error}")),
    };
    let text = String::from_utf8_lossy(&body);
    match text.parse::<i32>() {
        Ok(level) => {
            set(level);
            plain(200, format!("successfully set klog.logging.verbosity to {text}"))
        }
        Err(_) => {
            let error = format!("strconv.ParseInt: parsing {}: invalid syntax", Quoted(&text));
            plain(400, format!("failed set klog.logging.verbosity {text}: {error}"))
        }
    }
}

fn plain(code: u16, text: impl Into<String>) -> Response {
    let mut response = respond::text(code, Bytes::from(text.into() + "\n"));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

fn html(text: &str) -> Response {
    let body = Bytes::copy_from_slice(text.as_bytes());
    let mut response = respond::response(200, HeaderValue::from_static("text/html; charset=utf-8"), body);
    response.headers_mut().insert(respond::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicI32, Ordering::SeqCst};

    use apimachinery::request_context::RequestContext;
    use apimachinery::request_info::RequestInfo;

    use super::*;

    async fn check(line: &str, body: &'static str, code: u16, text: &str) -> i32 {
        let level = Arc::new(AtomicI32::new(-1));
        let set = Arc::clone(&level);
        let pages = pages(&DebugPages::new(Arc::new(move |v| set.store(v, SeqCst)))).with_fallback();
        let (method, path) = line.split_once(' ').unwrap();
        let info = RequestInfo { path: path.to_owned(), ..RequestInfo::default() };
        let context = Arc::new(RequestContext { info, ..RequestContext::default() });
        let parts = http::Request::builder().method(method).body(()).unwrap().into_parts().0;
        let response = pages.handle(parts, respond::full(body), context).await;
        let got = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!((got, String::from_utf8(body.to_vec()).unwrap().as_str()), (code, text), "{line}");
        level.load(SeqCst)
    }

    #[tokio::test]
    async fn only_put_sets_log_verbosity() {
        let set = "successfully set klog.logging.verbosity to 5\n";
        assert_eq!(check("PUT /debug/flags/v", "5", 200, set).await, 5);
        let failed = "failed set klog.logging.verbosity x: strconv.ParseInt: parsing \"x\": invalid syntax\n";
        assert_eq!(check("PUT /debug/flags/v", "x", 400, failed).await, -1);
        assert_eq!(check("GET /debug/flags/v", "5", 406, "unsupported http method\n").await, -1);
        assert_eq!(check("PUT /debug/flags/x", "5", 200, FLAGS).await, -1);
    }

    #[tokio::test]
    async fn unsupported_go_profiles_are_not_found() {
        check("GET /debug/pprof", "", 302, "<a href=\"/debug/pprof/\">Found</a>.\n\n").await;
        check("GET /debug/pprof/symbol", "", 200, "num_symbols: 0\n").await;
        check("GET /debug/pprof/mutex", "", 404, "Unknown profile\n").await;
        check("GET /debug/pprof/cmdline", "", 404, "Unknown profile\n").await;
        check("GET /debug", "", 404, "404 page not found\n").await;
    }
}
