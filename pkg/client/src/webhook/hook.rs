//! Webhooks that objects in the API name: by URL, or by the Service in front of them (apiserver's
//! `util/webhook/client.go`).

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use component_base::trace::Span;
use http::Uri;

use super::{AttemptCallback, CallError, LIMITS, Webhook};
use crate::client::{Client, Options};
use crate::dial::{Address, Dialer, Route};
use crate::error::Error;
use crate::exec::Cluster;
use crate::kubeconfig::Credentials;
use crate::material::Source;
use crate::tls::{Tls, Trust};

/// Where a webhook is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookAddress {
    /// At an absolute URL.
    Url(String),
    /// At a port of a Service.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// A port of it.
        port: u16,
        /// The path of requests; may be empty.
        path: String,
    },
}

/// Where a port of a Service is: namespace, name and port are asked about. Asked for each new connection.
///
/// # Errors
/// Why nobody is there, in words for clients.
pub type ServiceResolver = Arc<dyn Fn(&str, &str, u16) -> Result<Address, String> + Send + Sync>;

/// The ways to webhooks.
#[derive(Clone)]
pub struct Dialers {
    /// Where Services are.
    pub services: ServiceResolver,
    /// The way to Services, if not through this machine's own network.
    pub to_services: Option<Dialer>,
    /// The way to URLs, likewise.
    pub to_urls: Option<Dialer>,
}

impl Dialers {
    /// Through this machine's own network.
    pub fn direct(services: ServiceResolver) -> Self {
        Dialers { services, to_services: None, to_urls: None }
    }
}

impl Webhook {
    /// A webhook at a place, called by whom `credentials` say. `authorities` is PEM of whom to believe there; with
    /// nothing, whom the system believes.
    /// Attempts may take 30 s, and bring `response_bytes_max` bytes. Reads the system's authorities, and blocks on it.
    ///
    /// # Errors
    /// [`Error::Credentials`], [`Error::Http`] for a URL that is none.
    pub fn at(
        place: &WebhookAddress,
        authorities: &[u8],
        credentials: Credentials,
        ways: &Dialers,
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
        let (url, route) = match place {
            WebhookAddress::Url(url) => (url.clone(), None),
            WebhookAddress::Service { namespace, name, port, path } => {
                let host = format!("{name}.{namespace}.svc");
                let slash = if path.starts_with('/') || path.is_empty() { "" } else { "/" };
                let url = format!("https://{host}:{port}{slash}{path}");
                tls.server_name = Some(host);
                (url, Some(to_service(namespace, name, &ways.services)))
            }
        };
        let url: Uri = url.parse().map_err(|error| Error::Http(format!("parse \"{url}\": {error}")))?;
        // No proxy is needed for this server itself.
        let dialer = match (&expected, place) {
            (Some(_), _) => None,
            (None, WebhookAddress::Url(_)) => ways.to_urls.clone(),
            (None, WebhookAddress::Service { .. }) => ways.to_services.clone(),
        };
        tls.server_name = expected.map(|expected| expected.name).or(tls.server_name);
        tls.http1_only = route.is_some() || !is_this_host(&url);
        let plugin = plugin.map(|plugin| plugin.of_cluster(|| cluster(&url, &tls, authorities)));
        let client = Client::new(Options { tls, bearer, basic, plugin, impersonate, route, dialer })?;
        let limits = crate::Limits { response_bytes_max, ..LIMITS };
        let (initial_wait, chance) = (Duration::ZERO, Arc::new(|| 0.0));
        let webhook = Webhook { client, url, limits, initial_wait, chance, hopes: false, counted: None };
        Ok(webhook.with_timeout(LIMITS.total))
    }

    /// The same with another limit on how long an attempt may take. The webhook is told in whole seconds, rounded up.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        let seconds = timeout.as_secs().saturating_add(u64::from(timeout.subsec_nanos() > 0));
        let mut webhook = self.with_timeout(Duration::from_secs(seconds));
        webhook.limits.total = timeout;
        webhook
    }

    /// Posts a JSON body once and reads the JSON that comes back. A request that is recorded is recorded there, too.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn call_once(
        &self,
        body: bytes::Bytes,
        tell: AttemptCallback<'_>,
    ) -> Result<bytes::Bytes, CallError> {
        let span = Span::current().call("HTTP POST", || vec![("http.request.method", "POST".into())]);
        let headers = span.headers();
        let asked = pin!(self.attempt(&body, &headers, tell));
        span.within(asked).await
    }
}

/// What a program that gives credentials is told of a webhook.
fn cluster(url: &Uri, tls: &Tls, authorities: &[u8]) -> Cluster {
    let authority = url.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    Cluster {
        server: format!("{}://{authority}", url.scheme_str().unwrap_or("https")),
        tls_server_name: tls.server_name.clone().unwrap_or_default(),
        authorities: authorities.to_vec(),
        ..Cluster::default()
    }
}

/// Whether a URL is of the machine that this is, where nobody balances load.
fn is_this_host(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn to_service(namespace: &str, name: &str, services: &ServiceResolver) -> Route {
    let (namespace, name, services) = (namespace.to_owned(), name.to_owned(), Arc::clone(services));
    Arc::new(move |_, port| services(&namespace, &name, port))
}
