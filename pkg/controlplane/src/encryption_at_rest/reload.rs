//! Follows the file, so that a new text counts without a restart (upstream's `encryptionconfig/controller`).

use std::sync::Arc;
use std::time::Duration;

use storage::Storage;
use tokio::time::{Instant, sleep, timeout};

use super::load::Loader;
use super::{Covers, Current, health};
use crate::reloads::{ReloadFigures, Sign, hash, sign};

/// How often is looked whether the file is another one.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is read although it seems to be the same.
const READ_EVERY: Duration = Duration::from_secs(60);
/// The pause after a first text that cannot be used. It doubles with every further one, up to the above.
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// How often plugins are asked that are not well yet.
const HEALTH_EVERY: Duration = Duration::from_millis(100);
/// How long new plugins may take to be well, at least.
const HEALTH_MIN: Duration = Duration::from_secs(10);

/// Keeps the configuration as its file says.
pub(super) struct Follower {
    loader: Arc<Loader>,
    storage: Arc<dyn Storage>,
    current: Current,
    figures: Arc<ReloadFigures>,
    /// Of the text that counts. The text itself has keys in it.
    hash: String,
}

impl Follower {
    /// Follows the file that `current` was made from when it said `text`.
    pub(super) fn new(
        loader: Loader,
        text: &[u8],
        storage: Arc<dyn Storage>,
        current: Current,
        figures: Arc<ReloadFigures>,
    ) -> Self {
        Follower { loader: Arc::new(loader), storage, current, figures, hash: hash(text) }
    }

    /// Looks at the file again and again.
    pub(super) async fn run(mut self) {
        // The first look is a reading: the file may have changed since the server started.
        let (mut seen, mut next): (Sign, _) = (None, Instant::now());
        let mut retry = RETRY_FIRST;
        loop {
            let now = sign(&self.loader.file);
            if now != seen || next <= Instant::now() {
                seen = now;
                match self.look().await {
                    Ok(()) => (next, retry) = (Instant::now() + READ_EVERY, RETRY_FIRST),
                    Err(error) => {
                        self.figures.failed();
                        tracing::error!(file = %self.loader.file.display(), %error, "the encryption configuration stays as it was");
                        (next, retry) = (Instant::now() + retry, (retry * 2).min(READ_EVERY));
                    }
                }
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Reads the file, and does what it says if that is new. What is under way ends as it began.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(super) async fn look(&mut self) -> Result<(), String> {
        let loader = Arc::clone(&self.loader);
        let text = tokio::task::spawn_blocking(move || loader.read()).await;
        let text = text.map_err(|error| error.to_string())??;
        let hash = hash(&text);
        if hash == self.hash {
            return Ok(());
        }
        let mut covers = self.loader.covers(&text).await?;
        becomes_healthy(&covers).await?;
        let revision = self.storage.current_revision().await.map_err(|error| error.to_string())?;
        covers.succeed(&self.current.load(), revision);
        self.current.store(Arc::new(covers));
        self.figures.succeeded(hash.clone());
        self.hash = hash;
        tracing::info!("the encryption configuration was replaced");
        Ok(())
    }
}

/// Waits until all plugins work, for a bounded time.
async fn becomes_healthy(covers: &Covers) -> Result<(), String> {
    let mut last = String::new();
    let healthy = async {
        while let Err(error) = health::all(covers).await {
            last = error;
            sleep(HEALTH_EVERY).await;
        }
    };
    match timeout(covers.rules().grace().max(HEALTH_MIN), healthy).await {
        Ok(()) => Ok(()),
        Err(_) => Err(format!("health check for new transformers failed, polling error timed out: {last}")),
    }
}
