//! Configuration of audit logging.

use std::path::PathBuf;
use std::time::Duration;

pub use audit::{BatchOptions, FileOptions, Format, Throttle, TruncateOptions};

/// Audit logging. It is disabled without a policy or without a backend.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuditConfig {
    /// `--audit-policy-file`.
    pub policy_file: Option<PathBuf>,
    /// `--audit-log-*`.
    pub log: Option<AuditLogConfig>,
    /// `--audit-webhook-*`.
    pub webhook: Option<AuditWebhookConfig>,
}

/// An audit webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditWebhookConfig {
    /// The kubeconfig with its address.
    pub config_file: PathBuf,
    /// Initial retry back-off.
    pub initial_wait: Duration,
    pub mode: AuditMode,
    /// Size limit of events; `None` disables it.
    pub truncate: Option<TruncateOptions>,
}

/// The audit log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditLogConfig {
    /// The file; `None` for standard output.
    pub file: Option<FileOptions>,
    pub format: Format,
    pub mode: AuditMode,
    /// Size limit of events; `None` disables it.
    pub truncate: Option<TruncateOptions>,
}

/// Mode of a backend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AuditMode {
    /// Asynchronous: events may be lost under load.
    Batch(BatchOptions),
    /// The request waits, and continues after a failure.
    Blocking,
    /// The request waits, and is rejected if its arrival cannot be recorded.
    BlockingStrict,
}
