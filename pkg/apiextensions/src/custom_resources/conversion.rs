//! Conversion webhook of a CRD whose versions differ in more than their name.

mod metrics;
mod review;

use std::pin::pin;
use std::sync::Arc;

use ::api::tree::{child, text, texts};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use client::kubeconfig::WebhookCredentials;
use client::webhook::{ClientMetrics, Dialers, Webhook, WebhookAddress};
use component_base::trace::Span;
use registry::generic::{ConversionError, Convert, Entropy};
use schema::object::Object;
use tokio::sync::OnceCell;
use tokio::task::JoinError;
use tokio::time::Instant;

use metrics::CallResult;
pub use metrics::ConversionMetrics;
use review::{Review, ReviewError};

/// Maximum response size in bytes: several times the size of a request, which contains 2 MiB of objects plus
/// one object.
const RESPONSE_BYTES_MAX: usize = 16 << 20;

/// Shared dependencies of all conversion webhooks.
#[derive(Clone)]
pub struct ConversionDeps {
    /// Transports.
    pub dialers: Dialers,
    /// Client credentials: anonymous, except for requests to this server itself.
    pub credentials: WebhookCredentials,
    pub metrics: Arc<ConversionMetrics>,
    /// Metrics of all webhook calls.
    pub calls: Arc<ClientMetrics>,
    /// The source of the UIDs of reviews.
    pub entropy: Arc<dyn Entropy>,
}

/// The conversion webhook of a CRD.
pub(super) struct WebhookConversion {
    /// Name of the CRD.
    definition: String,
    address: WebhookAddress,
    authorities: Vec<u8>,
    /// The review version that both sides support.
    review: Option<Review>,
    deps: ConversionDeps,
    /// Client, created on the first call. Most are never called.
    webhook: OnceCell<Result<Webhook, WebhookError>>,
}

/// Error of a webhook call without a usable response.
#[derive(Debug, Clone, thiserror::Error)]
enum WebhookError {
    #[error(transparent)]
    Client(#[from] client::Error),
    /// The client could not be created, because the server stops.
    #[error(transparent)]
    Task(Arc<JoinError>),
    #[error(transparent)]
    Call(#[from] client::webhook::WebhookCallError),
}

/// Error of a conversion, in upstream's wording. `what` is the kind of the objects.
#[derive(Debug, thiserror::Error)]
enum ConversionCallError {
    #[error("no supported conversion review versions")]
    Unsupported,
    #[error("conversion webhook for {what} failed: {source}")]
    Webhook { what: String, source: WebhookError },
    #[error("conversion webhook for {what} failed: {source}")]
    Response { what: String, source: ReviewError },
    #[error("conversion webhook for {what} returned {got} objects, expected {expected}")]
    Count { what: String, got: usize, expected: usize },
    #[error("conversion webhook for {what} returned {source}")]
    Object { what: String, source: ReviewError },
}

impl ConversionCallError {
    /// Result of the call for the metrics.
    fn result(&self) -> CallResult {
        match self {
            ConversionCallError::Unsupported | ConversionCallError::Webhook { .. } => CallResult::Call,
            ConversionCallError::Response { .. } => CallResult::Malformed,
            ConversionCallError::Count { .. } => CallResult::Partial,
            ConversionCallError::Object { .. } => CallResult::Invalid,
        }
    }
}

impl WebhookConversion {
    /// Reads the conversion webhook of a stored CRD, if it has one.
    pub(super) fn read(definition: &str, spec: &Object, deps: &ConversionDeps) -> Option<Arc<dyn Convert>> {
        let conversion =
            child(spec, "conversion").filter(|conversion| text(conversion, "strategy") == "Webhook")?;
        // CRDs are stored in v1beta1.
        let config = child(conversion, "webhookClientConfig")?;
        let service = child(config, "service").map(|service| {
            let port = service.get("port").and_then(|port| port.as_u64()).and_then(|n| u16::try_from(n).ok());
            WebhookAddress::Service {
                namespace: text(service, "namespace").to_owned(),
                name: text(service, "name").to_owned(),
                port: port.unwrap_or(443),
                path: text(service, "path").to_owned(),
            }
        });
        Some(Arc::new(WebhookConversion {
            definition: definition.to_owned(),
            address: service.unwrap_or_else(|| WebhookAddress::Url(text(config, "url").to_owned())),
            // Validation has checked that it is base64.
            authorities: STANDARD.decode(text(config, "caBundle")).unwrap_or_default(),
            review: texts(conversion, "conversionReviewVersions").find_map(Review::of_version),
            deps: deps.clone(),
            webhook: OnceCell::new(),
        }))
    }

    async fn webhook(&self) -> Result<&Webhook, WebhookError> {
        let webhook = self.webhook.get_or_init(|| async {
            let address = self.address.clone();
            let authorities = self.authorities.clone();
            let credentials = self.deps.credentials.for_webhook(&address)?;
            let dialers = self.deps.dialers.clone();
            let webhook = tokio::task::spawn_blocking(move || {
                Webhook::for_webhook(&address, &authorities, credentials, &dialers, RESPONSE_BYTES_MAX)
            });
            let webhook = webhook.await.map_err(|error| WebhookError::Task(Arc::new(error)))??;
            Ok(webhook.with_metrics(&self.deps.calls))
        });
        webhook.await.as_ref().map_err(Clone::clone)
    }

    async fn call_webhook(&self, objects: &[Object], to: &str) -> Result<Vec<Object>, ConversionCallError> {
        let review = self.review.ok_or(ConversionCallError::Unsupported)?;
        let kind = || review::kind_of(objects);
        let failed = |source| ConversionCallError::Webhook { what: kind(), source };
        let uid = self.deps.entropy.uid();
        let span = Span::current().child("Call conversion webhook", || {
            vec![
                ("custom-resource-definition", self.definition.as_str().into()),
                ("desired-api-version", to.into()),
                ("object-count", objects.len().into()),
                ("UID", uid.as_str().into()),
            ]
        });
        let request = review.build_review(&uid, objects, to);
        let webhook = self.webhook().await.map_err(failed)?;
        let response = span.instrument(pin!(webhook.call_once(request.into(), &|_| {}))).await;
        let response = response.map_err(|error| failed(error.into()))?;
        let converted = review
            .parse_review(&response, &uid)
            .map_err(|source| ConversionCallError::Response { what: kind(), source })?;
        if converted.len() != objects.len() {
            let got = converted.len();
            let expected = objects.len();
            return Err(ConversionCallError::Count { what: kind(), got, expected });
        }
        let checked = objects.iter().zip(converted).map(|(from, into)| review::checked(from, into, to));
        checked
            .collect::<Result<_, _>>()
            .map_err(|source| ConversionCallError::Object { what: kind(), source })
    }
}

#[async_trait]
impl Convert for WebhookConversion {
    async fn convert(&self, objects: Vec<Object>, to: &str) -> Result<Vec<Object>, ConversionError> {
        let start = Instant::now();
        let converted = self.call_webhook(&objects, to).await;
        let result = converted.as_ref().map_or_else(ConversionCallError::result, |_| CallResult::Success);
        let from = objects.first().map_or("", |object| text(object, "apiVersion"));
        self.deps.metrics.record_call(result, &self.definition, from, to, start.elapsed());
        converted.map_err(ConversionError::new)
    }
}
