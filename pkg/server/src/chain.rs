//! Handler chain: the steps of every request, in order of execution.

pub(crate) mod audit;
mod context;
mod general_options;
pub(crate) mod impersonation;
mod observer;
mod rejection;
pub(crate) mod response_body;
pub(crate) mod services;
mod shutdown;
mod trace;
mod tunnel;
mod write_size;

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;

use futures::FutureExt;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY,
};
use http::request::Parts;
use http::{Method, StatusCode, Uri};
use http_body::Body as _;
use tokio::time::{Instant, Sleep, sleep_until, timeout_at};
use tokio_util::task::TaskTracker;

use ::audit::Sink;
use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use authentication::{Authenticated, Authenticator, Credentials};
use authorization::{Authorizer, authorize};
use component_base::features::Gate;
use component_base::trace::Span;
use endpoints::cpu_pool::{CpuPool, Overloaded, latest_start};
use endpoints::header;
use endpoints::proxy::BackendResponse;
use endpoints::routing::dispatch::{
    Body, Dispatch, InitializedFlag, Request, Response, Tunnel, UnchangedHead,
};
use endpoints::routing::path::is_of_api;

use crate::chain::audit::RecordedRequest;
use crate::chain::impersonation::Impersonation;
use crate::connection::peer::{ActiveRequest, Peer};
use crate::env::Env;
use crate::limits::flow::{self, ClassifiedRequest, FairQueuing};
use crate::limits::incomplete_heads::IncompleteHeads;
use crate::limits::inflight::{Inflight, is_long_running, is_mutating};
use crate::limits::limiter::{LimitGuards, RequestLimiter, ResponseLimitGuards};
use crate::limits::memory::Demand;
use crate::metrics::Metrics;
use crate::pages::Pages;
use crate::pages::console::Requests;
use crate::pages::routes::{self, panicked};
use crate::pages::snapshots;
use crate::respond;
use context::{AUDIT_ID, ContextOutcome};
use observer::{Observability, Observer, within_span};
use rejection::{ErrorHeaders, Rejection, unauthorized};
use response_body::ResponseBody;
pub use services::{ChainOptions, Services};
use shutdown::{ActiveToken, reject_late};
pub use trace::Traces;
use write_size::{PoolWrite, SizedWrite};

/// Handler chain with its active requests.
pub struct Chain {
    authenticator: Authenticator,
    authorizer: Arc<dyn Authorizer>,
    impersonation: Impersonation,
    dispatch: Arc<dyn Dispatch>,
    cpu_pool: CpuPool,
    incomplete_heads: Arc<IncompleteHeads>,
    /// Pages that the server handles itself.
    pages: Pages,
    observability: Observability,
    limiter: Arc<RequestLimiter>,
    /// Active requests that are not long-running.
    in_flight: TaskTracker,
    /// Active writes, which continue if the client disconnects.
    writes: TaskTracker,
    options: ChainOptions,
    env: Env,
}

/// Response that is being sent.
pub(crate) type SentResponse = http::Response<ResponseBody>;

/// Resources that a request holds until its response is complete.
pub(crate) struct RequestResources {
    pub(crate) observer: Observer,
    _active: ActiveRequest,
    _active_token: ActiveToken,
    /// Boxed, because most responses are complete immediately.
    pub(crate) response_guards: Option<Box<ResponseLimitGuards>>,
}

/// Data of an incoming request. Boxed, because each step would hold a copy of its own.
struct IncomingRequest<'r> {
    parts: Parts,
    body: Body,
    context: Arc<RequestContext>,
    peer: &'r Peer,
    received: Instant,
    observer: &'r Observer,
    classified: &'r ClassifiedRequest,
}

/// A response whose body is still to be sent, with the limit guards of its request until then.
struct DispatchedResponse {
    response: Response,
    guards: LimitGuards,
}

/// A write that this server performs itself.
struct LocalWrite {
    request: Request,
    guards: LimitGuards,
    /// Bytes of the body and of the stored object of an expensive write.
    object_bytes: Option<u64>,
    deadline: Instant,
    span: Span,
}

/// Parts of the request head that are needed after the handler has consumed the head.
struct RequestHead {
    method: Method,
    uri: Uri,
    error_headers: ErrorHeaders,
}

