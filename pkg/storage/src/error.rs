//! What can go wrong in a store, split by what the caller can do about it.

use std::sync::Arc;

use crate::Revision;

/// A failure of the store itself. Conflicts and absent keys are answers, not errors.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The revision asked for has been compacted away: start again from the present.
    #[error("required revision has been compacted")]
    Compacted {
        /// The oldest revision that is still readable, 0 if unknown.
        oldest: Revision,
    },
    /// The revision asked for does not exist yet.
    #[error("required revision {requested} is a future revision, current is {current}")]
    FutureRevision {
        /// What was asked for.
        requested: Revision,
        /// What the store has.
        current: Revision,
    },
    /// The store did not answer in time, or lost its leader. A write may or may not have happened.
    /// Retrying later can help.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// The store refused the request before doing anything: too large, out of space, no permission.
    #[error("{0}")]
    Refused(String),
    /// A value cannot be brought into the form that it is stored in, or from it
    /// ([`Form::Unreadable`](crate::Form::Unreadable)). Nothing was done.
    #[error("{message}")]
    Transformation {
        /// Whose value it is.
        key: String,
        /// Why.
        message: Arc<str>,
    },
    /// Anything else. The text is for the log.
    #[error("{0}")]
    Internal(String),
}
