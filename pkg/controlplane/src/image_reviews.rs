//! Client of the image policy webhook.

use std::fmt;
use std::sync::Arc;

use ::admission::{ImagePolicyConfiguration, ImageReviewError, ImageReviewer};
use async_trait::async_trait;
use client::kubeconfig::Kubeconfig;
use client::webhook::{ClientMetrics, Webhook};
use tokio::sync::Semaphore;

use crate::error::ConfigurationError;
use crate::system;

/// Maximum concurrent calls of the webhook. Further calls wait.
const CALLS_MAX: usize = 1024;

/// The image policy webhook with its configuration.
#[derive(Clone)]
pub(crate) struct ImagePolicy {
    pub(crate) configuration: ImagePolicyConfiguration,
    webhook: Webhook,
}

impl fmt::Debug for ImagePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImagePolicy").field("configuration", &self.configuration).finish_non_exhaustive()
    }
}

impl ImagePolicy {
    /// Parses the configuration and its kubeconfig. Blocks.
    ///
    /// # Errors
    /// Upstream's error message.
    pub(crate) fn read(text: Option<&[u8]>) -> Result<Self, ConfigurationError> {
        let configuration = ImagePolicyConfiguration::parse(text)?;
        let kubeconfig = Kubeconfig::read(&configuration.kubeconfig, &system::clock())?;
        let chance = Arc::new(|| rand::random_range(0.0..1.0));
        let webhook = Webhook::new(kubeconfig, configuration.retry_backoff, chance)?;
        Ok(ImagePolicy { configuration, webhook })
    }

    /// Adds metrics for its calls.
    pub(crate) fn with_metrics(self, metrics: &ClientMetrics) -> Self {
        ImagePolicy { webhook: self.webhook.with_metrics(metrics), ..self }
    }

    /// Returns the client for the admission plugin.
    pub(crate) fn reviewer(&self) -> Arc<dyn ImageReviewer> {
        Arc::new(Service { webhook: self.webhook.clone(), calls: Semaphore::new(CALLS_MAX) })
    }
}

struct Service {
    webhook: Webhook,
    calls: Semaphore,
}

#[async_trait]
impl ImageReviewer for Service {
    async fn post_review(&self, review: Vec<u8>) -> Result<Vec<u8>, ImageReviewError> {
        let permit = self.calls.acquire().await;
        let _permit = permit.map_err(|error| ImageReviewError::Call(error.to_string()))?;
        match self.webhook.call(review.into(), |_| {}).await {
            Ok(body) => Ok(body.into()),
            Err(failure) => {
                tracing::warn!(error = %failure, "failed to call the image policy webhook");
                Err(ImageReviewError::Call(failure.into_message()))
            }
        }
    }
}
