//! SIGTERM and SIGINT: the first one asks, the second one ends. SIGUSR1 asks for a snapshot.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::RunError;

/// Gets a value with every SIGUSR1.
///
/// # Errors
/// [`RunError::Signals`].
pub(super) fn snapshot() -> Result<Signal, RunError> {
    signal(SignalKind::user_defined1()).map_err(RunError::Signals)
}

/// A receiver that gets a value with the first signal. With the second the process exits with code 1.
///
/// # Errors
/// [`RunError::Signals`].
pub(crate) fn stop() -> Result<mpsc::Receiver<()>, RunError> {
    let mut term = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut int = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let (asked, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            let _ = asked.try_send(());
        }
        tracing::warn!("second signal, exiting at once");
        std::process::exit(1);
    });
    Ok(receiver)
}
