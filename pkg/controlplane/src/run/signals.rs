//! Signal handling. The first SIGTERM or SIGINT starts a graceful shutdown, and the second one exits
//! immediately. SIGUSR1 requests a snapshot.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::RunError;

/// Returns a stream with one value per SIGUSR1.
///
/// # Errors
/// [`RunError::Signals`].
pub(super) fn snapshot() -> Result<Signal, RunError> {
    signal(SignalKind::user_defined1()).map_err(RunError::Signals)
}

/// Returns a receiver that gets a value on the first signal. The second signal exits the process with code 1.
///
/// # Errors
/// [`RunError::Signals`].
pub(crate) fn stop() -> Result<mpsc::Receiver<()>, RunError> {
    let mut term = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut int = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            let _ = sender.try_send(());
        }
        tracing::warn!("second signal, exiting at once");
        std::process::exit(1);
    });
    Ok(receiver)
}
