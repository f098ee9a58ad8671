//! Requests whose responses are read completely.

use std::time::Duration;

use apimachinery::foreign_text::{FOREIGN_TEXT_BYTES_MAX, ForeignText};
use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, LOCATION};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use tokio::time::timeout;

use crate::client::{Body, BoxError, Client};
use crate::error::Error;
use crate::redirect::CrossOriginRedirect;

/// Limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Total time, from connecting to the last byte.
    pub total: Duration,
    /// Maximum size of the response body in bytes.
    pub response_bytes_max: usize,
    /// Maximum number of redirects that a GET or HEAD follows. With zero, a redirect is the response.
    pub redirects_max: usize,
}

impl Client {
    /// Sends a request for an absolute URL and reads the whole response. Of a text that explains a failure, only
    /// the first [`FOREIGN_TEXT_BYTES_MAX`] bytes are read.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn call(&self, request: Request<Bytes>, limits: &Limits) -> Result<Response<Bytes>, Error> {
        timeout(limits.total, self.follow_redirects(request, limits)).await.unwrap_or(Err(Error::Timeout))
    }

    async fn follow_redirects(
        &self,
        mut request: Request<Bytes>,
        limits: &Limits,
    ) -> Result<Response<Bytes>, Error> {
        let repeatable = matches!(*request.method(), Method::GET | Method::HEAD);
        for _ in 0..=limits.redirects_max {
            let response = self.send_and_read(&request).await?;
            let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
            let location = response.headers().get(LOCATION);
            let Some(location) = location.filter(|_| redirects && repeatable && limits.redirects_max > 0)
            else {
                let (head, body) = response.into_parts();
                let body = if is_error_page(head.status, &head.headers) {
                    start(body).await.map_err(of_body)?
                } else {
                    read_body(body, limits.response_bytes_max).await?
                };
                return Ok(Response::from_parts(head, body));
            };
            let location = target(request.uri(), location.to_str().unwrap_or_default())?;
            if is_cross_origin(request.uri(), &location) {
                // Credentials for one host must not be sent to another one, nor over plain text.
                request.headers_mut().remove(AUTHORIZATION);
                request.headers_mut().remove(HOST);
                request.extensions_mut().insert(CrossOriginRedirect);
            }
            *request.uri_mut() = location;
        }
        Err(Error::redirect(format!("stopped after {} redirects", limits.redirects_max)))
    }
}

/// Returns true if a redirect changes scheme or host.
fn is_cross_origin(from: &Uri, to: &Uri) -> bool {
    (from.scheme(), from.authority()) != (to.scheme(), to.authority())
}

/// Resolves the location of a redirect from `base`.
fn target(base: &Uri, location: &str) -> Result<Uri, Error> {
    let scheme = base.scheme_str().unwrap_or("https");
    let authority = base.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    let location = location.split('#').next().unwrap_or_default();
    let absolute = match location {
        _ if location.contains("://") => location.to_owned(),
        _ if location.starts_with("//") => format!("{scheme}:{location}"),
        _ if location.starts_with('/') => format!("{scheme}://{authority}{location}"),
        _ => {
            let directory = base.path().rsplit_once('/').map_or("", |(directory, _)| directory);
            format!("{scheme}://{authority}{directory}/{location}")
        }
    };
    let bad = || Error::redirect(format!("failed to parse Location header {location:?}"));
    Uri::try_from(absolute).map_err(|_| bad())
}

/// True for text that explains a failure. Callers show its start and decode nothing from it.
fn is_error_page(code: StatusCode, headers: &HeaderMap) -> bool {
    let text = headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/"));
    text && !code.is_success()
}

/// Reads the start of a body for a message, and drops the rest unread.
///
/// # Errors
/// The connection broke.
pub async fn failure_text(body: Body) -> Result<ForeignText, BoxError> {
    Ok(ForeignText::from_bytes(&start(body).await?))
}

/// Reads at most as many bytes as a message keeps.
async fn start(mut body: Body) -> Result<Bytes, BoxError> {
    let mut read = BytesMut::new();
    while read.len() < FOREIGN_TEXT_BYTES_MAX
        && let Some(frame) = body.frame().await
    {
        if let Ok(data) = frame?.into_data() {
            let remaining = FOREIGN_TEXT_BYTES_MAX.saturating_sub(read.len());
            read.extend_from_slice(data.get(..remaining).unwrap_or(&data));
        }
    }
    Ok(read.freeze())
}

/// Reads a whole body.
async fn read_body(mut body: Body, max: usize) -> Result<Bytes, Error> {
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(of_body)?;
        if let Ok(data) = frame.into_data() {
            if read.len().saturating_add(data.len()) > max {
                return Err(Error::TooLarge(max));
            }
            read.extend_from_slice(&data);
        }
    }
    Ok(read.freeze())
}

fn of_body(error: BoxError) -> Error {
    match error.downcast::<hyper::Error>() {
        Ok(error) if error.is_incomplete_message() => Error::http("unexpected EOF".to_owned()),
        Ok(error) => Error::of_hyper(&error),
        Err(error) => Error::http(error.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn token_is_not_sent_cross_origin() {
        let check = |to: &'static str, expected: bool| {
            let from = Uri::from_static("https://h/a");
            assert_eq!(is_cross_origin(&from, &Uri::from_static(to)), expected, "{to}");
        };
        check("https://h/b", false);
        check("https://h:1/a", true);
        check("https://i/a", true);
        check("http://h/a", true);
    }

    #[test]
    fn redirect_targets_equal_gos() {
        let base = Uri::from_static("https://h:1/a/b?c");
        let check = |location: &str, expected: &str| {
            assert_eq!(target(&base, location).unwrap().to_string(), expected, "{location}");
        };
        check("https://other/x", "https://other/x");
        check("//other/x", "https://other/x");
        check("/x?y#z", "https://h:1/x?y");
        check("x", "https://h:1/a/x");
        assert!(target(&base, "https://").is_err());
    }
}
