//! Interface to providers whose keys are held by another process (KMS).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Error, Transformer};

/// Version of the KMS plugin API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KmsVersion {
    /// One data key per value, each encrypted by a call. Off unless the feature gate `KMSv1` is on.
    V1,
    /// One seed per plugin and key id; a key per value is derived from it.
    V2,
}

/// A validated `kms` provider with defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kms {
    /// Version of the plugin's API.
    pub version: KmsVersion,
    /// Plugin name, which is part of the prefix of encrypted values.
    pub name: String,
    /// Size of the v1 data key cache: at least one, or `None` for no cache. v2 has its own bound.
    pub cache_size: Option<usize>,
    /// URL of the socket: `unix:///path`, or `unix:///@name` for an abstract one.
    pub endpoint: String,
    /// Timeout of one call.
    pub timeout: Duration,
}

/// A connected plugin. Dropping the last reference stops its background tasks.
#[async_trait]
pub trait KmsProvider: Transformer {
    /// Checks the plugin's health, or returns the result of a recent check. Bounded by the plugin's timeouts.
    ///
    /// # Errors
    /// The reason, as health endpoints show it.
    async fn healthy(&self) -> Result<(), Error>;
}

/// Creates KMS providers from their configuration.
#[async_trait]
pub trait KmsFactory: Send + Sync {
    /// Connects to a plugin and probes it once. A plugin that does not answer yet is no error: it becomes
    /// healthy later.
    ///
    /// # Errors
    /// The plugin cannot be used at all: its version is disabled, or its endpoint is invalid. The text is
    /// upstream's.
    async fn provider(&self, kms: &Kms) -> Result<Arc<dyn KmsProvider>, Error>;
}
