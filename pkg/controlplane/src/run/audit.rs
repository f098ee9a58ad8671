//! Assembles audit logging as in upstream's `server/options/audit.go`.

mod webhook;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use ::audit::{
    AuditMetrics, Batch, BatchOptions, File, IgnoreFailures, Log, Policy, Sink, Truncate, TruncateOptions,
    Union,
};
use client::Dialer;
use component_base::clock::Clock;
use component_base::weakened::WeakenedKind;
use server::Auditor;

use crate::config::{AuditConfig, AuditLogConfig, AuditMode};
use crate::error::RunError;
use webhook::WebhookSink;

/// Builds the auditor; `None` if audit logging is disabled. `dialer` is the egress proxy to a webhook, if
/// there is one. `metrics` counts events, `webhooks` counts calls.
///
/// # Errors
/// The policy, the log file or the kubeconfig of the webhook is unusable.
pub(super) fn auditor(
    config: &AuditConfig,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<AuditMetrics>,
    webhooks: &client::webhook::ClientMetrics,
    dialer: Option<Dialer>,
) -> Result<Option<Arc<Auditor>>, RunError> {
    let policy = config.policy_file.as_deref().map(|path| policy(path, metrics)).transpose()?;
    let out = config.log.as_ref().map(|log| Ok::<_, RunError>((log, output(log, clock)?))).transpose()?;
    let Some(policy) = policy else {
        if config.log.is_some() || config.webhook.is_some() {
            tracing::info!("No audit policy file provided, no events will be recorded");
        }
        return Ok(None);
    };
    let mut sinks: Vec<Arc<dyn Sink>> = Vec::new();
    if let Some((log, out)) = out {
        let counted = Arc::clone(metrics);
        let (lines, mode) = match log.mode {
            AuditMode::Blocking => (Log::with_buffer(out, log.format, counted), log.mode),
            // The batch size is not visible in a file.
            AuditMode::Batch(BatchOptions { waiting_max, throttle: None, .. }) => (
                Log::with_background_writer_limit(out, log.format, counted, waiting_max),
                AuditMode::Blocking,
            ),
            AuditMode::BlockingStrict | AuditMode::Batch(_) => {
                (Ok(Log::new(out, log.format, counted)), log.mode)
            }
        };
        let lines = lines.map_err(RunError::Threads)?;
        sinks.push(sink(Arc::new(lines), mode, log.truncate, clock, metrics)?);
    }
    if let Some(webhook) = &config.webhook {
        let detached = matches!(webhook.mode, AuditMode::Batch(_));
        let file = &webhook.config_file;
        let wait = webhook.initial_wait;
        let sent = WebhookSink::new(file, dialer, wait, detached, metrics, webhooks)
            .map_err(|error| error.within("initializing audit webhook"))?;
        sinks.push(sink(Arc::new(sent), webhook.mode, webhook.truncate, clock, metrics)?);
    }
    let sink: Arc<dyn Sink> = match sinks.len() {
        0 => return Ok(None),
        _ => Arc::new(Union(sinks)),
    };
    Ok(Some(Arc::new(Auditor::new(policy, sink, Arc::clone(metrics)))))
}

/// Reads the policy. Unknown fields are ignored, as in upstream, and recorded.
fn policy(path: &Path, metrics: &AuditMetrics) -> Result<Policy, RunError> {
    let text = std::fs::read(path).map_err(|error| {
        let shown = path.display();
        let step = format!("loading audit policy file: failed to read file path \"{shown}\"");
        RunError::System(error).within(step)
    })?;
    let (policy, strict) =
        Policy::parse(&text).map_err(|source| RunError::AuditPolicy { path: path.to_owned(), source })?;
    if let Some(strict) = strict {
        let why = format_args!("Audit policy contains errors, falling back to lenient decoding: {strict}");
        metrics.weakened().record(WeakenedKind::IgnoredSetting, &path.display().to_string(), &why);
    }
    Ok(policy)
}

fn output(log: &AuditLogConfig, clock: &Arc<dyn Clock>) -> Result<Box<dyn Write + Send>, RunError> {
    let Some(file) = &log.file else { return Ok(Box::new(io::stdout())) };
    let opened = File::create(file.clone(), Arc::clone(clock));
    let shown = file.path.display();
    let opened =
        opened.map_err(|error| RunError::System(error).within(format!("ensureLogFile: open {shown}")))?;
    Ok(Box::new(opened))
}

/// Wraps `sink` with the configured mode and limits.
fn sink(
    sink: Arc<dyn Sink>,
    mode: AuditMode,
    truncate: Option<TruncateOptions>,
    clock: &Arc<dyn Clock>,
    metrics: &Arc<AuditMetrics>,
) -> Result<Arc<dyn Sink>, RunError> {
    let time = Arc::clone(clock);
    let counted = Arc::clone(metrics);
    let sink: Arc<dyn Sink> = match mode {
        AuditMode::BlockingStrict => sink,
        AuditMode::Blocking => Arc::new(IgnoreFailures(sink)),
        AuditMode::Batch(options) => {
            Arc::new(Batch::new(sink, options, time, counted).map_err(RunError::Threads)?)
        }
    };
    Ok(match truncate {
        Some(options) => Arc::new(Truncate::new(sink, options, Arc::clone(metrics))),
        None => sink,
    })
}

#[cfg(test)]
mod tests;
