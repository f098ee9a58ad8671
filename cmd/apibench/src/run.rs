//! Order of a run: each workload runs on all servers in turn, for several rounds, so that other load on the
//! machine affects all of them equally.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::args::Settings;
use crate::error::{Error, Result};
use crate::report::Results;
use crate::setup;
use crate::stats::{Measured, Tally};
use crate::target::Target;
use crate::workload::{Context, Workload};

/// Refresh interval of the progress line.
const PROGRESS: Duration = Duration::from_millis(500);

/// Prepares every server, then runs all `workloads` and adds each result to `results`.
pub(crate) async fn run(
    targets: &[Arc<Target>],
    settings: &Arc<Settings>,
    workloads: &[Box<dyn Workload>],
    results: &mut Results,
) -> Result<()> {
    for target in targets {
        eprintln!("{}: setting up {} pods", target.name, settings.objects);
        let named = |e: Error| Error::Wrong(format!("{}: {e}", target.name));
        let created = setup::prepare(target, settings).await.map_err(named)?;
        eprintln!("{}: ready, {created} pods created", target.name);
    }
    for workload in workloads {
        for round in 0..settings.rounds {
            for target in in_order(targets, round) {
                let measured = measure(workload.as_ref(), target, settings, round).await;
                results.add(workload.name(), &target.name, measured);
            }
        }
    }
    Ok(())
}

/// Returns the servers, in reverse order in odd rounds.
fn in_order<T>(targets: &[T], round: u64) -> Vec<&T> {
    if round.is_multiple_of(2) { targets.iter().collect() } else { targets.iter().rev().collect() }
}

async fn measure(
    workload: &dyn Workload,
    target: &Arc<Target>,
    settings: &Arc<Settings>,
    round: u64,
) -> Measured {
    let tally = Arc::new(Tally::default());
    let title = format!("{} {} round {}/{}", workload.name(), target.name, round + 1, settings.rounds);
    let progress = Progress::start(title.clone(), Arc::clone(&tally));
    let context = Context { target: Arc::clone(target), settings: Arc::clone(settings), tally };
    let measured = match workload.run(&context).await {
        Ok(measured) => measured,
        Err(Error::Unsupported(why)) => Measured { skipped: Some(why), ..Measured::default() },
        Err(error) => Measured { errors: 1, first_error: Some(error.to_string()), ..Measured::default() },
    };
    progress.stop(&format!("{title}: {}", outcome(&measured)));
    measured
}

fn outcome(measured: &Measured) -> String {
    if let Some(why) = &measured.skipped {
        return format!("skipped: {why}");
    }
    let errors = measured.first_error.as_ref().map(|error| format!(", {} errors: {error}", measured.errors));
    format!(
        "{} ops, {:.0}/s{}",
        measured.operations,
        measured.rate().unwrap_or(0.0),
        errors.unwrap_or_default()
    )
}

/// Progress line on stderr while a measurement runs, if stderr is a terminal.
struct Progress {
    printer: Option<JoinHandle<()>>,
}

impl Progress {
    fn start(title: String, tally: Arc<Tally>) -> Self {
        let print = async move {
            loop {
                eprint!("\r\x1b[K{title}: {} ops", tally.operations.load(Ordering::Relaxed));
                // Ignore output errors.
                let _ = std::io::stderr().flush();
                tokio::time::sleep(PROGRESS).await;
            }
        };
        Self { printer: std::io::stderr().is_terminal().then(|| tokio::spawn(print)) }
    }

    fn stop(self, line: &str) {
        let start = if self.printer.is_some() { "\r\x1b[K" } else { "" };
        drop(self);
        eprintln!("{start}{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(printer) = &self.printer {
            printer.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_order_alternates_each_round() {
        let order: Vec<_> = (0..3).flat_map(|round| in_order(&["a", "b"], round)).collect();
        assert_eq!(order, [&"a", &"b", &"b", &"a", &"a", &"b"]);
    }

    #[test]
    fn outcome_contains_errors_and_skip_reason() {
        let measured = Measured {
            operations: 10,
            seconds: 2.0,
            errors: 3,
            first_error: Some("boom".into()),
            ..Measured::default()
        };
        assert_eq!(outcome(&measured), "10 ops, 5/s, 3 errors: boom");
        let skipped = Measured { skipped: Some("no".into()), ..Measured::default() };
        assert_eq!(outcome(&skipped), "skipped: no");
    }
}
