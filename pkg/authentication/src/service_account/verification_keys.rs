//! Where the keys are that tokens are verified with.

use std::sync::Arc;

use super::{ExternalKeys, PublicKeys};

/// How long a client may keep keys that came from files, in seconds: an hour, upstream's figure.
const FILE_KEYS_MAX_AGE_SECONDS: u64 = 3600;

/// The keys that tokens are verified with. Cheap to clone.
#[derive(Clone)]
pub enum VerificationKeys {
    /// Keys of files, read once at start.
    Files(Arc<PublicKeys>),
    /// Those of an external signer, as they come and go.
    External(Arc<ExternalKeys>),
}

impl VerificationKeys {
    /// The keys of now.
    pub(super) fn current(&self) -> Arc<PublicKeys> {
        match self {
            VerificationKeys::Files(keys) => Arc::clone(keys),
            VerificationKeys::External(keys) => keys.current(),
        }
    }

    /// The keys, after asking for newer ones where none of those at hand has `id`.
    pub(super) async fn holding(&self, id: &str) -> Arc<PublicKeys> {
        match self {
            VerificationKeys::Files(keys) => Arc::clone(keys),
            VerificationKeys::External(keys) => keys.holding(id).await,
        }
    }

    /// How long others may keep what they were told of the keys, in seconds.
    pub(super) fn max_age_seconds(&self) -> u64 {
        match self {
            VerificationKeys::Files(_) => FILE_KEYS_MAX_AGE_SECONDS,
            VerificationKeys::External(keys) => keys.seconds_to_refresh(),
        }
    }
}

impl From<PublicKeys> for VerificationKeys {
    fn from(keys: PublicKeys) -> Self {
        VerificationKeys::Files(Arc::new(keys))
    }
}
