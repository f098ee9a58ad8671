//! Sources of the keys that verify tokens.

use std::sync::Arc;

use super::{ExternalKeys, PublicKeys};

/// Cache lifetime in seconds of keys from files: one hour, as in upstream.
const FILE_KEYS_MAX_AGE_SECONDS: u64 = 3600;

/// Keys to verify tokens. Cheap to clone.
#[derive(Clone)]
pub enum VerificationKeys {
    /// Keys of files, read once at start.
    Files(Arc<PublicKeys>),
    /// Keys of an external signer, refreshed continuously.
    External(Arc<ExternalKeys>),
}

impl VerificationKeys {
    pub(super) fn current(&self) -> Arc<PublicKeys> {
        match self {
            VerificationKeys::Files(keys) => Arc::clone(keys),
            VerificationKeys::External(keys) => keys.current(),
        }
    }

    /// Returns the keys. Fetches newer ones first if none has `id`.
    pub(super) async fn keys_with_id(&self, id: &str) -> Arc<PublicKeys> {
        match self {
            VerificationKeys::Files(keys) => Arc::clone(keys),
            VerificationKeys::External(keys) => keys.keys_with_id(id).await,
        }
    }

    /// Returns the cache lifetime in seconds for published keys.
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
