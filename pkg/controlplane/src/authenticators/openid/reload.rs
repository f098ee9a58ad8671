//! Reloads the file of `--authentication-config`. A new configuration becomes active when it is valid and all
//! its issuers are reachable. Until then, or after a timeout, the previous one remains.

use std::fmt::Display;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::field::{self, Error, Path};
use authentication::oidc::{
    AnonymousAuth, AuthenticationConfiguration, IssuerOptions, Issuers, OidcTokens, label_hash, validate,
};
use server::metrics::Collector;
use tokio::time::{Instant, sleep};

/// Interval of file checks.
const PERIOD: Duration = Duration::from_secs(1);
/// Maximum wait for the issuers of a new configuration.
const ISSUERS_MAX: Duration = Duration::from_secs(60);
/// Poll interval for the issuers.
const ISSUERS_PERIOD: Duration = Duration::from_millis(100);
/// Retry interval after a temporary failure.
const RETRY: Duration = Duration::from_secs(60);

/// Reload task of the file.
pub(in crate::authenticators) struct Reloader {
    path: PathBuf,
    /// The last text that was applied or is permanently invalid.
    tracked: Vec<u8>,
    /// A text (or read error) with a temporary failure, and the time of the next attempt.
    failed: Option<(Option<Vec<u8>>, Instant)>,
    /// Anonymous access is fixed at start.
    anonymous: Option<AnonymousAuth>,
    tokens: OidcTokens,
    options: IssuerOptions,
    metrics: Arc<ReloadMetrics>,
}

/// Reason of a failed reload.
enum Failure {
    /// Permanent.
    Wrong(String),
    /// Temporary.
    NotYet(String),
}

impl Reloader {
    /// Creates the task for a file with the active text `applied`.
    pub(super) fn new(
        path: PathBuf,
        applied: Vec<u8>,
        anonymous: Option<AnonymousAuth>,
        tokens: OidcTokens,
        options: IssuerOptions,
        server: &str,
    ) -> Self {
        let server_hash = label_hash(server.as_bytes());
        let metrics = Arc::new(ReloadMetrics { server_hash, state: Mutex::default() });
        metrics.state().config_hash = label_hash(&applied);
        Reloader { path, tracked: applied, failed: None, anonymous, tokens, options, metrics }
    }

    pub(super) fn collector(&self) -> Arc<dyn Collector> {
        Arc::clone(&self.metrics) as Arc<dyn Collector>
    }

    /// Watches the file. Never returns.
    pub(in crate::authenticators) async fn run(mut self) {
        loop {
            sleep(PERIOD).await;
            self.round().await;
        }
    }

    async fn round(&mut self) {
        let path = self.path.clone();
        let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
        let text = match read {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => return,
        };
        let known = text.as_ref().ok();
        if known == Some(&self.tracked)
            || self.failed.as_ref().is_some_and(|(of, at)| of.as_ref() == known && Instant::now() < *at)
        {
            return;
        }
        let now = self.options.clock.now().seconds;
        let outcome = match &text {
            Ok(text) => self.apply(text).await,
            Err(error) => Err(Failure::NotYet(format!("failed to read authentication config file: {error}"))),
        };
        match outcome {
            Ok(()) => {
                tracing::info!("reloaded authentication config");
                let text = text.unwrap_or_default();
                self.metrics.reloaded(true, now, Some(label_hash(&text)));
                (self.tracked, self.failed) = (text, None);
            }
            Err(failure) => {
                self.metrics.reloaded(false, now, None);
                let (Failure::Wrong(error) | Failure::NotYet(error)) = &failure;
                tracing::error!(error, "failed to apply the new authentication configuration");
                match (failure, text) {
                    (Failure::Wrong(_), Ok(text)) => (self.tracked, self.failed) = (text, None),
                    (_, text) => self.failed = Some((text.ok(), Instant::now() + RETRY)),
                }
            }
        }
    }

    async fn apply(&self, text: &[u8]) -> Result<(), Failure> {
        let load = |error| Failure::Wrong(format!("failed to load authentication config: {error}"));
        let read = AuthenticationConfiguration::read(text).map_err(load)?;
        let valid = validate(&read, &self.options.own_issuers, self.options.egress);
        let mut errors: Vec<Error> = valid.err().unwrap_or_default();
        if read.anonymous != self.anonymous {
            errors
                .push(Error::forbidden(&Path::root("anonymous"), "changed from initial configuration file"));
        }
        if let Some(errors) = field::aggregate(&errors) {
            return Err(Failure::Wrong(format!("failed to validate authentication config: {errors}")));
        }
        let update =
            |error: &dyn Display| Failure::NotYet(format!("failed to update authentication config: {error}"));
        let issuers = Issuers::new(&read, &self.options).map_err(|error| update(&error))?;
        let until = Instant::now() + ISSUERS_MAX;
        while let Err(problem) = issuers.health() {
            if Instant::now() >= until {
                return Err(update(&format_args!("[{problem}, context deadline exceeded]")));
            }
            sleep(ISSUERS_PERIOD).await;
        }
        self.tokens.replace(issuers);
        Ok(())
    }
}

struct ReloadMetrics {
    server_hash: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Count and last time of successes, then of failures.
    reloads: [(u64, i64); 2],
    config_hash: String,
}

impl ReloadMetrics {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reloaded(&self, successfully: bool, now: i64, config_hash: Option<String>) {
        let mut state = self.state();
        let [successes, failures] = &mut state.reloads;
        let counted = if successfully { successes } else { failures };
        *counted = (counted.0 + 1, now);
        if let Some(hash) = config_hash {
            state.config_hash = hash;
        }
    }
}

impl Collector for ReloadMetrics {
    fn collect(&self, out: &mut String) {
        const PREFIX: &str = "apiserver_authentication_config_controller";
        let state = self.state();
        let server = &self.server_hash;
        let seen: Vec<(&str, (u64, i64))> = ["success", "failure"]
            .into_iter()
            .zip(state.reloads)
            .filter(|(_, (count, _))| *count > 0)
            .collect();
        if !seen.is_empty() {
            let _ = writeln!(
                out,
                "# HELP {PREFIX}_automatic_reload_last_timestamp_seconds [BETA] When the authentication configuration was read anew last, by status.\n\
                 # TYPE {PREFIX}_automatic_reload_last_timestamp_seconds gauge"
            );
            for (status, (_, when)) in &seen {
                let _ = writeln!(
                    out,
                    "{PREFIX}_automatic_reload_last_timestamp_seconds{{apiserver_id_hash=\"{server}\",status=\"{status}\"}} {when}"
                );
            }
            let _ = writeln!(
                out,
                "# HELP {PREFIX}_automatic_reloads_total [BETA] How often the authentication configuration was read anew, by status.\n\
                 # TYPE {PREFIX}_automatic_reloads_total counter"
            );
            for (status, (count, _)) in &seen {
                let _ = writeln!(
                    out,
                    "{PREFIX}_automatic_reloads_total{{apiserver_id_hash=\"{server}\",status=\"{status}\"}} {count}"
                );
            }
        }
        let hash = &state.config_hash;
        let _ = writeln!(
            out,
            "# HELP {PREFIX}_last_config_info [ALPHA] Which authentication configuration counts.\n\
             # TYPE {PREFIX}_last_config_info gauge\n\
             {PREFIX}_last_config_info{{apiserver_id_hash=\"{server}\",hash=\"{hash}\"}} 1"
        );
    }
}
