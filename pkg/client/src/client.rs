//! An HTTP client: credentials and connection pools.

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Body as _;
use hyper::client::conn::http1;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;

use crate::connect::{ConnectionUsage, Connector};
use crate::dial::{AddressCheck, Dialer, Route};
use crate::error::{Error, is_connection_loss};
use crate::exec::{ExecMetrics, ExecPlugin, PluginCredentials};
use crate::impersonate::Impersonate;
use crate::material::{Material, Source};
use crate::redirect::CrossOriginRedirect;
use crate::tls::Tls;

/// Error of a body stream.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Body of a request or response.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Creates a body from bytes in memory.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Maximum number and age of idle HTTP/1.1 connections per host (from client-go's and Go's transports).
const IDLE_PER_HOST_MAX: usize = 25;
const IDLE_MAX: Duration = Duration::from_secs(90);
/// Idle time of an HTTP/2 connection before a ping, and the ping timeout.
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_MAX: Duration = Duration::from_secs(15);
/// Maximum size of response headers in bytes, and their maximum number.
const HEAD_BYTES_MAX: u32 = 1 << 20;
const HEAD_FIELDS_MAX: usize = 1000;
/// Minimum interval between checks of credential files.
const REFRESH: Duration = Duration::from_secs(10);

/// Maximum number of retries for a request that the server did not process, and the pause before the second
/// retry. Each further pause doubles (Go's `http2.Transport`).
const RETRIES_MAX: usize = 7;
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Options of a client.
#[derive(Clone, Default)]
pub struct Options {
    pub tls: Tls,
    /// Bearer token for every request without `Authorization`.
    pub bearer: Option<Source>,
    /// Basic credentials for such requests, if there is no token.
    pub basic: Option<Basic>,
    /// Credential plugin, if there are no other credentials.
    pub plugin: Option<ExecPlugin>,
    /// User to impersonate.
    pub impersonate: Option<Impersonate>,
    /// Address lookup for hosts that DNS does not resolve.
    pub route: Option<Route>,
    /// Dialer that replaces direct connections, such as a proxy.
    pub dialer: Option<Dialer>,
    /// Restricts the addresses to connect to. Names are resolved here, all their addresses are checked, and the
    /// connection leads to one of them; a dialer gets the address in place of the name.
    pub permits_address: Option<AddressCheck>,
}

/// Basic credentials, encoded for `Authorization`.
#[derive(Clone, PartialEq, Eq)]
pub struct Basic(String);

impl Basic {
    /// Encodes a user name and password.
    pub fn new(name: &str, password: &str) -> Self {
        Basic(STANDARD.encode(format!("{name}:{password}")))
    }
}

/// Hides the credentials.
impl fmt::Debug for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Basic(…)")
    }
}

/// An HTTP client. Cheap to clone. Clones share connections, which are closed with the last clone.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    options: Options,
    /// Time of the last check of the files; `None` without files.
    checked_at: Option<Mutex<Instant>>,
    state: ArcSwap<ClientState>,
}

type Pool = legacy::Client<Connector, Body>;

/// Client state from one read of the files.
pub(crate) struct ClientState {
    material: Material,
    /// Credentials from the plugin.
    issued: Option<Arc<PluginCredentials>>,
    authorization: Option<HeaderValue>,
    /// Impersonation headers.
    impersonated: HeaderMap,
    /// Connections with the protocol that the server prefers.
    pool: Pool,
    /// Connections restricted to HTTP/1.1.
    http1: Pool,
    dedicated: Connector,
}

