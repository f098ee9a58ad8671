//! Errors of requests.

use std::fmt::{self, Display};
use std::io;

use apimachinery::foreign_text::ForeignText;
use http::{Method, Uri};

/// Error of a request. The text equals that of Go's client after `Get "URL": `. Parts of it come from the server,
/// so it is bounded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, a certificate, a key or a token is unusable.
    #[error("{0}")]
    Credentials(ForeignText),
    /// Connecting failed or timed out.
    #[error("{0}")]
    Connect(ForeignText),
    /// The total timeout expired.
    #[error("context deadline exceeded")]
    Timeout,
    /// The server closed the connection before it responded.
    #[error("EOF")]
    Closed,
    /// The server reported that it did not process the request, so any request can be retried.
    #[error("{0}")]
    NotProcessed(ForeignText),
    /// The response body exceeds the limit.
    #[error("response body is larger than {0} bytes")]
    TooLarge(usize),
    /// A redirect that must not be followed, or too many redirects.
    #[error("{0}")]
    Redirect(ForeignText),
    /// The response is not valid HTTP, or the connection broke.
    #[error("{0}")]
    Http(ForeignText),
}

impl Error {
    /// Creates [`Error::Credentials`].
    pub fn credentials(text: impl Into<ForeignText>) -> Self {
        Error::Credentials(text.into())
    }

    /// Creates [`Error::Connect`].
    pub fn connect(text: impl Into<ForeignText>) -> Self {
        Error::Connect(text.into())
    }

    /// Creates [`Error::NotProcessed`].
    pub(crate) fn not_processed(text: impl Into<ForeignText>) -> Self {
        Error::NotProcessed(text.into())
    }

    /// Creates [`Error::Redirect`].
    pub(crate) fn redirect(text: impl Into<ForeignText>) -> Self {
        Error::Redirect(text.into())
    }

    /// Creates [`Error::Http`].
    pub fn http(text: impl Into<ForeignText>) -> Self {
        Error::Http(text.into())
    }

    /// Formats the error like Go's client: `Get "https://host/": EOF`.
    pub fn of_request(&self, method: &Method, uri: &Uri) -> String {
        let method = method.as_str().to_ascii_lowercase();
        let (first, rest) = method.split_at(method.len().min(1));
        format!("{}{rest} \"{uri}\": {self}", first.to_ascii_uppercase())
    }

    /// Converts an error that occurred before the response.
    pub(crate) fn before_response(error: &hyper::Error) -> Self {
        if was_not_processed(error) {
            return Error::not_processed(causes(error));
        }
        if is_unexpected_eof(error) { Error::Closed } else { Error::of_hyper(error) }
    }

    /// Converts a connection error.
    pub(crate) fn of_hyper(error: &hyper::Error) -> Self {
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            return Error::Closed;
        }
        if error.is_parse_too_large() {
            return Error::http("net/http: server response headers exceeded their limit; aborted".to_owned());
        }
        if is_unexpected_eof(error) {
            return Error::http("unexpected EOF".to_owned());
        }
        Error::http(causes(error))
    }
}

/// Returns true if HTTP/2 guarantees that the server did not process a request (RFC 9113, 6.8 and 8.7): its
/// stream is beyond the last one of a GOAWAY, or was refused. `h2` reports a GOAWAY to those streams only;
/// earlier ones stay open, and fail with their connection.
fn was_not_processed(error: &dyn std::error::Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut http2_errors = causes.filter_map(|cause| cause.downcast_ref::<h2::Error>());
    http2_errors.any(|error| {
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

/// True if a connection ended or was reset before a response, as opposed to an invalid response.
pub(crate) fn is_connection_loss(error: &dyn std::error::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.any(|cause| {
        let hyper = cause.downcast_ref::<hyper::Error>();
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        hyper.is_some_and(|error| error.is_incomplete_message() || error.is_closed() || error.is_canceled())
            || matches!(io, Some(BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof))
    })
}

/// Formats an error with its causes, which hyper omits. They can quote a server, such as the debug data of an
/// HTTP/2 GOAWAY.
fn causes(error: &dyn std::error::Error) -> ForeignText {
    struct Causes<'e>(&'e dyn std::error::Error);
    impl Display for Causes<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}", self.0)?;
            std::iter::successors(self.0.source(), |cause| cause.source())
                .try_for_each(|cause| write!(f, ": {cause}"))
        }
    }
    ForeignText::displayed(Causes(error))
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