impl Chain {
    pub fn new(services: Services, options: ChainOptions, env: Env) -> Arc<Self> {
        let limiter = match services.fairness.clone() {
            Some(fairness) => {
                let dispatch = Arc::clone(&services.dispatch);
                RequestLimiter::Fair(FairQueuing::new(
                    fairness,
                    dispatch,
                    options.request_timeout,
                    env.clone(),
                ))
            }
            None => RequestLimiter::MaxInFlight(Inflight::new(options.inflight)),
        };
        let limiter = Arc::new(limiter);
        let requests = options.pages.debugging.as_ref().map(|_| Requests::new(Arc::clone(&env.clock)));
        let pages = routes::pages(&services, &limiter, requests.as_ref(), &options, &env);
        let incomplete_heads = IncompleteHeads::new(options.memory.limit(), &services.registry);
        let Services { authenticator, authorizer, dispatch, cpu_pool, metrics, traces, auditor, .. } =
            services;
        let clock = Arc::clone(&env.clock);
        Arc::new(Chain {
            authenticator,
            authorizer,
            impersonation: Impersonation::new(&options.gates),
            dispatch,
            cpu_pool,
            incomplete_heads,
            pages,
            observability: Observability { metrics, traces, auditor, requests, clock },
            limiter,
            in_flight: TaskTracker::new(),
            writes: TaskTracker::new(),
            options,
            env,
        })
    }

    /// Records the history of the console until dropped. Returns at once without a console.
    pub async fn record_history(&self) {
        if let Some(requests) = &self.observability.requests {
            requests.record_history().await;
        }
    }

    /// Waits until no write is active. Call it after the last request was accepted.
    pub async fn wait_for_writes(&self) {
        self.writes.close();
        self.writes.wait().await;
    }

    /// Serves one request. Every error and every panic becomes a response.
    ///
    /// context (request info, deadline) → authenticate → trace → impersonate → concurrency → authorize → memory → dispatch
    /// → decorate
    pub(crate) async fn serve(&self, request: http::Request<Body>, peer: &Arc<Peer>) -> SentResponse {
        let received = Instant::now();
        let active = peer.begin();
        let (parts, body) = request.into_parts();
        let head = RequestHead::of(&parts);
        let timeout_max = self.options.request_timeout;
        let ContextOutcome { context, rejection } =
            context::context(&parts, peer, received, timeout_max, &self.env);
        let context = Arc::new(context);
        if self.env.random_bool(self.options.goaway_chance) {
            peer.retire_http2();
        }
        let long_running = is_long_running(&context.info);
        let mut observer = Observer::begin(&self.observability, &parts, &context, received, long_running);
        if general_options::is_general(&parts) {
            return general_options::respond(observer, active);
        }
        let Some(active_token) = self.admit(&parts, long_running) else {
            return reject_late(peer, observer, active);
        };
        observer.open_record(&self.observability, self.recorded_request(&context, long_running));
        let classified = ClassifiedRequest::new();
        let outcome = match rejection {
            Some(rejection) => {
                observer.invalid(&context, &head.uri);
                Err(rejection)
            }
            None => {
                let incoming = IncomingRequest {
                    parts,
                    body,
                    context: Arc::clone(&context),
                    peer,
                    received,
                    observer: &observer,
                    classified: &classified,
                };
                self.run_with_deadline(Box::new(incoming)).await
            }
        };
        let DispatchedResponse { mut response, guards } =
            outcome.unwrap_or_else(|rejection| self.reject(rejection, head.error_headers, &observer));
        let duration = observer.record_response(&mut response, guards.concurrency.queue_time());
        let RequestHead { method, uri, .. } = head;
        let code = response.status();
        tracing::debug!(%method, %uri, %code, took = ?duration, audit_id = context.audit_id.as_str(), "request");
        if response.extensions_mut().remove::<UnchangedHead>().is_none() {
            self.add_headers(&mut response, &context, method == Method::HEAD);
            if self.options.disconnecting.is_cancelled() && code != StatusCode::SWITCHING_PROTOCOLS {
                peer.close_after_response(response.headers_mut());
            }
            flow::put_headers(&classified, response.headers_mut());
        }
        if let Some(tunnel) = response.extensions_mut().remove::<Tunnel>() {
            let until = received + timeout_max;
            return tunnel::observe_until_closed(tunnel, response, observer, guards, until);
        }
        let BodyResources { response_guards, deadline } =
            BodyResources::of(&mut response, guards, received + timeout_max, long_running);
        let resources =
            RequestResources { observer, _active: active, _active_token: active_token, response_guards };
        response.map(|body| ResponseBody::new(body, deadline, resources))
    }

