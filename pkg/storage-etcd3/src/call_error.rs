//! Classification of etcd failures: the [`storage::Error`], the possibility of a retry, and the
//! responsibility of the member.
//!
//! Codes and texts are those of etcd's `rpctypes`. gRPC codes alone are ambiguous, because etcd uses
//! `OutOfRange` for both compacted and future revisions, and `Unavailable` for most other failures.

use std::error::Error as _;

use apimachinery::foreign_text::ForeignText;
use storage::Error;
use tonic::{Code, ConnectError, Status};

use crate::range_check::RangeError;

/// A failed call, by the possible reaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallError {
    /// The requested revision is compacted.
    Compacted,
    /// The requested revision does not exist yet.
    FutureRevision,
    /// The lease of a put does not exist. The put did not happen.
    LeaseNotFound,
    /// There was no connection: the call was not sent.
    NotSent(ForeignText),
    /// The member did not serve the call; it may or may not have had an effect.
    Unavailable(ForeignText),
    /// The cluster responded but cannot serve the call now (leader election, overload).
    TryLater(ForeignText),
    /// The request is invalid; it had no effect.
    Rejected(ForeignText),
    /// The member does not have the method.
    Unimplemented(ForeignText),
    /// The member returned a list that cannot be correct.
    Malformed(RangeError),
    /// Any other failure.
    Internal(ForeignText),
}

impl CallError {
    /// Creates [`CallError::Unavailable`].
    pub(crate) fn unavailable(text: impl Into<ForeignText>) -> Self {
        CallError::Unavailable(text.into())
    }

    /// Creates [`CallError::Internal`].
    pub(crate) fn internal(text: impl Into<ForeignText>) -> Self {
        CallError::Internal(text.into())
    }

    /// True if a call may be repeated. Idempotent calls may after any temporary failure, writes only if they
    /// certainly were not sent.
    pub(crate) fn may_retry(&self, idempotent: bool) -> bool {
        match self {
            CallError::NotSent(_) => true,
            CallError::Unavailable(_) | CallError::TryLater(_) => idempotent,
            _ => false,
        }
    }

    /// True if a write with this failure may have happened, or may still happen.
    pub(crate) fn is_outcome_unknown(&self) -> bool {
        matches!(self, CallError::Unavailable(_) | CallError::TryLater(_) | CallError::Internal(_))
    }

    /// True if the member should be marked suspect until it responds again.
    pub(crate) fn blames_member(&self) -> bool {
        matches!(self, CallError::NotSent(_) | CallError::Unavailable(_) | CallError::Malformed(_))
    }

    /// The contract's error. Callers with more information handle future and compacted revisions themselves.
    pub(crate) fn into_error(self) -> Error {
        match self {
            CallError::Compacted => Error::Compacted { oldest: 0 },
            CallError::FutureRevision => Error::FutureRevision { requested: 0, current: 0 },
            CallError::LeaseNotFound => Error::Unavailable("the lease expired before its use".to_owned()),
            CallError::NotSent(why) | CallError::Unavailable(why) | CallError::TryLater(why) => {
                Error::Unavailable(why.into())
            }
            CallError::Rejected(why) | CallError::Unimplemented(why) => Error::Rejected(why.into()),
            CallError::Malformed(error) => Error::Internal(error.to_string()),
            CallError::Internal(why) => Error::Internal(why.into()),
        }
    }
}

impl From<etcd_client::Error> for CallError {
    fn from(error: etcd_client::Error) -> Self {
        match error {
            etcd_client::Error::GRpcStatus(status) => CallError::from(&status),
            etcd_client::Error::IoError(e) => CallError::unavailable(e.to_string()),
            etcd_client::Error::TransportError(e) => CallError::unavailable(e.to_string()),
            etcd_client::Error::WatchError(e) => CallError::unavailable(e),
            other => CallError::internal(other.to_string()),
        }
    }
}

impl From<&Status> for CallError {
    fn from(status: &Status) -> Self {
        // A status with a source was created locally: the transport failed, and etcd did not respond.
        match causes(status).find_map(|cause| cause.downcast_ref::<ConnectError>()) {
            Some(_) => CallError::NotSent(describe(status)),
            None if status.source().is_some() => CallError::Unavailable(describe(status)),
            None => classify(status.code(), message(status)),
        }
    }
}

/// etcd's text for a message over its limit, followed by both sizes.
const TOO_LARGE: &str = "grpc: received message larger than max ";

