//! Errors of requests.

use std::io;

use http::{Method, Uri};

/// Error of a request. The text equals that of Go's client after `Get "URL": `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, a certificate, a key or a token is unusable.
    #[error("{0}")]
    Credentials(String),
    /// Connecting failed or timed out.
    #[error("{0}")]
    Connect(String),
    /// The total timeout expired.
    #[error("context deadline exceeded")]
    Timeout,
    /// The server closed the connection before it responded.
    #[error("EOF")]
    Closed,
    /// The server reported that it did not process the request, so any request can be retried.
    #[error("{0}")]
    NotProcessed(String),
    /// The response body exceeds the limit.
    #[error("response body is larger than {0} bytes")]
    TooLarge(usize),
    /// A redirect that must not be followed, or too many redirects.
    #[error("{0}")]
    Redirect(String),
    /// The response is not valid HTTP, or the connection broke.
    #[error("{0}")]
    Http(String),
}

impl Error {
    /// Formats the error like Go's client: `Get "https://host/": EOF`.
    pub fn of_request(&self, method: &Method, uri: &Uri) -> String {
        let method = method.as_str().to_ascii_lowercase();
        let (first, rest) = method.split_at(method.len().min(1));
        format!("{}{rest} \"{uri}\": {self}", first.to_ascii_uppercase())
    }

    /// Converts an error that occurred before the response.
    pub(crate) fn before_response(error: &hyper::Error) -> Self {
        if was_not_processed(error) {
            return Error::NotProcessed(causes(error));
        }
        if is_unexpected_eof(error) { Error::Closed } else { Error::of_hyper(error) }
    }

    /// Converts a connection error.
    pub(crate) fn of_hyper(error: &hyper::Error) -> Self {
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            return Error::Closed;
        }
        if error.is_parse_too_large() {
            return Error::Http("net/http: server response headers exceeded their limit; aborted".to_owned());
        }
        if is_unexpected_eof(error) {
            return Error::Http("unexpected EOF".to_owned());
        }
        Error::Http(causes(error))
    }
}

/// Returns true if HTTP/2 guarantees that the server did not process a request (RFC 9113, 6.8 and 8.7): its
/// stream is beyond the last one of a GOAWAY, or was refused. `h2` reports a GOAWAY to those streams only;
/// earlier ones stay open, and fail with their connection.
fn was_not_processed(error: &dyn std::error::Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut found = causes.filter_map(|cause| cause.downcast_ref::<h2::Error>());
    found.any(|error| {
        let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (error.is_go_away() || refused)
    })
}

/// Returns true if the connection ended in the middle of a body.
fn is_unexpected_eof(error: &dyn std::error::Error) -> bool {
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof)
    })
}

/// Formats an error with its causes, which hyper omits.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_errors_equal_gos() {
        let check = |method: Method, uri: &'static str, error: Error, expected: &str| {
            assert_eq!(error.of_request(&method, &Uri::from_static(uri)), expected);
        };
        check(Method::GET, "https://h:1/a?b", Error::Closed, "Get \"https://h:1/a?b\": EOF");
        check(Method::POST, "http://h/", Error::Timeout, "Post \"http://h/\": context deadline exceeded");
    }
}
