//! Errors of policies, bindings and params. The texts are upstream's.

use apimachinery::labels::LabelSelectorError;
use apimachinery::status::Status;

use super::model::ParamKind;

/// Error of matching a policy or a binding with a request.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum PolicyError {
    /// The configuration of the policy or the binding is invalid.
    #[error("{0}")]
    Configuration(String),
    /// An object or a namespace cannot be looked up or converted.
    #[error("{}", .0.message)]
    LookUp(Box<Status>),
    #[error(transparent)]
    Selector(#[from] LabelSelectorError),
    #[error(transparent)]
    Param(#[from] ParamError),
}

/// Failed look-up of params.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// They were not loaded before the wait ended.
    #[error("paramKind kind `{kind}` not yet synced to use for admission")]
    NotSynced { kind: Box<ParamKind> },
    /// Any other error, with its message.
    #[error("{0}")]
    Other(String),
}
