//! Encryption at rest (`--encryption-provider-config`): which resources are encrypted, and the format of
//! encrypted values. The format is upstream's (`apiserver/pkg/storage/value`), so either server reads values
//! that the other wrote.
//!
//! [`cipher`] has the algorithms, over plain bytes. A [`Transformer`] is one provider of the configuration,
//! which may call another process (a KMS, behind [`KmsFactory`]). [`Rules`] are a [`Configuration`] with
//! running providers. A [`Protection`] applies them to one resource.
//!
//! This crate does not depend on storage, HTTP or resource kinds. It reads no clock, and its caller supplies
//! the random numbers.

#![warn(missing_docs)]

pub mod cipher;
pub mod configuration;
mod kms;
mod metrics;
mod providers;
mod rules;
mod transformer;

pub use configuration::Configuration;
pub use kms::{Kms, KmsFactory, KmsProvider, KmsVersion};
pub use metrics::{Direction, EncryptionMetrics};
pub use providers::{NOT_EXPECTED, Protection, is_encrypted};
pub use rules::{ProviderDeps, Rules};
pub use transformer::{DecryptedValue, Error, Random, Transformer};
