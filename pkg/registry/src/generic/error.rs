//! Converts storage errors to upstream's Statuses (`storage/errors`, `registry/generic/registry/storage.go`).

use api::resources::custom::INVALID_VERSION;
use apimachinery::go_quote::Quoted;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use cacher::Damage;

/// Text of the 410 for a list at a compacted revision.
pub(crate) const LIST_TOO_OLD: &str = "The resourceVersion for the provided list is too old.";

/// Text of the 410 for a continued list at a compacted revision; the response contains a new token.
pub(crate) const CONTINUE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. \
You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
deleted between the time the first chunk was returned and now may show up in the list.";

/// Status of a failed read or write.
pub(crate) fn storage(resource: &GroupResource, operation: &str, error: storage::Error) -> Box<Status> {
    let status = match &error {
        storage::Error::Compacted { .. } => Status::expired(LIST_TOO_OLD),
        storage::Error::FutureRevision { requested, current } => too_large(*requested, *current, 0),
        storage::Error::Unavailable(message) => {
            tracing::warn!(error = %message, operation, resource = %resource, "storage did not answer");
            Status::server_timeout(resource, operation, 2)
        }
        storage::Error::Unreadable { key, message } | storage::Error::Transformation { key, message } => {
            return decryption_error(operation, key, message);
        }
        storage::Error::Rejected(message) | storage::Error::Internal(message) => {
            tracing::warn!(error = %message, operation, resource = %resource, "storage rejected the operation");
            Status::unmapped(message.clone())
        }
    };
    status.into()
}

/// True if a write failed because the object is too large for the store. Like upstream, it compares texts.
pub(super) fn is_too_large(status: &Status) -> bool {
    ["etcdserver: request is too large", "message larger than max"]
        .iter()
        .any(|text| status.message.contains(text))
}

/// Status of a failed read through the delegator.
pub(crate) fn read(resource: &GroupResource, operation: &str, error: cacher::Error) -> Box<Status> {
    match error {
        cacher::Error::Storage(error) => storage(resource, operation, error),
        cacher::Error::FutureRevision { requested, current, retry_after_seconds } => {
            too_large(requested, current, retry_after_seconds).into()
        }
        cacher::Error::StaleCache { requested, current, retry_after_seconds } => {
            let message = too_large(requested, current, 0).message;
            Status::too_many_requests(&message, seconds(retry_after_seconds)).into()
        }
        cacher::Error::TooOld { requested, oldest } => {
            Status::expired(format!("too old resource version: {requested} ({oldest})")).into()
        }
        cacher::Error::NotReady { retry_after_seconds, reason } => {
            not_ready(retry_after_seconds, reason).into()
        }
        cacher::Error::Corrupt { key, message, damage: Damage::Malformed | Damage::Unserved, .. } => {
            corrupt(&key, &message)
        }
        cacher::Error::Corrupt { key, message, damage: Damage::Undecryptable, .. } => {
            decryption_error(operation, &key, &message)
        }
    }
}

fn too_large(requested: i64, current: i64, retry_after_seconds: u32) -> Status {
    let retry_after = seconds(retry_after_seconds);
    Status::too_large_resource_version(requested.unsigned_abs(), current.unsigned_abs(), retry_after)
}

/// Converts a delay to the type of a Status.
fn seconds(delay: u32) -> i32 {
    i32::try_from(delay).unwrap_or(i32::MAX)
}

/// 429 while a cache is being filled (upstream's `cacher/ready.go`).
fn not_ready(retry_after_seconds: u32, reason: Option<String>) -> Status {
    let message = match reason {
        Some(reason) => format!("storage is (re)initializing: {reason}"),
        None => "storage is (re)initializing".to_owned(),
    };
    Status::too_many_requests(&message, seconds(retry_after_seconds))
}

/// Status for a stored value that cannot be decoded. The key is only logged; the client gets the reason.
pub(crate) fn corrupt(key: &str, message: &str) -> Box<Status> {
    tracing::error!(key, error = message, "stored object cannot be decoded");
    if message.starts_with(INVALID_VERSION) {
        return Status::unmapped(message).into();
    }
    Status::internal_error(format!("unable to decode an object from storage: {message}")).into()
}

/// Status for a stored value that cannot be decrypted. For a list, the text contains the key.
fn decryption_error(operation: &str, key: &str, message: &str) -> Box<Status> {
    tracing::error!(key, message, "stored object cannot be decrypted");
    match operation {
        "list" => {
            Status::internal_error(format!("unable to transform key {}: {message}", Quoted(key))).into()
        }
        _ => Status::internal_error(message).into(),
    }
}

#[cfg(test)]
mod tests {
    use apimachinery::status::Reason;

    use super::*;

    #[test]
    fn failed_reads_return_upstream_statuses() {
        let check = |error: cacher::Error, code: u16, reason: Reason, message: &str, retry_after: i32| {
            let status = read(&GroupResource::new("", "pods"), "list", error);
            assert_eq!((status.code, &status.reason, &*status.message), (code, &reason, message));
            assert_eq!(status.retry_after_seconds(), retry_after);
        };
        let not_ready = |reason: Option<&str>| cacher::Error::NotReady {
            retry_after_seconds: 3,
            reason: reason.map(str::to_owned),
        };
        check(not_ready(None), 429, Reason::TooManyRequests, "storage is (re)initializing", 3);
        check(
            not_ready(Some("no etcd")),
            429,
            Reason::TooManyRequests,
            "storage is (re)initializing: no etcd",
            3,
        );
        let too_old = cacher::Error::TooOld { requested: 5, oldest: 9 };
        check(too_old, 410, Reason::Expired, "too old resource version: 5 (9)", 0);
        let future =
            |retry| cacher::Error::FutureRevision { requested: 9, current: 5, retry_after_seconds: retry };
        check(future(1), 504, Reason::Timeout, "Timeout: Too large resource version: 9, current: 5", 1);
        check(future(0), 504, Reason::Timeout, "Timeout: Too large resource version: 9, current: 5", 0);
        let stale = cacher::Error::StaleCache { requested: 9, current: 5, retry_after_seconds: 1 };
        let message = "Timeout: Too large resource version: 9, current: 5";
        check(stale, 429, Reason::TooManyRequests, message, 1);
        let compacted = storage::Error::Compacted { oldest: 2 };
        check(cacher::Error::Storage(compacted), 410, Reason::Expired, LIST_TOO_OLD, 0);
        let corrupt = |damage| cacher::Error::Corrupt {
            key: "k".to_owned(),
            message: "m".to_owned(),
            damage,
            revision: 1,
        };
        let message = "Internal error occurred: unable to decode an object from storage: m";
        check(corrupt(Damage::Malformed), 500, Reason::InternalError, message, 0);
        let message = "Internal error occurred: unable to transform key \"k\": m";
        check(corrupt(Damage::Undecryptable), 500, Reason::InternalError, message, 0);
        // A KMS plugin that did not respond during a list.
        let unanswered = storage::Error::Transformation { key: "k".to_owned(), message: "m".into() };
        check(cacher::Error::Storage(unanswered), 500, Reason::InternalError, message, 0);
    }
}
