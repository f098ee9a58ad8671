//! Webhooks configured by API objects: by URL, or by Service reference (apiserver's
//! `util/webhook/client.go`).

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use component_base::trace::Span;
use http::Uri;

use super::{AttemptCallback, LIMITS, Webhook, WebhookCallError};
use crate::client::{Client, Options};
use crate::dial::{Address, Dialer, Route};
use crate::error::Error;
use crate::exec::Cluster;
use crate::kubeconfig::Credentials;
use crate::material::Source;
use crate::tls::{Tls, Trust};

/// Address of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookAddress {
    /// An absolute URL.
    Url(String),
    /// A port of a Service.
    Service {
        namespace: String,
        name: String,
        port: u16,
        /// Request path; may be empty.
        path: String,
    },
}

/// Resolves the namespace, name and port of a Service to an address. Called for each new connection.
///
/// # Errors
/// The reason, worded for clients.
pub type ServiceResolver = Arc<dyn Fn(&str, &str, u16) -> Result<Address, crate::Error> + Send + Sync>;

/// Resolver and dialers for webhook calls.
#[derive(Clone)]
pub struct Dialers {
    /// Service resolver.
    pub services: ServiceResolver,
    /// Dialer for Services; `None` connects directly.
    pub to_services: Option<Dialer>,
    /// Dialer for URLs; `None` connects directly.
    pub to_urls: Option<Dialer>,
}

impl Dialers {
    /// Connects directly over this machine's network.
    pub fn direct(services: ServiceResolver) -> Self {
        Dialers { services, to_services: None, to_urls: None }
    }
}

impl Webhook {
    /// Creates a client for a webhook with these credentials. `authorities` is the PEM of the trusted CAs; if
    /// empty, the system's CAs are trusted. Attempts time out after 30 s, and responses are limited to
    /// `response_bytes_max` bytes. Reads the system's CAs, which blocks.
    ///
    /// # Errors
    /// [`Error::Credentials`], [`Error::Http`] for an invalid URL.
    pub fn for_webhook(
        address: &WebhookAddress,
        authorities: &[u8],
        credentials: Credentials,
        dialers: &Dialers,
        response_bytes_max: usize,
    ) -> Result<Self, Error> {
        let Credentials { certificate, bearer, basic, plugin, impersonate, expected } = credentials;
        let trust = match (&expected, authorities.trim_ascii()) {
            (Some(expected), _) => Trust::Bundle(Source::Inline(Arc::clone(&expected.authorities))),
            (None, []) => Trust::System,
            (None, _) => Trust::Bundle(Source::Inline(authorities.into())),
        };
        // HTTP/2 sends all requests to one of the pods behind a Service (kubernetes/kubernetes#75791).
        let mut tls = Tls { trust, certificate, http1_only: true, ..Tls::default() };
        let (url, route) = match address {
            WebhookAddress::Url(url) => (url.clone(), None),
            WebhookAddress::Service { namespace, name, port, path } => {
                let host = format!("{name}.{namespace}.svc");
                let slash = if path.starts_with('/') || path.is_empty() { "" } else { "/" };
                let url = format!("https://{host}:{port}{slash}{path}");
                tls.server_name = Some(host);
                (url, Some(to_service(namespace, name, &dialers.services)))
            }
        };
        let url: Uri = url.parse().map_err(|error| Error::http(format!("parse \"{url}\": {error}")))?;
        // Calls to this server itself need no proxy.
        let dialer = match (&expected, address) {
            (Some(_), _) => None,
            (None, WebhookAddress::Url(_)) => dialers.to_urls.clone(),
            (None, WebhookAddress::Service { .. }) => dialers.to_services.clone(),
        };
        tls.server_name = expected.map(|expected| expected.name).or(tls.server_name);
        tls.http1_only = route.is_some() || !is_this_host(&url);
        let plugin = plugin.map(|plugin| plugin.of_cluster(|| cluster(&url, &tls, authorities)));
        let client = Client::new(Options {
            tls,
            bearer,
            basic,
            plugin,
            impersonate,
            route,
            dialer,
            permits_address: None,
        })?;
        let limits = crate::Limits { response_bytes_max, ..LIMITS };
        let initial_wait = Duration::ZERO;
        let jitter = Arc::new(|| 0.0);
        let webhook =
            Webhook { client, url, limits, initial_wait, jitter, retries_all_failures: false, metrics: None };
        Ok(webhook.with_attempt_timeout(LIMITS.total))
    }

    /// Sets the timeout of an attempt. It is sent to the webhook in whole seconds, rounded up.
    #[must_use]
    pub fn with_attempt_timeout(self, timeout: Duration) -> Self {
        let seconds = timeout.as_secs().saturating_add(u64::from(timeout.subsec_nanos() > 0));
        let mut webhook = self.with_timeout(Duration::from_secs(seconds));
        webhook.limits.total = timeout;
        webhook
    }

    /// Posts a JSON body once and reads the JSON response. Propagates the trace of the current span.
    ///
    /// # Errors
    /// [`WebhookCallError`].
    pub async fn call_once(
        &self,
        body: bytes::Bytes,
        report: AttemptCallback<'_>,
    ) -> Result<bytes::Bytes, WebhookCallError> {
        let span = Span::current().call("HTTP POST", || vec![("http.request.method", "POST".into())]);
        let headers = span.headers();
        let call = pin!(self.attempt(&body, &headers, report));
        span.instrument(call).await
    }
}

/// Returns the cluster information for a credential plugin.
fn cluster(url: &Uri, tls: &Tls, authorities: &[u8]) -> Cluster {
    let authority = url.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    Cluster {
        server: format!("{}://{authority}", url.scheme_str().unwrap_or("https")),
        tls_server_name: tls.server_name.clone().unwrap_or_default(),
        authorities: authorities.to_vec(),
        ..Cluster::default()
    }
}

/// Returns true if a URL is on this machine, where there is no load balancer.
fn is_this_host(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn to_service(namespace: &str, name: &str, services: &ServiceResolver) -> Route {
    let namespace = namespace.to_owned();
    let name = name.to_owned();
    let services = Arc::clone(services);
    Arc::new(move |_, port| services(&namespace, &name, port))
}