impl ClientState {
    /// Creates the state from file contents and plugin credentials.
    fn new(
        options: &Options,
        mut material: Material,
        issued: Option<Arc<PluginCredentials>>,
    ) -> Result<Self, Error> {
        if let Some(issued) = &issued {
            (material.token, material.certificate) = (issued.token.clone(), issued.certificate.clone());
        }
        let mut config = options.tls.config(&material)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let dedicated = Connector {
            config: Arc::new(config.clone()),
            server_name: options.tls.server_name.clone(),
            route: options.route.clone(),
            dialer: options.dialer.clone(),
            permits_address: options.permits_address,
        };
        if !options.tls.http1_only {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        let any = Connector { config: Arc::new(config), ..dedicated.clone() };
        let authorization = authorization(options, &material)?;
        let impersonated =
            options.impersonate.as_ref().map(Impersonate::headers).transpose()?.unwrap_or_default();
        let any = pool(any);
        let http1 = pool(dedicated.clone());
        Ok(ClientState { material, issued, authorization, impersonated, pool: any, http1, dedicated })
    }

    /// Creates the state with a new token and the same connections. Returns `None` if the plugin's
    /// certificate changed.
    fn with_token(&self, options: &Options, issued: &Arc<PluginCredentials>) -> Option<Result<Self, Error>> {
        if self.issued.as_ref()?.certificate != issued.certificate {
            return None;
        }
        let material = Material { token: issued.token.clone(), ..self.material.clone() };
        let impersonated = self.impersonated.clone();
        let pool = self.pool.clone();
        let http1 = self.http1.clone();
        let dedicated = self.dedicated.clone();
        let issued = Some(Arc::clone(issued));
        let authorization = authorization(options, &material);
        Some(authorization.map(|authorization| ClientState {
            material,
            issued,
            authorization,
            impersonated,
            pool,
            http1,
            dedicated,
        }))
    }

    fn authorize(&self, request: &mut Request<Body>) {
        if request.extensions().get::<CrossOriginRedirect>().is_none() {
            for name in self.impersonated.keys() {
                request.headers_mut().remove(name);
            }
            for (name, value) in &self.impersonated {
                request.headers_mut().append(name, value.clone());
            }
        }
        if let Some(value) = &self.authorization
            && !request.headers().contains_key(AUTHORIZATION)
            && request.extensions().get::<CrossOriginRedirect>().is_none()
        {
            request.headers_mut().insert(AUTHORIZATION, value.clone());
        }
    }
}

fn authorization(options: &Options, material: &Material) -> Result<Option<HeaderValue>, Error> {
    let token = material.token.as_ref().map(|token| format!("Bearer {token}"));
    let basic = options.basic.as_ref().map(|Basic(basic)| format!("Basic {basic}"));
    let Some(text) = token.or(basic) else { return Ok(None) };
    let mut value = HeaderValue::try_from(text).map_err(|error| Error::credentials(error.to_string()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

fn pool(connector: Connector) -> Pool {
    legacy::Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_MAX)
        .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
        .http1_max_buf_size(HEAD_BYTES_MAX as usize)
        .http1_max_headers(HEAD_FIELDS_MAX)
        .http2_max_header_list_size(HEAD_BYTES_MAX)
        .http2_keep_alive_interval(PING_AFTER)
        .http2_keep_alive_timeout(PING_MAX)
        .http2_keep_alive_while_idle(true)
        .build(connector)
}

impl Client {
    /// Creates a client. Reads files, which blocks.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub fn new(options: Options) -> Result<Self, Error> {
        let material = options.tls.material(options.bearer.as_ref())?;
        let changes = options.tls.may_change(options.bearer.as_ref());
        let state = ArcSwap::from_pointee(ClientState::new(&options, material, None)?);
        let checked_at = changes.then(|| Mutex::new(Instant::now()));
        Ok(Client(Arc::new(Inner { options, checked_at, state })))
    }

    /// Registers metrics for runs of the credential plugin, if there is one.
    pub(crate) fn register_plugin_metrics(&self, metrics: &Arc<ExecMetrics>) {
        if let Some(plugin) = &self.0.options.plugin {
            plugin.count(metrics);
        }
    }

    /// Sends a request for an absolute URL on a pooled connection and waits for the response headers.
    /// Redirects are returned. A request without a body is retried if the server did not process it, or if it
    /// is idempotent and a reused connection ended without a response. The caller must bound the time and the
    /// body size.
    ///
    /// # Errors
    /// Any except [`Error::Timeout`], [`Error::TooLarge`], [`Error::Redirect`].
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Error> {
        if request.body().is_end_stream() {
            self.send_and_read(&request.map(|_| Bytes::new())).await
        } else {
            self.send_once(request).await.map_err(|failure| failure.error)
        }
    }

    /// Like [`send`](Self::send), for a body in memory. It is retried on another connection if the server
    /// reports that it did not process the request, as an HTTP/2 server does when it shuts down. An idempotent
    /// request is also retried after the loss of a reused connection, which the server may have closed while
    /// it was idle (Go's `http.Transport`).
    pub(crate) async fn send_and_read(&self, request: &Request<Bytes>) -> Result<Response<Body>, Error> {
        let mut pause = Duration::ZERO;
        for _ in 0..RETRIES_MAX {
            match self.send_once(request.clone().map(full)).await {
                Err(SendError { error: Error::NotProcessed(error), .. }) => {
                    tracing::debug!(why = %error, "server did not process request");
                }
                Err(SendError { error, lost_reused: true }) if is_replayable(request) => {
                    tracing::debug!(why = %error, "server closed a reused connection");
                    continue;
                }
                result => return result.map_err(|failure| failure.error),
            }
            tokio::time::sleep(pause).await;
            pause = RETRY_DELAY.max(pause * 2);
        }
        self.send_once(request.clone().map(full)).await.map_err(|failure| failure.error)
    }

    async fn send_once(&self, mut request: Request<Body>) -> Result<Response<Body>, SendError> {
        let live = self.current_state().await?;
        live.authorize(&mut request);
        // HTTP/2 takes the host from the URL, which is also where the pool connects to.
        let pool = if names_another_host(&request) { &live.http1 } else { &live.pool };
        let response = pool.request(request).await.map_err(|error| SendError::of_pool(&error))?;
        ConnectionUsage::mark_used(&response);
        if response.status() == StatusCode::UNAUTHORIZED
            && let (Some(plugin), Some(issued)) = (&self.0.options.plugin, &live.issued)
            && let Err(error) = plugin.handle_rejection(issued).await
        {
            tracing::warn!(
                error = error.to_string(),
                "server rejected credentials and plugin returned no new ones"
            );
        }
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    /// Sends a request for an absolute URL on a dedicated connection, which can be upgraded
    /// (`hyper::upgrade::on` the response). The connection stays open while the response or the upgraded
    /// stream is in use.
    ///
    /// # Errors
    /// As [`send`](Self::send); [`Error::Connect`] if nothing was sent.
    pub async fn send_dedicated(&self, mut request: Request<Body>) -> Result<Response<Body>, Error> {
        let live = self.current_state().await?;
        live.authorize(&mut request);
        let stream = live.dedicated.connect(request.uri()).await?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BYTES_MAX as usize).max_headers(HEAD_FIELDS_MAX);
        let handshake = builder.handshake(stream).await;
        let (mut sender, connection) = handshake.map_err(|error| Error::of_hyper(&error))?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "outgoing connection ended");
            }
        });
        in_origin_form(&mut request);
        let response = sender.send_request(request).await.map_err(|error| Error::before_response(&error))?;
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    /// Returns the client state for the present files. If they are unusable, it warns and keeps the last good
    /// state. Connections of an earlier state close when their requests end.
    ///
    /// # Errors
    /// The plugin's error.
    async fn current_state(&self) -> Result<Arc<ClientState>, Error> {
        let issued = match &self.0.options.plugin {
            Some(plugin) => plugin.credentials().await.map(Some),
            None => Ok(None),
        };
        let issued = issued.map_err(|cause| Error::credentials(format!("getting credentials: {cause}")))?;
        let current =
            |live: &ClientState| live.issued.as_ref().map(Arc::as_ptr) == issued.as_ref().map(Arc::as_ptr);
        let is_new = !current(&self.0.state.load());
        if is_new || self.is_due() {
            let inner = Arc::clone(&self.0);
            let refreshed = tokio::task::spawn_blocking(move || inner.refresh(issued)).await;
            match refreshed {
                Ok(Err(error)) if is_new => return Err(error),
                Ok(Err(error)) => tracing::warn!(%error, "cannot load client credential files"),
                _ => {}
            }
        }
        Ok(self.0.state.load_full())
    }

    fn is_due(&self) -> bool {
        let Some(looked) = &self.0.checked_at else { return false };
        let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
        let due = looked.elapsed() >= REFRESH;
        if due {
            *looked = Instant::now();
        }
        due
    }
}

