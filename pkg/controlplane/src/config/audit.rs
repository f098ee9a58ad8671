//! What is audited, and where.

use std::path::PathBuf;
use std::time::Duration;

pub use audit::{BatchOptions, FileOptions, Format, Throttle, TruncateOptions};

/// Audit. Without a policy, or without a place for its records, there is none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditConfig {
    /// `--audit-policy-file`: says what is recorded.
    pub policy_file: Option<PathBuf>,
    /// `--audit-log-*`.
    pub log: Option<AuditLogConfig>,
    /// `--audit-webhook-*`.
    pub webhook: Option<AuditWebhookConfig>,
}

/// A webhook that audit events are sent to.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditWebhookConfig {
    /// The kubeconfig that says where it is.
    pub config_file: PathBuf,
    /// How long to wait before the second attempt.
    pub initial_wait: Duration,
    /// Who waits for it.
    pub mode: AuditMode,
    /// How large events may be; `None` for as large as they are.
    pub truncate: Option<TruncateOptions>,
}

/// The log of audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditLogConfig {
    /// The file; `None` for the standard output of the process.
    pub file: Option<FileOptions>,
    /// What its lines look like.
    pub format: Format,
    /// Who waits for it.
    pub mode: AuditMode,
    /// How large events may be; `None` for as large as they are.
    pub truncate: Option<TruncateOptions>,
}

/// Who waits until an event is recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AuditMode {
    /// Nobody: events may be lost when there are too many.
    Batch(BatchOptions),
    /// The request, which goes on when that fails.
    Blocking,
    /// The request, which is refused when its arrival cannot be recorded.
    BlockingStrict,
}
