//! Client of authorization webhooks.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use authorization::Error;
use authorization::config::WebhookConfiguration;
use authorization::webhook::{Attempt, CallResponse, Caller};
use client::Dialer;
use client::kubeconfig::Kubeconfig;
use client::webhook::{ClientMetrics, Webhook};
use tokio::sync::Semaphore;

use crate::system;

/// Initial retry back-off in milliseconds.
const WAIT_MS: u64 = 500;
/// Maximum concurrent calls of one webhook; further calls wait. The in-flight limits do not cover watches, so
/// this limit is needed.
const CALLS_MAX: usize = 1024;

/// A webhook from a kubeconfig.
struct Service {
    webhook: Webhook,
    calls: Semaphore,
}

/// Creates the client, through `dialer` if there is one; `metrics` counts its calls.
///
/// # Errors
/// An unusable kubeconfig.
pub(super) fn connect(
    config: &WebhookConfiguration,
    dialer: Option<&Dialer>,
    metrics: &ClientMetrics,
) -> Result<Arc<dyn Caller>, Error> {
    let mut kubeconfig = Kubeconfig::read(&config.kubeconfig, &system::clock()).map_err(unusable)?;
    kubeconfig.options.dialer = dialer.cloned();
    let chance = Arc::new(|| rand::random_range(0.0..1.0));
    let webhook = Webhook::new(kubeconfig, Duration::from_millis(WAIT_MS), chance)
        .map_err(unusable)?
        .with_timeout(config.timeout)
        .with_metrics(metrics);
    Ok(Arc::new(Service { webhook, calls: Semaphore::new(CALLS_MAX) }))
}

fn unusable(error: client::Error) -> Error {
    Error::Connect(error.to_string())
}

#[async_trait]
impl Caller for Service {
    async fn post_review(
        &self,
        review: Vec<u8>,
        failed: &(dyn Fn(Attempt) + Send + Sync),
    ) -> Result<CallResponse, Error> {
        let _permit = self.calls.acquire().await.map_err(|error| Error::Evaluation(error.to_string()))?;
        let response_time: OnceLock<Duration> = OnceLock::new();
        let record = |attempt: client::webhook::Attempt| match attempt.code {
            Some(200..300) => drop(response_time.set(attempt.duration)),
            _ => failed(Attempt { duration: attempt.duration, timed_out: attempt.timed_out }),
        };
        match self.webhook.call(review.into(), record).await {
            Ok(body) => Ok(CallResponse {
                body: body.into(),
                duration: response_time.get().copied().unwrap_or_default(),
            }),
            Err(failure) => {
                tracing::error!(error = %failure, "failed to make webhook authorizer request");
                Err(Error::Evaluation(failure.into_message()))
            }
        }
    }
}
