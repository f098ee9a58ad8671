//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook` (upstream's `plugin/webhook`). This module
//! builds reviews and interprets responses. A [`Caller`] transports them.

mod call;
mod hook;
mod hooks;
mod metrics;
mod mutating;
mod response;
#[cfg(test)]
mod tests;
mod validating;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kinds::warnings::is_excluded_from_webhooks;

use crate::Attributes;
use crate::dynamic::DynamicAdmissionDeps;
pub use hook::{Hook, ServicePort, Target};
pub use hooks::Hooks;
pub use metrics::WebhookMetrics;
pub use mutating::MutatingAdmissionWebhook;
pub use validating::ValidatingAdmissionWebhook;

/// Failed call of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ReviewCallError {
    pub message: String,
    /// HTTP status for metrics: that of the response, or 503 if there was none.
    pub code: u16,
    /// True if the configuration is invalid, so that no call was possible.
    pub misconfigured: bool,
}

/// Transport to webhooks.
#[async_trait]
pub trait Caller: Send + Sync + 'static {
    /// Posts JSON and returns the response body. Takes at most `timeout`.
    ///
    /// # Errors
    /// [`ReviewCallError`].
    async fn call(
        &self,
        target: &Target,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, ReviewCallError>;

    /// Returns a new uid for a review.
    fn uid(&self) -> String;
}

/// The current webhooks. `None` until they are loaded.
pub trait WebhookSource: Send + Sync + 'static {
    /// Webhooks of `MutatingWebhookConfiguration`s.
    fn mutating(&self) -> Option<Arc<Hooks>>;

    /// Webhooks of `ValidatingWebhookConfiguration`s.
    fn validating(&self) -> Option<Arc<Hooks>>;

    /// The webhooks of [`mutating`](Self::mutating) that come from manifests on the server's disk. They apply
    /// to requests about the admission configuration too, because the API cannot lock out changes of them.
    fn mutating_manifests(&self) -> Option<Arc<Hooks>> {
        None
    }

    /// The webhooks of [`validating`](Self::validating) that come from manifests.
    fn validating_manifests(&self) -> Option<Arc<Hooks>> {
        None
    }
}

/// Dependencies of the two webhook plugins.
#[derive(Clone)]
pub struct Webhooks {
    pub source: Arc<dyn WebhookSource>,
    pub caller: Arc<dyn Caller>,
    /// Dependencies shared with policies.
    pub deps: DynamicAdmissionDeps,
    pub metrics: Arc<WebhookMetrics>,
    /// True if access and token reviews reach no webhook (`ExcludeAdmissionWebhookVirtualResources`).
    pub excludes_reviews: bool,
}

impl Webhooks {
    /// True for requests that no webhook receives.
    fn excludes(&self, a: &Attributes<'_>) -> bool {
        self.excludes_reviews && is_excluded_from_webhooks(a.resource.group, a.resource.plural)
    }
}

/// A request that a webhook did not accept.
#[derive(Debug, thiserror::Error)]
enum WebhookError {
    /// The webhook was not called or returned no valid response.
    #[error("{message}")]
    Call { message: String, code: u16 },
    /// The webhook rejected the request.
    #[error("{}", .0.message)]
    Rejection(Box<apimachinery::status::Status>),
    /// This server failed, or the requested version cannot be built.
    #[error("{}", .0.message)]
    Server(Box<apimachinery::status::Status>),
}
