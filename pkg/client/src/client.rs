//! A client: an identity, and the connections that were made with it.

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST, HeaderValue};
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Body as _;
use hyper::client::conn::http1;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::Instant;

use crate::call::CrossOriginRedirect;
use crate::connect::Connector;
use crate::dial::{Dialer, Route};
use crate::error::Error;
use crate::exec::{ExecFigures, ExecPlugin, PluginCredentials};
use crate::impersonate::Impersonate;
use crate::material::{Material, Source};
use crate::tls::Tls;

/// A body's failure.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request's or a response's body.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// A body that is there already.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// How many idle HTTP/1.1 connections to one host are kept, and for how long (client-go's and Go's transports).
const IDLE_PER_HOST_MAX: usize = 25;
const IDLE_MAX: Duration = Duration::from_secs(90);
/// When a silent HTTP/2 connection is asked whether it still lives, and how long it may take to say so.
const PING_AFTER: Duration = Duration::from_secs(30);
const PING_MAX: Duration = Duration::from_secs(15);
/// Room for the head of an answer, in bytes, and its fields.
const HEAD_BYTES_MAX: u32 = 1 << 20;
const HEAD_FIELDS_MAX: usize = 1000;
/// Files are looked at again at most this often.
const REFRESH: Duration = Duration::from_secs(10);

/// How often a request is sent again that the other end did not process, and how long before the second such
/// time; each pause is twice the one before (Go's `http2.Transport`).
const RETRIES_MAX: usize = 7;
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// What a client is made of.
#[derive(Clone, Default)]
pub struct Options {
    /// TLS.
    pub tls: Tls,
    /// A bearer token for every request that has no `Authorization`.
    pub bearer: Option<Source>,
    /// A name and a password for those requests, where there is no token.
    pub basic: Option<Basic>,
    /// What gives a token or a certificate, where there is nothing of all that.
    pub plugin: Option<ExecPlugin>,
    /// In whose name requests are made, if not in the own.
    pub impersonate: Option<Impersonate>,
    /// Where hosts are that DNS does not know.
    pub route: Option<Route>,
    /// The way to hosts, if not through this machine's own network.
    pub dialer: Option<Dialer>,
}

/// A name and a password, as `Authorization` carries them.
#[derive(Clone, PartialEq, Eq)]
pub struct Basic(String);

impl Basic {
    /// Of a user's name and password.
    pub fn new(name: &str, password: &str) -> Self {
        Basic(STANDARD.encode(format!("{name}:{password}")))
    }
}

/// Says nothing.
impl fmt::Debug for Basic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Basic(…)")
    }
}

/// A client. Cheap to clone; clones share connections, which end with the last of them.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    options: Options,
    /// When files were looked at last; `None` if there are none.
    looked: Option<Mutex<Instant>>,
    live: ArcSwap<ClientState>,
}

type Pool = legacy::Client<Connector, Body>;

/// A client as its files were when they were read last.
pub(crate) struct ClientState {
    material: Material,
    /// What a plugin gave.
    issued: Option<Arc<PluginCredentials>>,
    authorization: Option<HeaderValue>,
    /// Who somebody else is.
    impersonated: HeaderMap,
    /// Connections with the protocol that the other end prefers.
    any: Pool,
    /// Connections that speak HTTP/1.1.
    http1: Pool,
    alone: Connector,
}

