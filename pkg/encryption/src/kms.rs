//! The seam to providers whose keys another process has (KMS).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{Error, Transformer};

/// The version of a KMS plugin's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KmsVersion {
    /// A key per value, each sealed by a call. Off unless the gate `KMSv1` is on.
    V1,
    /// A key per plugin and key id, from which one per value is derived.
    V2,
}

/// A `kms` provider as it is configured, checked and with defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kms {
    /// The version of its interface.
    pub version: KmsVersion,
    /// Its name, which is in the prefix of what it seals.
    pub name: String,
    /// How many keys are remembered (v1): at least one, or none if `None`. v2 has its own bound.
    pub cache_size: Option<usize>,
    /// The URL of its socket: `unix:///path`, or `unix:///@name` for an abstract one.
    pub endpoint: String,
    /// How long one call may take.
    pub timeout: Duration,
}

/// A plugin that is ready to be asked. Dropping all of it ends what runs for it.
#[async_trait]
pub trait KmsProvider: Transformer {
    /// Whether it works, from a recent look or a new one. Bounded by its timeouts.
    ///
    /// # Errors
    /// What is wrong, as health endpoints show it.
    async fn healthy(&self) -> Result<(), Error>;
}

/// Makes providers of configurations.
#[async_trait]
pub trait KmsFactory: Send + Sync {
    /// Connects to a plugin, and looks at it once. One that does not answer yet is no error: it becomes healthy when it
    /// does.
    ///
    /// # Errors
    /// It cannot be used at all: its version is switched off, or its endpoint is none. In upstream's words.
    async fn provider(&self, kms: &Kms) -> Result<Arc<dyn KmsProvider>, Error>;
}
