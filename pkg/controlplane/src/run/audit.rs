//! Audit, put together as upstream's `server/options/audit.go` does.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use apimachinery::clock::Clock;
use audit::{Batch, Figures, File, Lenient, Log, Policy, Sink, Truncate};
use server::Auditor;
use server::metrics::Collector;

use super::RunError;
use crate::config::{AuditConfig, AuditLogConfig, AuditMode};

/// Who audits; `None` where nobody wants that.
///
/// # Errors
/// [`RunError::Configuration`] for a policy or a file that cannot be used.
pub(super) fn auditor(
    config: &AuditConfig,
    clock: &Arc<dyn Clock>,
    figures: &Arc<Figures>,
) -> Result<Option<Arc<Auditor>>, RunError> {
    let policy = config.policy_file.as_deref().map(policy).transpose()?;
    let Some(log) = &config.log else { return Ok(None) };
    let out = output(log, clock)?;
    let Some(policy) = policy else {
        tracing::info!("No audit policy file provided, no events will be recorded for log backend");
        return Ok(None);
    };
    let sink = sink(log, out, clock, figures).map_err(RunError::Threads)?;
    Ok(Some(Arc::new(Auditor { policy, sink, figures: Arc::clone(figures) })))
}

fn policy(path: &Path) -> Result<Policy, RunError> {
    let shown = path.display();
    let failed = |text: String| RunError::Configuration(format!("loading audit policy file: {text}"));
    let text = std::fs::read(path)
        .map_err(|error| failed(format!("failed to read file path \"{shown}\": {error}")))?;
    let (policy, strict) =
        Policy::parse(&text).map_err(|error| failed(format!("{error}: from file {shown}")))?;
    if let Some(strict) = strict {
        tracing::warn!("Audit policy contains errors, falling back to lenient decoding: {strict}");
    }
    Ok(policy)
}

fn output(log: &AuditLogConfig, clock: &Arc<dyn Clock>) -> Result<Box<dyn Write + Send>, RunError> {
    let Some(file) = &log.file else { return Ok(Box::new(io::stdout())) };
    let made = File::create(file.clone(), Arc::clone(clock));
    let shown = file.path.display();
    let made =
        made.map_err(|error| RunError::Configuration(format!("ensureLogFile: open {shown}: {error}")))?;
    Ok(Box::new(made))
}

fn sink(
    log: &AuditLogConfig,
    out: Box<dyn Write + Send>,
    clock: &Arc<dyn Clock>,
    figures: &Arc<Figures>,
) -> io::Result<Arc<dyn Sink>> {
    let lines: Arc<dyn Sink> = Arc::new(Log::new(out, log.format, Arc::clone(figures)));
    let sink: Arc<dyn Sink> = match log.mode {
        AuditMode::BlockingStrict => lines,
        AuditMode::Blocking => Arc::new(Lenient(lines)),
        AuditMode::Batch(options) => {
            Arc::new(Batch::new(lines, options, Arc::clone(clock), Arc::clone(figures))?)
        }
    };
    Ok(match log.truncate {
        Some(options) => Arc::new(Truncate::new(sink, options, Arc::clone(figures))),
        None => sink,
    })
}

/// What is counted of audit.
pub(super) struct OfAudit(pub(super) Arc<Figures>);

impl Collector for OfAudit {
    fn collect(&self, out: &mut String) {
        self.0.write(out);
    }
}

#[cfg(test)]
mod tests;