impl ClientState {
    /// With what is in files, and what a plugin gave.
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
        let alone = Connector {
            config: Arc::new(config.clone()),
            server_name: options.tls.server_name.clone(),
            route: options.route.clone(),
            dialer: options.dialer.clone(),
        };
        if !options.tls.http1_only {
            config.alpn_protocols.insert(0, b"h2".to_vec());
        }
        let any = Connector { config: Arc::new(config), ..alone.clone() };
        let authorization = authorization(options, &material)?;
        let impersonated =
            options.impersonate.as_ref().map(Impersonate::headers).transpose()?.unwrap_or_default();
        let (any, http1) = (pool(any), pool(alone.clone()));
        Ok(ClientState { material, issued, authorization, impersonated, any, http1, alone })
    }

    /// The same connections with another token; `None` if that is not all that a plugin gave anew.
    fn with_token(&self, options: &Options, issued: &Arc<PluginCredentials>) -> Option<Result<Self, Error>> {
        if self.issued.as_ref()?.certificate != issued.certificate {
            return None;
        }
        let material = Material { token: issued.token.clone(), ..self.material.clone() };
        let impersonated = self.impersonated.clone();
        let (any, http1, alone) = (self.any.clone(), self.http1.clone(), self.alone.clone());
        let issued = Some(Arc::clone(issued));
        let authorization = authorization(options, &material);
        Some(authorization.map(|authorization| ClientState {
            material,
            issued,
            authorization,
            impersonated,
            any,
            http1,
            alone,
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
    let mut value = HeaderValue::try_from(text).map_err(|error| Error::Credentials(error.to_string()))?;
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
    /// Reads files, and blocks on them.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub fn new(options: Options) -> Result<Self, Error> {
        let material = Material::read(&options.tls, options.bearer.as_ref())?;
        let changes = Material::may_change(&options.tls, options.bearer.as_ref());
        let live = ArcSwap::from_pointee(ClientState::new(&options, material, None)?);
        let looked = changes.then(|| Mutex::new(Instant::now()));
        Ok(Client(Arc::new(Inner { options, looked, live })))
    }

    /// Has runs of the program counted that gives credentials, if there is one.
    pub(crate) fn register_plugin_metrics(&self, figures: &Arc<ExecFigures>) {
        if let Some(plugin) = &self.0.options.plugin {
            plugin.count(figures);
        }
    }

    /// Sends a request for an absolute URL, on a connection that may have served others, and waits for the head of
    /// its answer. Redirects are answers. A request without a body is sent again if the other end did not process
    /// it. Time and bodies are the caller's to bound.
    ///
    /// # Errors
    /// Anything but [`Error::Timeout`], [`Error::TooLarge`], [`Error::Redirect`].
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, Error> {
        if request.body().is_end_stream() {
            self.send_whole(&request.map(|_| Bytes::new())).await
        } else {
            self.send_once(request).await
        }
    }

    /// [`send`](Self::send)s a request whose body is there, and which can be sent again: so it is, on another
    /// connection, when the other end says that it did not process it, as one does that goes away (HTTP/2).
    pub(crate) async fn send_whole(&self, request: &Request<Bytes>) -> Result<Response<Body>, Error> {
        let mut pause = Duration::ZERO;
        for _ in 0..RETRIES_MAX {
            match self.send_once(request.clone().map(full)).await {
                Err(Error::NotProcessed(why)) => tracing::debug!(why, "a request was not processed"),
                answer => return answer,
            }
            tokio::time::sleep(pause).await;
            pause = RETRY_DELAY.max(pause * 2);
        }
        self.send_once(request.clone().map(full)).await
    }

    async fn send_once(&self, mut request: Request<Body>) -> Result<Response<Body>, Error> {
        let live = self.live().await?;
        live.authorize(&mut request);
        // HTTP/2 has the host in the URL, which is where the pool connects to.
        let pool = if names_another_host(&request) { &live.http1 } else { &live.any };
        let answer = pool.request(request).await.map_err(|error| from_pool_error(&error))?;
        if answer.status() == StatusCode::UNAUTHORIZED
            && let (Some(plugin), Some(issued)) = (&self.0.options.plugin, &live.issued)
            && let Err(error) = plugin.refused(issued).await
        {
            tracing::warn!(error = error.to_string(), "credentials were refused, and there are no others");
        }
        Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    /// Sends a request for an absolute URL on a connection of its own, which it may turn into something else
    /// (`hyper::upgrade::on` the answer). The connection lasts as long as somebody reads the answer, or what is
    /// spoken afterwards.
    ///
    /// # Errors
    /// As [`send`](Self::send); [`Error::Connect`] before anything was sent.
    pub async fn send_alone(&self, mut request: Request<Body>) -> Result<Response<Body>, Error> {
        let live = self.live().await?;
        live.authorize(&mut request);
        let stream = live.alone.connect(request.uri()).await?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BYTES_MAX as usize).max_headers(HEAD_FIELDS_MAX);
        let handshake = builder.handshake(stream).await;
        let (mut sender, connection) = handshake.map_err(|error| Error::of_hyper(&error))?;
        tokio::spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "an outgoing connection ended");
            }
        });
        in_origin_form(&mut request);
        let answer = sender.send_request(request).await.map_err(|error| Error::before_answer(&error))?;
        Ok(answer.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    /// The client as its files are. Those that cannot be used leave the last good state in place, with a warning.
    /// Connections of a former state end with the requests that use them.
    ///
    /// # Errors
    /// What a plugin has to say instead of credentials.
    async fn live(&self) -> Result<Arc<ClientState>, Error> {
        let issued = match &self.0.options.plugin {
            Some(plugin) => plugin.issued().await.map(Some),
            None => Ok(None),
        };
        let issued = issued.map_err(|why| Error::Credentials(format!("getting credentials: {why}")))?;
        let current =
            |live: &ClientState| live.issued.as_ref().map(Arc::as_ptr) == issued.as_ref().map(Arc::as_ptr);
        let is_new = !current(&self.0.live.load());
        if is_new || self.is_due() {
            let inner = Arc::clone(&self.0);
            let refreshed = tokio::task::spawn_blocking(move || inner.refresh(issued)).await;
            match refreshed {
                Ok(Err(error)) if is_new => return Err(error),
                Ok(Err(error)) => tracing::warn!(%error, "the files of a client cannot be used"),
                _ => {}
            }
        }
        Ok(self.0.live.load_full())
    }

    fn is_due(&self) -> bool {
        let Some(looked) = &self.0.looked else { return false };
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
        let (options, live) = (&self.options, self.live.load());
        let mut material = Material::read(&options.tls, options.bearer.as_ref())?;
        let Some(issued) = issued else {
            if material != live.material {
                self.live.store(Arc::new(ClientState::new(options, material, None)?));
            }
            return Ok(());
        };
        (material.token, material.certificate) =
            (live.material.token.clone(), live.material.certificate.clone());
        let renewed = if material == live.material { live.with_token(options, &issued) } else { None };
        let renewed = renewed.unwrap_or_else(|| ClientState::new(options, material, Some(issued)));
        self.live.store(Arc::new(renewed?));
        Ok(())
    }
}

/// Whether a request has a `Host` that is not its URL's.
fn names_another_host(request: &Request<Body>) -> bool {
    let authority = request.uri().authority().map(http::uri::Authority::as_str).unwrap_or_default();
    request.headers().get(HOST).is_some_and(|host| host != authority)
}

/// Writes a request for a connection that is known to lead to its host.
fn in_origin_form(request: &mut Request<Body>) {
    let authority = request.uri().authority().map(|authority| HeaderValue::try_from(authority.as_str()));
    if let Some(Ok(host)) = authority {
        request.headers_mut().entry(HOST).or_insert(host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = path.map(http::Uri::from).unwrap_or_default();
}

fn from_pool_error(error: &legacy::Error) -> Error {
    let mut cause = error.source();
    while let Some(found) = cause {
        if let Some(error) = found.downcast_ref::<Error>() {
            return error.clone();
        }
        if let Some(error) = found.downcast_ref::<hyper::Error>() {
            return Error::before_answer(error);
        }
        cause = found.source();
    }
    Error::Http(error.to_string())
}

#[cfg(test)]
mod tests;
