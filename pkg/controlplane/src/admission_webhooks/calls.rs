//! Transport of webhook calls.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use admission::webhook::{Caller, ReviewCallError, ServicePort, Target};
use async_trait::async_trait;
use client::kubeconfig::WebhookCredentials;
use client::webhook::{ClientMetrics, Dialers, Webhook, WebhookAddress};
use tokio::sync::OnceCell;

use crate::system;

/// Maximum response size in bytes. A patch may replace an object of 3 MiB, and base64 and JSON enlarge it.
const RESPONSE_BYTES_MAX: usize = 16 << 20;
/// Maximum number of webhooks with a connection pool. Those of earlier configurations are evicted.
const CLIENTS_MAX: usize = 1024;

/// Client that is created on the first call.
type LazyWebhook = Arc<OnceCell<Webhook>>;

/// Calls webhooks and maintains their connection pools.
pub(crate) struct WebhookCalls {
    dialers: Dialers,
    credentials: WebhookCredentials,
    metrics: Arc<ClientMetrics>,
    clients: Mutex<HashMap<Target, LazyWebhook>>,
}

impl WebhookCalls {
    /// Creates a caller without connections. `dialers` contains the transports and `credentials` the client
    /// credentials by host; `metrics` counts calls.
    pub(crate) fn new(
        dialers: Dialers,
        credentials: WebhookCredentials,
        metrics: Arc<ClientMetrics>,
    ) -> Self {
        WebhookCalls { dialers, credentials, metrics, clients: Mutex::default() }
    }

    fn client(&self, target: &Target) -> LazyWebhook {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(target) {
            return Arc::clone(client);
        }
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        Arc::clone(clients.entry(target.clone()).or_default())
    }

    async fn webhook(&self, target: &Target) -> Result<Webhook, client::Error> {
        let cell = self.client(target);
        let webhook = cell.get_or_try_init(|| async {
            let place = address(target);
            let authorities = target.authorities.clone();
            let credentials = self.credentials.for_webhook(&place)?;
            let dialers = self.dialers.clone();
            let webhook = tokio::task::spawn_blocking(move || {
                Webhook::for_webhook(&place, &authorities, credentials, &dialers, RESPONSE_BYTES_MAX)
            });
            // The task fails only if the server stops.
            let webhook = webhook.await.map_err(|error| client::Error::connect(error.to_string()))??;
            Ok::<_, client::Error>(webhook.with_metrics(&self.metrics))
        });
        webhook.await.cloned()
    }
}

fn address(target: &Target) -> WebhookAddress {
    match &target.service {
        None => WebhookAddress::Url(target.url.to_string()),
        Some(ServicePort { namespace, name, port, path }) => WebhookAddress::Service {
            namespace: namespace.to_string(),
            name: name.to_string(),
            port: *port,
            path: path.to_string(),
        },
    }
}

#[async_trait]
impl Caller for WebhookCalls {
    async fn call(
        &self,
        target: &Target,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<Vec<u8>, ReviewCallError> {
        let webhook = self.webhook(target).await;
        let webhook = webhook.map_err(|error| ReviewCallError {
            message: error.to_string(),
            code: 500,
            misconfigured: true,
        })?;
        let response = webhook.with_attempt_timeout(timeout).call_once(body.into(), &|_| {}).await;
        response.map(Vec::from).map_err(|failure| ReviewCallError {
            code: failure.code.unwrap_or(503),
            message: failure.into_message(),
            misconfigured: false,
        })
    }

    fn uid(&self) -> String {
        system::uid()
    }
}