    /// Returns the response for a request that was not dispatched. Counts it as terminated if the server
    /// rejects it for its own protection.
    fn reject(&self, rejection: Rejection, headers: ErrorHeaders, observer: &Observer) -> DispatchedResponse {
        let shed = matches!(rejection, Rejection::TooMany { .. } | Rejection::DeadlineExceeded(_));
        let response = self.respond_rejected(rejection, headers, observer);
        if shed {
            observer.record_termination(response.status());
        }
        DispatchedResponse { response, guards: LimitGuards::default() }
    }

    /// Response to a request that was not dispatched.
    fn respond_rejected(&self, rejection: Rejection, headers: ErrorHeaders, observer: &Observer) -> Response {
        match rejection {
            Rejection::Panicked(text) => {
                observer.record_panic(&text);
                headers.response(&panicked(self.metrics()))
            }
            Rejection::Status(status) => {
                observer.rejected(&status);
                headers.response(&status)
            }
            Rejection::TooMany { retry_after } => {
                self.metrics().dropped.increment();
                respond::too_many_requests(retry_after)
            }
            Rejection::DeadlineExceeded(status) => {
                self.metrics().timeouts.increment();
                observer.rejected(&status);
                let mut body = serde_json::to_vec(&status).unwrap_or_default();
                body.push(b'\n');
                respond::text(status.code, body)
            }
            Rejection::PlainText(text) => respond::text(500, text),
        }
    }

    /// Runs the steps within the deadline and converts a panic into a response.
    async fn run_with_deadline(
        &self,
        incoming: Box<IncomingRequest<'_>>,
    ) -> Result<DispatchedResponse, Rejection> {
        let deadline = deadline(&incoming.context);
        let steps = AssertUnwindSafe(self.run_steps(incoming)).catch_unwind();
        let outcome = match deadline {
            Some(deadline) => timeout_at(deadline, steps).await,
            None => Ok(steps.await),
        };
        match outcome {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => Err(Rejection::panic(&*panic)),
            Err(_elapsed) => Err(Rejection::deadline_exceeded()),
        }
    }

    /// The steps. Each one needs the proof of the previous one. Steps after authentication are traced.
    async fn run_steps(
        &self,
        mut incoming: Box<IncomingRequest<'_>>,
    ) -> Result<DispatchedResponse, Rejection> {
        let observer = incoming.observer;
        let sender = self.authenticate(&mut incoming).await;
        if !observer.record_received(&incoming.context, &incoming.parts.uri, sender.as_ref().ok()) {
            return Err(Rejection::internal(&incoming.parts.uri, "failed to store audit event"));
        }
        let sender = sender?;
        let IncomingRequest { parts, context, .. } = &*incoming;
        match observer.begin_span(&self.observability, parts, context, &sender, &self.env) {
            Some(span) => within_span(span, pin!(self.handle_authenticated(incoming, sender))).await,
            None => self.handle_authenticated(incoming, sender).await,
        }
    }

    /// Handles an authenticated request.
    async fn handle_authenticated(
        &self,
        incoming: Box<IncomingRequest<'_>>,
        sender: Authenticated,
    ) -> Result<DispatchedResponse, Rejection> {
        let IncomingRequest { mut parts, body, context, received, observer, classified, .. } = *incoming;
        let info = &context.info;
        let authorizer = self.authorizer.as_ref();
        let mut steps = observer.start_step_timer(&sender);
        let impersonations = &self.metrics().impersonations;
        let actor = self.impersonation.actor(&mut parts.headers, sender, info, authorizer, impersonations);
        let actor = actor.await?;
        steps.record_impersonation(self.impersonation.filter(), &actor);
        let concurrency = self.limiter.acquire(&context, actor.user(), received, classified).await;
        let concurrency = concurrency.map_err(|retry_after| Rejection::TooMany { retry_after })?;
        steps.record_queueing(self.limiter.filter(), &concurrency);
        let mut authorized = authorize(authorizer, actor.into_user(), info).await;
        if self.options.pages.snapshot.is_some() && snapshots::is_snapshot(info) {
            authorized = snapshots::authorize(authorizer, authorized, &mut parts.extensions).await;
        }
        steps.record_authorization(&authorized, &context.notes);
        let authorized = authorized.map_err(|refusal| unauthorized(refusal, &parts.uri))?;
        if is_of_api(&info.path) {
            observer.record_dispatch(&parts);
            let demand = Demand::of(&parts, &context, flow::is_exempt(classified), &*self.dispatch);
            let start_by = latest_start(context.deadline);
            let memory = self.options.memory.reserve(demand, &authorized.user().name, start_by).await?;
            let request = Request { parts, body, context, authorized };
            return self.dispatch(request, LimitGuards { concurrency, memory }, start_by).await;
        }
        let response = self.pages.handle(parts, body, context).await;
        Ok(DispatchedResponse { response, guards: LimitGuards { concurrency, ..LimitGuards::default() } })
    }

