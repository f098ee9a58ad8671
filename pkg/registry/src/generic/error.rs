//! Storage failures as upstream words them (`storage/errors`, `registry/generic/registry/storage.go`).

use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;

/// The 410 for a list at a revision that is gone.
pub(crate) const LIST_TOO_OLD: &str = "The resourceVersion for the provided list is too old.";

/// The 410 for a continued list whose revision is gone; it carries a fresh token.
pub(crate) const CONTINUE_TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. \
You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder \
of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
deleted between the time the first chunk was returned and now may show up in the list.";

/// A failed read or write.
pub(crate) fn storage(resource: &GroupResource, operation: &str, error: storage::Error) -> Box<Status> {
    let status = match &error {
        storage::Error::Compacted { .. } => Status::expired(LIST_TOO_OLD),
        storage::Error::FutureRevision { requested, current } => too_large(*requested, *current),
        storage::Error::Unavailable(message) => {
            tracing::warn!(%message, operation, resource = %resource, "storage did not answer");
            Status::server_timeout(resource, operation, 2)
        }
        storage::Error::Refused(message) | storage::Error::Internal(message) => {
            tracing::warn!(%message, operation, resource = %resource, "storage refused");
            Status::unmapped(message.clone())
        }
    };
    status.into()
}

/// A failed read through the delegator.
pub(crate) fn read(resource: &GroupResource, operation: &str, error: cacher::Error) -> Box<Status> {
    match error {
        cacher::Error::Storage(error) => storage(resource, operation, error),
        cacher::Error::FutureRevision { requested, current } => too_large(requested, current).into(),
        cacher::Error::Corrupt { key, message } => corrupt(&key, &message),
    }
}

fn too_large(requested: i64, current: i64) -> Status {
    Status::too_large_resource_version(requested.unsigned_abs(), current.unsigned_abs(), 1)
}

/// A stored value that cannot be read. The key goes to the log, the client learns what is wrong.
pub(crate) fn corrupt(key: &str, message: &str) -> Box<Status> {
    tracing::error!(key, message, "a stored object cannot be decoded");
    Status::internal_error(format!("unable to decode an object from storage: {message}")).into()
}
