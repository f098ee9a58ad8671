//! Storage errors, by the possible reaction of the caller.

use std::sync::Arc;

use crate::Revision;

/// A failure of the store itself. Conflicts and missing keys are results, not errors.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The requested revision has been compacted: restart from the present.
    #[error("required revision has been compacted")]
    Compacted {
        /// The oldest available revision, 0 if unknown.
        oldest: Revision,
    },
    /// The requested revision does not exist yet.
    #[error("required revision {requested} is a future revision, current is {current}")]
    FutureRevision {
        /// The revision of the request.
        requested: Revision,
        /// The store's revision at the time of the request.
        current: Revision,
    },
    /// The store did not respond in time, or lost its leader. A write may or may not have happened. A later
    /// retry can succeed.
    #[error("the store did not respond: {0}")]
    Unavailable(String),
    /// The store rejected the request without effect: too large, out of space, no permission.
    #[error("{0}")]
    Rejected(String),
    /// A stored value could not be decrypted ([`Form::Unreadable`](crate::Form::Unreadable)). Nothing was written.
    #[error("{message}")]
    Unreadable {
        /// Full key of the value.
        key: String,
        /// Error text of the encryption provider.
        message: Arc<str>,
    },
    /// A value could not be encrypted, or the encryption provider did not respond. Nothing was written.
    #[error("{message}")]
    Transformation {
        /// Full key of the value.
        key: String,
        /// Error text of the encryption provider.
        message: Arc<str>,
    },
    /// Any other error. The text is for the log.
    #[error("{0}")]
    Internal(String),
}