    /// Authenticates the request and removes the credentials from its headers, so that no later step can log
    /// or forward them.
    async fn authenticate(&self, incoming: &mut IncomingRequest<'_>) -> Result<Authenticated, Box<Status>> {
        let IncomingRequest { parts, context, peer, observer, .. } = incoming;
        let headers = &mut parts.headers;
        let authorization = endpoints::header::text(headers, AUTHORIZATION);
        let now = self.env.clock.now().seconds;
        let verdict = peer.client_certificates().map(|certificates| certificates.verdict(now));
        if let Some(last) = verdict.as_ref().and_then(|verdict| verdict.last) {
            observer.certificate_expires_in(last.saturating_sub(now));
        }
        let credentials = Credentials {
            certificates: verdict.as_ref().map(|verdict| &verdict.certificates),
            authorization: authorization.as_deref(),
            headers: Some(headers),
            path: &context.info.path,
            source: Some(peer.remote.ip()),
            now,
            notes: Some(&context.notes),
        };
        let start = Instant::now();
        let sender = self.authenticator.authenticate(credentials).await;
        observer.record_authentication(sender.as_ref(), start);
        self.authenticator.remove_credentials(headers);
        let is_known = sender.as_ref().is_ok_and(|sender| !sender.is_anonymous());
        if !is_known && self.options.gates.enabled(Gate::UnauthenticatedHTTP2DOSMitigation) {
            // HTTP/2 is easy to abuse (CVE-2023-44487). Unauthenticated clients get one request per
            // connection.
            peer.retire_http2();
        }
        sender.map_err(Into::into)
    }

    /// Dispatches a request to the API.
    ///
    /// A write runs in a separate task. Once it has started to write, it completes or times out, even if the
    /// client disconnects. Before that, the API may abort it when the client is gone, and its waits for memory
    /// end. An expensive write waits for its turn in the CPU pool until `start_by`. A forwarded request lasts as
    /// long as the connection.
    async fn dispatch(
        &self,
        mut request: Request,
        guards: LimitGuards,
        start_by: Instant,
    ) -> Result<DispatchedResponse, Rejection> {
        let info = &request.context.info;
        let is_local_write = is_mutating(info) && !self.dispatch.is_forwarded(info);
        let Some(deadline) = deadline(&request.context).filter(|_| is_local_write) else {
            return Ok(DispatchedResponse { response: self.dispatch.dispatch(request).await, guards });
        };
        let _client_guard = request.context.client.guard();
        let _wait_guard = guards.memory.wait_guard();
        request.body = guards.memory.reserve_received(request.body);
        let SizedWrite { request, pool } = SizedWrite::read(request, &*self.dispatch, &self.cpu_pool).await?;
        let object_bytes = pool.as_ref().map(PoolWrite::object_bytes);
        let write = LocalWrite { request, guards, object_bytes, deadline, span: Span::current() };
        let write = self.writes.track_future(write.perform(Arc::clone(&self.dispatch)));
        match pool {
            Some(pool) => self.cpu_pool.run(pool.start(start_by), write).await?,
            None => tokio::spawn(write).await?,
        }
    }

    /// Limit for the incomplete heads of all connections.
    pub(crate) fn incomplete_heads(&self) -> &Arc<IncompleteHeads> {
        &self.incomplete_heads
    }