impl Inner {
    fn refresh(&self, issued: Option<Arc<PluginCredentials>>) -> Result<(), Error> {
        let options = &self.options;
        let live = self.state.load();
        let mut material = options.tls.material(options.bearer.as_ref())?;
        let Some(issued) = issued else {
            if material != live.material {
                self.state.store(Arc::new(ClientState::new(options, material, None)?));
            }
            return Ok(());
        };
        (material.token, material.certificate) =
            (live.material.token.clone(), live.material.certificate.clone());
        let renewed = if material == live.material { live.with_token(options, &issued) } else { None };
        let renewed = renewed.unwrap_or_else(|| ClientState::new(options, material, Some(issued)));
        self.state.store(Arc::new(renewed?));
        Ok(())
    }
}

/// Returns true if a request has a `Host` header that differs from its URL.
fn names_another_host(request: &Request<Body>) -> bool {
    let authority = request.uri().authority().map(http::uri::Authority::as_str).unwrap_or_default();
    request.headers().get(HOST).is_some_and(|host| host != authority)
}

/// Rewrites a request to origin form, for a connection to its host.
fn in_origin_form(request: &mut Request<Body>) {
    let authority = request.uri().authority().map(|authority| HeaderValue::try_from(authority.as_str()));
    if let Some(Ok(host)) = authority {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map(http::Uri::from).unwrap_or_default();
}

/// True for a method without side effects, or with a key that makes the request idempotent (Go's
/// `Request.isReplayable`).
fn is_replayable(request: &Request<Bytes>) -> bool {
    let has_key =
        ["idempotency-key", "x-idempotency-key"].iter().any(|name| request.headers().contains_key(*name));
    request.body().is_empty()
        && (has_key
            || matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE))
}

/// Failure of one attempt to send a request.
struct SendError {
    error: Error,
    /// True if an HTTP/1.1 connection ended without a response, after it had returned others.
    lost_reused: bool,
}

impl From<Error> for SendError {
    fn from(error: Error) -> Self {
        SendError { error, lost_reused: false }
    }
}

impl SendError {
    fn of_pool(error: &legacy::Error) -> Self {
        let used_http1 = error
            .connect_info()
            .is_some_and(|info| !info.is_negotiated_h2() && ConnectionUsage::was_used(info));
        SendError { lost_reused: used_http1 && is_connection_loss(error), error: from_pool_error(error) }
    }
}

fn from_pool_error(error: &legacy::Error) -> Error {
    let mut cause = error.source();
    while let Some(current) = cause {
        if let Some(error) = current.downcast_ref::<Error>() {
            return error.clone();
        }
        if let Some(error) = current.downcast_ref::<hyper::Error>() {
            return Error::before_response(error);
        }
        cause = current.source();
    }
    Error::http(error.to_string())
}

#[cfg(test)]
mod tests;
