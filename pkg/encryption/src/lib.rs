//! Encryption at rest (`--encryption-provider-config`): which resources are encrypted how, and what that does to the
//! bytes of a value in the store. The bytes are upstream's (`apiserver/pkg/storage/value`): what either server
//! writes, the other reads.
//!
//! [`cipher`] has the algorithms, over bytes alone. A [`Transformer`] is one provider of the configuration, which may
//! have to ask somebody else (a KMS, behind [`KmsFactory`]). [`Rules`] are a [`Configuration`] at work, and a
//! [`Protection`] is what they do for one resource.
//!
//! This crate knows no storage, no HTTP and no kinds. It reads no clock and takes its random numbers from whoever
//! sets it up.

pub mod cipher;
pub mod configuration;
mod figures;
mod kms;
mod providers;
mod rules;
mod transformer;

pub use configuration::Configuration;
pub use figures::{DURATION_BOUNDS, Direction, Figures};
pub use kms::{Kms, KmsFactory, KmsProvider, KmsVersion};
pub use providers::{NOT_EXPECTED, Protection, is_encrypted};
pub use rules::{Means, Rules};
pub use transformer::{Error, Opened, Random, Transformer};
