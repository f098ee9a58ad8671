//! Why a request has no answer.

use std::io;

use http::{Method, Uri};

/// Why a request has no answer. The text is what Go's client says after `Get "URL": `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, a certificate, a key or a token cannot be used.
    #[error("{0}")]
    Credentials(String),
    /// There is no way to the other end, or none was found in time.
    #[error("{0}")]
    Connect(String),
    /// The total time is over.
    #[error("context deadline exceeded")]
    Timeout,
    /// The other end hung up before it answered.
    #[error("EOF")]
    Closed,
    /// The other end did not look at the request, and said so: it may be sent again, whatever it asks for.
    #[error("{0}")]
    NotProcessed(String),
    /// The answer's body is larger than it may be.
    #[error("response body is larger than {0} bytes")]
    TooLarge(usize),
    /// A redirect that must not be followed, or one too many.
    #[error("{0}")]
    Redirect(String),
    /// What came is no HTTP, or the connection broke.
    #[error("{0}")]
    Http(String),
}

impl Error {
    /// The text that Go's client has for a failed request: `Get "https://host/": EOF`.
    pub fn of_request(&self, method: &Method, uri: &Uri) -> String {
        let method = method.as_str().to_ascii_lowercase();
        let (first, rest) = method.split_at(method.len().min(1));
        format!("{}{rest} \"{uri}\": {self}", first.to_ascii_uppercase())
    }

    /// What went wrong before an answer began.
    pub(crate) fn before_answer(error: &hyper::Error) -> Self {
        if was_not_processed(error) {
            return Error::NotProcessed(causes(error));
        }
        if is_cut_off(error) { Error::Closed } else { Error::of_hyper(error) }
    }

    /// What went wrong on a connection.
    pub(crate) fn of_hyper(error: &hyper::Error) -> Self {
        if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
            return Error::Closed;
        }
        if error.is_parse_too_large() {
            return Error::Http("net/http: server response headers exceeded their limit; aborted".to_owned());
        }
        if is_cut_off(error) {
            return Error::Http("unexpected EOF".to_owned());
        }
        Error::Http(causes(error))
    }
}

/// Whether HTTP/2 says that the other end did nothing about a request (RFC 9113, 6.8 and 8.7): its stream is beyond
/// the last one of a GOAWAY, or was refused. `h2` gives the error of a GOAWAY to those streams alone; the ones
/// before stay open, and fail with their connection.
fn was_not_processed(error: &dyn std::error::Error) -> bool {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    let mut found = causes.filter_map(|cause| cause.downcast_ref::<h2::Error>());
    found.any(|error| {
        let refused = error.is_reset() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        error.is_remote() && (error.is_go_away() || refused)
    })
}

/// Whether the connection ended in the middle of a body.
fn is_cut_off(error: &dyn std::error::Error) -> bool {
    let mut causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|io| io.kind() == io::ErrorKind::UnexpectedEof)
    })
}

/// An error with its causes, which hyper leaves out of its texts.
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
    fn a_failed_request_is_told_as_go_tells_it() {
        let check = |method: Method, uri: &'static str, error: Error, expected: &str| {
            assert_eq!(error.of_request(&method, &Uri::from_static(uri)), expected);
        };
        check(Method::GET, "https://h:1/a?b", Error::Closed, "Get \"https://h:1/a?b\": EOF");
        check(Method::POST, "http://h/", Error::Timeout, "Post \"http://h/\": context deadline exceeded");
    }
}
