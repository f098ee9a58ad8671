//! Errors of policies, bindings and params. The texts are upstream's.

use apimachinery::labels::ParseError;
use apimachinery::status::Status;

use super::params::ParamError;

/// A policy or a binding that cannot be matched with a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum PolicyError {
    /// The configuration of the policy or the binding is invalid.
    #[error("{0}")]
    Configuration(String),
    /// An object or a namespace cannot be looked up or converted.
    #[error("{}", .0.message)]
    LookUp(Box<Status>),
    #[error(transparent)]
    Selector(#[from] ParseError),
    #[error(transparent)]
    Param(#[from] ParamError),
}
