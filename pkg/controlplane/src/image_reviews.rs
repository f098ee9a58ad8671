//! The way to the webhook that judges images.

use std::fmt;
use std::sync::Arc;

use ::admission::{ImagePolicyConfiguration, ImageReviewer};
use async_trait::async_trait;
use client::kubeconfig::Kubeconfig;
use client::webhook::{Figures, Webhook};
use tokio::sync::Semaphore;

use crate::system;

/// How many questions the webhook is asked at a time; further ones wait.
const CALLS_MAX: usize = 1024;

/// A webhook that judges images, and what its answers are worth.
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
    /// Reads a text and the kubeconfig that it names. Blocks.
    ///
    /// # Errors
    /// What upstream says of them.
    pub(crate) fn read(text: Option<&[u8]>) -> Result<Self, String> {
        let configuration = ImagePolicyConfiguration::parse(text)?;
        let kubeconfig = Kubeconfig::read(&configuration.kubeconfig, &system::clock())?;
        let chance = Arc::new(|| rand::random_range(0.0..1.0));
        let webhook = Webhook::new(kubeconfig, configuration.retry_backoff, chance)
            .map_err(|error| error.to_string())?;
        Ok(ImagePolicy { configuration, webhook })
    }

    /// The same, with its calls counted.
    pub(crate) fn counted(self, figures: &Figures) -> Self {
        ImagePolicy { webhook: self.webhook.counted(figures), ..self }
    }

    /// Who asks the webhook.
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
    async fn ask(&self, review: Vec<u8>) -> Result<Vec<u8>, String> {
        let _permit = self.calls.acquire().await.map_err(|error| error.to_string())?;
        match self.webhook.call(review.into(), |_| {}).await {
            Ok(body) => Ok(body.into()),
            Err(failure) => {
                tracing::warn!(error = %failure, "failed to ask the webhook that judges images");
                Err(failure.message)
            }
        }
    }
}
