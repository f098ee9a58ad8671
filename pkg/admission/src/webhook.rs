//! `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: servers that are asked about requests (upstream's
//! `plugin/webhook`). What is asked and what an answer means is here; who carries questions is a [`Caller`].

mod call;
mod figures;
mod hook;
mod hooks;
mod mutating;
mod response;
#[cfg(test)]
mod tests;
mod validating;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::dynamic::DynamicAdmissionDeps;
pub use figures::WebhookFigures;
pub use hook::{Hook, ServicePort, Target};
pub use hooks::Hooks;
pub use mutating::MutatingAdmissionWebhook;
pub use validating::ValidatingAdmissionWebhook;

/// Why a call brought no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// In words.
    pub message: String,
    /// The code for metrics: the answer's own, or 503 where there was none.
    pub code: u16,
    /// Whether the webhook could not even be called for how it is configured.
    pub misconfigured: bool,
}

/// Carries questions to webhooks.
#[async_trait]
pub trait Caller: Send + Sync + 'static {
    /// Posts JSON and returns the JSON that comes back. Takes no longer than `timeout`.
    ///
    /// # Errors
    /// [`CallFailure`].
    async fn call(&self, target: &Target, body: Vec<u8>, timeout: Duration) -> Result<Vec<u8>, CallFailure>;

    /// A new uid, for a question.
    fn uid(&self) -> String;
}

/// The hooks that are configured now; `None` as long as that is not known.
pub trait WebhookSource: Send + Sync + 'static {
    /// Of `MutatingWebhookConfiguration`s.
    fn mutating(&self) -> Option<Arc<Hooks>>;

    /// Of `ValidatingWebhookConfiguration`s.
    fn validating(&self) -> Option<Arc<Hooks>>;

    /// Those of [`mutating`](Self::mutating) that are from manifests on the server's disk. Requests about the
    /// configuration of admission are theirs, too: they cannot keep anybody from mending them.
    fn mutating_manifests(&self) -> Option<Arc<Hooks>> {
        None
    }

    /// Those of [`validating`](Self::validating) that are from manifests.
    fn validating_manifests(&self) -> Option<Arc<Hooks>> {
        None
    }
}

/// What the two plugins are made of.
#[derive(Clone)]
pub struct Webhooks {
    /// Whom to ask.
    pub configured: Arc<dyn WebhookSource>,
    /// Who carries questions.
    pub caller: Arc<dyn Caller>,
    /// What they need as policies do.
    pub around: DynamicAdmissionDeps,
    /// What is counted.
    pub figures: Arc<WebhookFigures>,
}

/// What a webhook did to a request, when it did not let it pass.
enum Failure {
    /// It was not asked, or gave no answer that counts.
    Call { message: String, code: u16 },
    /// It said no.
    Rejection(Box<apimachinery::status::Status>),
    /// The fault is this server's, or of what the webhook wants.
    Server(Box<apimachinery::status::Status>),
}