    /// The metrics of the server.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.observability.metrics
    }

    /// Returns the audit sink, if any.
    pub(crate) fn audit_sink(&self) -> Option<Arc<dyn Sink>> {
        self.observability.sink()
    }

    fn recorded_request<'c>(
        &self,
        context: &'c Arc<RequestContext>,
        long_running: bool,
    ) -> RecordedRequest<'c> {
        let is_object_request = self.observability.auditor.is_some()
            && context.info.is_resource
            && !self.dispatch.is_forwarded(&context.info);
        RecordedRequest { context, long_running, is_object_request }
    }

    /// Adds the headers of every response. A response to HEAD keeps its headers and loses its body.
    fn add_headers(&self, response: &mut Response, context: &RequestContext, head: bool) {
        if head {
            if let Some(length) = response.body().size_hint().exact() {
                response.headers_mut().entry(http::header::CONTENT_LENGTH).or_insert(length.into());
            }
            *response.body_mut() = respond::empty();
        }
        // Go's proxy adds the headers of a backend to those of this server.
        let from_backend = response.extensions().get::<BackendResponse>().is_some();
        let headers = response.headers_mut();
        let set = |headers: &mut HeaderMap, name: HeaderName, value: HeaderValue| {
            if from_backend {
                header::prepend(headers, &name, value);
            } else {
                headers.entry(name).or_insert(value);
            }
        };
        if let Ok(mut id) = HeaderValue::from_maybe_shared(context.audit_id.bytes()) {
            // The id is not secret, but it never repeats. Marked as sensitive, it stays out of the HPACK
            // table and does not displace useful headers.
            id.set_sensitive(true);
            set(headers, AUDIT_ID, id);
        }
        endpoints::warning::prepend(headers, &context.notes.warnings());
        // Upstream's filters for the next headers run only after the path has been parsed.
        if context.info.path.is_empty() {
            return;
        }
        set(headers, CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if let Some(hsts) = &self.options.hsts {
            headers.entry(STRICT_TRANSPORT_SECURITY).or_insert_with(|| hsts.clone());
        }
    }
}

impl LocalWrite {
    /// Performs the write until its deadline.
    async fn perform(self, dispatch: Arc<dyn Dispatch>) -> Result<DispatchedResponse, Rejection> {
        let LocalWrite { mut request, guards, object_bytes, deadline, span } = self;
        let work = async {
            match object_bytes {
                Some(bytes) => guards.memory.reserve_processing(bytes).await?,
                None => request.body = guards.memory.reserve_while_read(request.body),
            }
            Ok::<_, Overloaded>(span.instrument(dispatch.dispatch(request)).await)
        };
        let response =
            timeout_at(deadline, work).await.map_err(|_elapsed| Rejection::deadline_exceeded())??;
        // The handler may have used the whole timeout and failed at the same moment.
        if response.status() == StatusCode::GATEWAY_TIMEOUT && Instant::now() >= deadline {
            return Err(Rejection::deadline_exceeded());
        }
        Ok(DispatchedResponse { response, guards })
    }
}

impl RequestHead {
    fn of(parts: &Parts) -> Self {
        RequestHead {
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            error_headers: ErrorHeaders::of(parts),
        }
    }
}

/// Resources that a request holds while its response body is sent.
struct BodyResources {
    response_guards: Option<Box<ResponseLimitGuards>>,
    deadline: Option<Pin<Box<Sleep>>>,
}

impl BodyResources {
    /// Holds the guards while a streamed body is sent, and cuts the body off at the deadline `until`.
    fn of(response: &mut Response, guards: LimitGuards, until: Instant, long_running: bool) -> Self {
        let initialized = response.extensions_mut().remove::<InitializedFlag>();
        // A body of known length is already in memory. Only a streamed body can exceed the deadline.
        if response.body().size_hint().exact().is_some() {
            return BodyResources { response_guards: None, deadline: None };
        }
        let response_guards = guards.into_response_guards(initialized, until).map(Box::new);
        let deadline = (!long_running).then(|| Box::pin(sleep_until(until)));
        BodyResources { response_guards, deadline }
    }
}

/// Deadline of a request; `None` for a long-running one.
fn deadline(context: &RequestContext) -> Option<Instant> {
    context.deadline.map(Instant::from_std)
}

#[cfg(test)]
mod tests;
