//! Classification of etcd failures: the [`storage::Error`], the possibility of a retry, and the
//! responsibility of the member.
//!
//! Codes and texts are those of etcd's `rpctypes`. gRPC codes alone are ambiguous, because etcd uses
//! `OutOfRange` for both compacted and future revisions, and `Unavailable` for most other failures.

use std::error::Error as _;

use storage::Error;
use tonic::{Code, ConnectError, Status};

/// A failed call, by the possible reaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The requested revision is compacted.
    Compacted,
    /// The requested revision does not exist yet.
    FutureRevision,
    /// The lease of a put does not exist. The put did not happen.
    LeaseNotFound,
    /// There was no connection: the call was not sent.
    NotSent(String),
    /// The member did not serve the call; it may or may not have had an effect.
    Unavailable(String),
    /// The cluster responded but cannot serve the call now (leader election, overload).
    TryLater(String),
    /// The request is invalid; it had no effect.
    Refused(String),
    /// Any other failure.
    Internal(String),
}

impl Failure {
    /// True if a call may be repeated. Idempotent calls may after any temporary failure, writes only if they
    /// certainly were not sent.
    pub(crate) fn may_retry(&self, idempotent: bool) -> bool {
        match self {
            Failure::NotSent(_) => true,
            Failure::Unavailable(_) | Failure::TryLater(_) => idempotent,
            _ => false,
        }
    }

    /// True if a write with this failure may have happened, or may still happen.
    pub(crate) fn leaves_open(&self) -> bool {
        matches!(self, Failure::Unavailable(_) | Failure::TryLater(_) | Failure::Internal(_))
    }

    /// True if the member should be marked suspect until it responds again.
    pub(crate) fn blames_member(&self) -> bool {
        matches!(self, Failure::NotSent(_) | Failure::Unavailable(_))
    }

    /// The contract's error. Callers with more information handle future and compacted revisions themselves.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Failure::Compacted => Error::Compacted { oldest: 0 },
            Failure::FutureRevision => Error::FutureRevision { requested: 0, current: 0 },
            Failure::LeaseNotFound => Error::Unavailable("the lease expired before its use".to_owned()),
            Failure::NotSent(why) | Failure::Unavailable(why) | Failure::TryLater(why) => {
                Error::Unavailable(why)
            }
            Failure::Refused(why) => Error::Refused(why),
            Failure::Internal(why) => Error::Internal(why),
        }
    }
}

impl From<etcd_client::Error> for Failure {
    fn from(error: etcd_client::Error) -> Self {
        match error {
            etcd_client::Error::GRpcStatus(status) => Failure::from(&status),
            etcd_client::Error::IoError(e) => Failure::Unavailable(e.to_string()),
            etcd_client::Error::TransportError(e) => Failure::Unavailable(e.to_string()),
            etcd_client::Error::WatchError(e) => Failure::Unavailable(e),
            other => Failure::Internal(other.to_string()),
        }
    }
}

impl From<&Status> for Failure {
    fn from(status: &Status) -> Self {
        // A status with a source was created locally: the transport failed, and etcd did not respond.
        match causes(status).find_map(|cause| cause.downcast_ref::<ConnectError>()) {
            Some(_) => Failure::NotSent(describe(status)),
            None if status.source().is_some() => Failure::Unavailable(describe(status)),
            None => classify(status.code(), status.message()),
        }
    }
}

/// etcd's text for a message over its limit, followed by both sizes.
const TOO_LARGE: &str = "grpc: received message larger than max ";

