//! Reloads the file of `--authentication-config`. A new configuration becomes active when it is valid and all
//! its issuers are reachable. Until then, or after a timeout, the previous one remains.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::field::{self, Error, Path};
use authentication::oidc::{
    AnonymousAuth, AuthenticationConfiguration, IssuerOptions, Issuers, OidcTokens, validate,
};
use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Stability};
use tokio::time::{Instant, sleep};

use crate::reloads::{ReloadFamilies, ReloadMetrics, hash};

/// Interval of file checks.
const PERIOD: Duration = Duration::from_secs(1);
/// Maximum wait for the issuers of a new configuration.
const ISSUERS_MAX: Duration = Duration::from_secs(60);
/// Poll interval for the issuers.
const ISSUERS_PERIOD: Duration = Duration::from_millis(100);
/// Retry interval after a temporary failure.
const RETRY: Duration = Duration::from_secs(60);

const LAST_TIMESTAMP: Family<Gauge, 2> = Family::gauge(
    Stability::Beta,
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of authentication configuration split by status and apiserver identity.",
    ["apiserver_id_hash", "status"],
);
const TOTAL: Family<Counter, 2> = Family::counter(
    Stability::Beta,
    "apiserver_authentication_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of authentication configuration split by status and apiserver identity.",
    ["apiserver_id_hash", "status"],
);
const LAST_CONFIG: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_authentication_config_controller_last_config_info",
    "Information about the last applied authentication configuration with hash as label, split by apiserver identity.",
    ["apiserver_id_hash", "hash"],
);
const FAMILIES: ReloadFamilies =
    ReloadFamilies { last_timestamp: &LAST_TIMESTAMP, total: &TOTAL, last_config: &LAST_CONFIG };

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
    metrics: ReloadMetrics,
}

/// Reason of a failed reload.
enum ReloadError {
    /// The text is invalid; only another one helps.
    Permanent(String),
    /// A later attempt can succeed.
    Temporary(String),
}

impl Reloader {
    /// Creates the task for a file with the active text `applied`.
    pub(super) fn new(
        path: PathBuf,
        applied: Vec<u8>,
        anonymous: Option<AnonymousAuth>,
        tokens: OidcTokens,
        options: IssuerOptions,
        registry: &MetricsRegistry,
    ) -> Self {
        let metrics = ReloadMetrics::new(registry, &FAMILIES, &applied);
        Reloader { path, tracked: applied, failed: None, anonymous, tokens, options, metrics }
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
        let outcome = match &text {
            Ok(text) => self.apply(text).await,
            Err(error) => {
                Err(ReloadError::Temporary(format!("failed to read authentication config file: {error}")))
            }
        };
        match outcome {
            Ok(()) => {
                tracing::info!("reloaded authentication config");
                let text = text.unwrap_or_default();
                self.metrics.succeeded(hash(&text));
                (self.tracked, self.failed) = (text, None);
            }
            Err(failure) => {
                self.metrics.failed();
                let (ReloadError::Permanent(error) | ReloadError::Temporary(error)) = &failure;
                tracing::error!(error, "failed to apply the new authentication configuration");
                match (failure, text) {
                    (ReloadError::Permanent(_), Ok(text)) => (self.tracked, self.failed) = (text, None),
                    (_, text) => self.failed = Some((text.ok(), Instant::now() + RETRY)),
                }
            }
        }
    }

    async fn apply(&self, text: &[u8]) -> Result<(), ReloadError> {
        let load = |error| ReloadError::Permanent(format!("failed to load authentication config: {error}"));
        let read = AuthenticationConfiguration::read(text).map_err(load)?;
        let valid = validate(&read, &self.options.own_issuers, self.options.egress);
        let mut errors: Vec<Error> = valid.err().unwrap_or_default();
        if read.anonymous != self.anonymous {
            errors
                .push(Error::forbidden(&Path::root("anonymous"), "changed from initial configuration file"));
        }
        if let Some(errors) = field::aggregate(&errors) {
            return Err(ReloadError::Permanent(format!(
                "failed to validate authentication config: {errors}"
            )));
        }
        let update = |error: &dyn Display| {
            ReloadError::Temporary(format!("failed to update authentication config: {error}"))
        };
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
