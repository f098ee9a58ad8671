//! Reloads the file of `--authentication-config`. A new configuration becomes active when it is valid and all
//! its issuers are reachable. Until then, or after a timeout, the previous one remains.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::field::{self, Error, Path};
use authentication::oidc::{
    AnonymousAuth, AuthenticationConfiguration, IssuerOptions, Issuers, OidcTokens, validate,
};
use component_base::metrics::{Counter, Family, Gauge, Stability};
use tokio::time::{Instant, sleep};

use crate::process::Monitoring;
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
    /// Permanent problem of the text in `tracked`, and the time to report it again.
    stale: Option<(ReloadError, Instant)>,
    /// Anonymous access is fixed at start.
    anonymous: Option<AnonymousAuth>,
    tokens: OidcTokens,
    options: IssuerOptions,
    metrics: ReloadMetrics,
}

/// Reason of a failed reload.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error("failed to read authentication config file: {0}")]
    Read(#[source] io::Error),
    #[error("failed to load authentication config: {0}")]
    Load(#[source] authentication::Error),
    /// The configuration breaks these rules.
    #[error("failed to validate authentication config: {0}")]
    Invalid(String),
    #[error("failed to update authentication config: {0}")]
    Update(#[source] authentication::Error),
    /// An issuer could not be reached in time.
    #[error("failed to update authentication config: [{0}, context deadline exceeded]")]
    Timeout(#[source] authentication::Error),
}

impl ReloadError {
    /// True if only another text helps; otherwise a later attempt can succeed.
    fn is_permanent(&self) -> bool {
        matches!(self, ReloadError::Load(_) | ReloadError::Invalid(_))
    }
}

impl Reloader {
    /// Creates the task for a file with the active text `applied`.
    pub(super) fn new(
        path: PathBuf,
        applied: Vec<u8>,
        anonymous: Option<AnonymousAuth>,
        tokens: OidcTokens,
        options: IssuerOptions,
        monitoring: Monitoring<'_>,
    ) -> Self {
        let metrics = ReloadMetrics::new(monitoring, &FAMILIES, &path, &applied);
        Reloader { path, tracked: applied, failed: None, stale: None, anonymous, tokens, options, metrics }
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
        let Ok(read) = read else { return };
        let text = read.as_ref().ok();
        if text == Some(&self.tracked) {
            return self.report_stale();
        }
        if self.failed.as_ref().is_some_and(|(of, at)| of.as_ref() == text && Instant::now() < *at) {
            return;
        }
        let text = match read {
            Ok(text) => text,
            Err(error) => return self.reject(ReloadError::Read(error), None),
        };
        match self.apply(&text).await {
            Ok(()) => {
                tracing::info!("reloaded authentication config");
                self.metrics.succeeded(hash(&text));
                (self.tracked, self.failed, self.stale) = (text, None, None);
            }
            Err(error) => self.reject(error, Some(text)),
        }
    }

    /// Reports again that the present text is unusable, if it is and the last report is a minute old.
    fn report_stale(&mut self) {
        if let Some((error, next)) = &mut self.stale
            && Instant::now() >= *next
        {
            *next = Instant::now() + RETRY;
            self.metrics.stale(error);
        }
    }

    /// Reports a failed reload. `text` is `None` if the file could not be read.
    fn reject(&mut self, error: ReloadError, text: Option<Vec<u8>>) {
        self.metrics.failed(&error);
        match text {
            Some(text) if error.is_permanent() => {
                let next = Instant::now() + RETRY;
                (self.tracked, self.failed, self.stale) = (text, None, Some((error, next)));
            }
            text => self.failed = Some((text, Instant::now() + RETRY)),
        }
    }

    async fn apply(&self, text: &[u8]) -> Result<(), ReloadError> {
        let read = AuthenticationConfiguration::read(text).map_err(ReloadError::Load)?;
        let valid = validate(&read, &self.options.own_issuers, self.options.egress);
        let mut errors: Vec<Error> = valid.err().unwrap_or_default();
        if read.anonymous != self.anonymous {
            errors
                .push(Error::forbidden(&Path::root("anonymous"), "changed from initial configuration file"));
        }
        if let Some(errors) = field::aggregate(&errors) {
            return Err(ReloadError::Invalid(errors));
        }
        let issuers = Issuers::new(&read, &self.options).map_err(ReloadError::Update)?;
        let until = Instant::now() + ISSUERS_MAX;
        while let Err(problem) = issuers.health() {
            if Instant::now() >= until {
                return Err(ReloadError::Timeout(problem));
            }
            sleep(ISSUERS_PERIOD).await;
        }
        self.tokens.replace(issuers);
        Ok(())
    }
}