/// Classifies etcd's own response.
pub(crate) fn classify(code: Code, message: &str) -> Failure {
    // Upstream's client has the same limit as etcd and does not send such a message, so clients expect its
    // text.
    if let (Code::ResourceExhausted, Some(sizes)) = (code, message.strip_prefix(TOO_LARGE)) {
        let said = "rpc error: code = ResourceExhausted desc = trying to send message larger than max";
        return Failure::Refused(format!("{said} {sizes}"));
    }
    let text = message.to_owned();
    match code {
        Code::OutOfRange if message.contains("required revision has been compacted") => Failure::Compacted,
        Code::OutOfRange if message.contains("future revision") => Failure::FutureRevision,
        Code::NotFound if message.contains("requested lease not found") => Failure::LeaseNotFound,
        Code::ResourceExhausted if message.contains("too many requests") => Failure::TryLater(text),
        Code::Unavailable if message.contains("leader changed") => Failure::TryLater(text),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Aborted => {
            Failure::Unavailable(text)
        }
        Code::InvalidArgument
        | Code::ResourceExhausted
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented => Failure::Refused(text),
        // A member that stops while serving a call responds with this text, without a code of its own.
        Code::Unknown if message.contains("context canceled") || message.contains("server stopped") => {
            Failure::Unavailable(text)
        }
        _ => Failure::Internal(text),
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
fn describe(status: &Status) -> String {
    match causes(status).last() {
        Some(cause) => format!("{}: {cause}", status.message()),
        None => status.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: Code, message: &str, expected: fn(String) -> Failure) {
        assert_eq!(classify(code, message), expected(message.to_owned()), "{code:?} {message}");
    }

    #[test]
    fn etcd_errors_are_classified() {
        check(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted", |_| {
            Failure::Compacted
        });
        check(Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision", |_| {
            Failure::FutureRevision
        });
        check(Code::NotFound, "etcdserver: requested lease not found", |_| Failure::LeaseNotFound);
        check(Code::InvalidArgument, "etcdserver: request is too large", Failure::Refused);
        check(Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded", Failure::Refused);
        check(Code::PermissionDenied, "etcdserver: permission denied", Failure::Refused);
        check(Code::ResourceExhausted, "etcdserver: too many requests", Failure::TryLater);
        check(Code::Unavailable, "etcdserver: leader changed", Failure::TryLater);
        check(Code::Unavailable, "etcdserver: no leader", Failure::Unavailable);
        check(Code::Unavailable, "etcdserver: request timed out", Failure::Unavailable);
        check(Code::Unavailable, "etcdserver: server stopped", Failure::Unavailable);
        check(Code::DeadlineExceeded, "context deadline exceeded", Failure::Unavailable);
        check(Code::DataLoss, "etcdserver: corrupt cluster", Failure::Internal);
    }

    #[test]
    fn oversized_message_has_upstream_clients_error() {
        check(Code::ResourceExhausted, "grpc: received message larger than max (3 vs. 2)", |_| {
            Failure::Refused(
                "rpc error: code = ResourceExhausted desc = trying to send message larger than max (3 vs. 2)"
                    .to_owned(),
            )
        });
    }

    #[test]
    fn writes_are_retried_only_if_not_sent() {
        let text = String::new;
        assert!(Failure::NotSent(text()).may_retry(false));
        assert!(!Failure::Unavailable(text()).may_retry(false));
        assert!(!Failure::TryLater(text()).may_retry(false));
        assert!(Failure::Unavailable(text()).may_retry(true));
        assert!(Failure::TryLater(text()).may_retry(true));
        assert!(!Failure::Refused(text()).may_retry(true));
        assert!(!Failure::Compacted.may_retry(true));
    }

    #[test]
    fn connect_errors_mean_not_sent() {
        let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        let status = Status::from_error(Box::new(ConnectError(Box::new(refused))));
        assert!(matches!(Failure::from(&status), Failure::NotSent(_)), "{status:?}");
    }

    #[test]
    fn broken_connections_are_ambiguous() {
        let mut status = Status::unknown("error reading a body from connection");
        status.set_source(std::sync::Arc::new(std::io::Error::from(std::io::ErrorKind::ConnectionReset)));
        assert!(matches!(Failure::from(&status), Failure::Unavailable(_)));
    }
}