/// Classifies etcd's own response.
pub(crate) fn classify(code: Code, message: &str) -> CallError {
    // Upstream's client has the same limit as etcd and does not send such a message, so clients expect its
    // text.
    if let (Code::ResourceExhausted, Some(sizes)) = (code, message.strip_prefix(TOO_LARGE)) {
        let client_text = "rpc error: code = ResourceExhausted desc = trying to send message larger than max";
        return CallError::Rejected(format!("{client_text} {sizes}").into());
    }
    let text = ForeignText::new(message);
    match code {
        Code::OutOfRange if message.contains("required revision has been compacted") => CallError::Compacted,
        Code::OutOfRange if message.contains("future revision") => CallError::FutureRevision,
        Code::NotFound if message.contains("requested lease not found") => CallError::LeaseNotFound,
        Code::ResourceExhausted if message.contains("too many requests") => CallError::TryLater(text),
        Code::Unavailable if message.contains("leader changed") => CallError::TryLater(text),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted => {
            CallError::Unavailable(text)
        }
        Code::InvalidArgument
        | Code::ResourceExhausted
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::FailedPrecondition
        | Code::OutOfRange => CallError::Rejected(text),
        Code::Unimplemented => CallError::Unimplemented(text),
        // A member that stops while serving a call responds with this text, without a code of its own.
        Code::Unknown if message.contains("context canceled") || message.contains("server stopped") => {
            CallError::Unavailable(text)
        }
        _ => CallError::Internal(text),
    }
}

type Cause<'a> = &'a (dyn std::error::Error + 'static);

fn causes(status: &Status) -> impl Iterator<Item = Cause<'_>> {
    fn next<'a>(cause: &Cause<'a>) -> Option<Cause<'a>> {
        (*cause).source()
    }
    std::iter::successors(status.source(), next)
}

/// The status with the innermost cause, which has the useful text ("connection refused").
fn describe(status: &Status) -> ForeignText {
    match causes(status).last() {
        Some(cause) => ForeignText::displayed(format_args!("{}: {cause}", message(status))),
        None => message(status).into(),
    }
}

/// The unbounded message of a status.
#[expect(clippy::disallowed_methods, reason = "classified here, and bounded before it is kept")]
fn message(status: &Status) -> &str {
    status.message()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: Code, message: &str, expected: fn(ForeignText) -> CallError) {
        assert_eq!(classify(code, message), expected(message.into()), "{code:?} {message}");
    }

    #[test]
    fn etcd_errors_are_classified() {
        check(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted", |_| {
            CallError::Compacted
        });
        check(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision", |_| {
            CallError::FutureRevision
        });
        check(Code::NotFound, "etcdserver: requested lease not found", |_| CallError::LeaseNotFound);
        check(Code::InvalidArgument, "etcdserver: request is too large", CallError::Rejected);
        check(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded", CallError::Rejected);
        check(Code::PermissionDenied, "etcdserver: permission denied", CallError::Rejected);
        check(Code::Unimplemented, "unknown method RangeStream", CallError::Unimplemented);
        check(Code::ResourceExhausted, "etcdserver: too many requests", CallError::TryLater);
        check(Code::Unavailable, "etcdserver: leader changed", CallError::TryLater);
        check(Code::Unavailable, "etcdserver: no leader", CallError::Unavailable);
        check(Code::Unavailable, "etcdserver: request timed out", CallError::Unavailable);
        check(Code::Unavailable, "etcdserver: server stopped", CallError::Unavailable);
        check(Code::DeadlineExceeded, "context deadline exceeded", CallError::Unavailable);
        check(Code::DataLoss, "etcdserver: corrupt cluster", CallError::Internal);
    }

    #[test]
    fn oversized_message_has_upstream_clients_error() {
        check(Code::ResourceExhausted, "grpc: received message larger than max (3 vs. 2)", |_| {
            CallError::Rejected(
                "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3 vs. 2)"
                    .into(),
            )
        });
    }

    #[test]
    fn writes_are_retried_only_if_not_sent() {
        let text = ForeignText::default;
        assert!(CallError::NotSent(text()).may_retry(false));
        assert!(!CallError::Unavailable(text()).may_retry(false));
        assert!(!CallError::TryLater(text()).may_retry(false));
        assert!(CallError::Unavailable(text()).may_retry(true));
        assert!(CallError::TryLater(text()).may_retry(true));
        assert!(!CallError::Rejected(text()).may_retry(true));
        assert!(!CallError::Compacted.may_retry(true));
    }

    #[test]
    fn connect_errors_mean_not_sent() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let status = Status::from_error(Box::new(ConnectError(Box::new(refused))));
        assert!(matches!(CallError::from(&status), CallError::NotSent(_)), "{status:?}");
    }

    #[test]
    fn broken_connections_are_ambiguous() {
        let mut status = Status::unknown("error reading a body from connection");
        status.set_source(std::sync::Arc::new(std::io::Error::from(std::io::ErrorKind::ConnectionReset)));
        assert!(matches!(CallError::from(&status), CallError::Unavailable(_)));
    }
}
