//! A channel whose calls are spans, propagated to etcd (OpenTelemetry's conventions for gRPC).

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use component_base::trace::Span;
use http::{HeaderValue, Request, Response};
use tonic::body::Body;
use tonic::transport::{Channel, Error};
use tower_service::Service;

/// Creates a span for each call within a span.
#[derive(Clone)]
pub(crate) struct TracedChannel(pub(crate) Channel);

impl Service<Request<Body>> for TracedChannel {
    type Response = Response<Body>;
    type Error = Error;
    type Future = Call<<Channel as Service<Request<Body>>>::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let method = request.uri().path().trim_start_matches('/');
        let span = Span::current()
            .call(method, || vec![("rpc.method", method.into()), ("rpc.system.name", "grpc".into())]);
        span.event_with("message", "rpc.message.type", "SENT");
        for (name, value) in span.headers() {
            if let Ok(value) = HeaderValue::try_from(value) {
                request.headers_mut().insert(name, value);
            }
        }
        Call { response: self.0.call(request), span }
    }
}

/// A running call; the span ends with it, or when the call is dropped.
pub(crate) struct Call<F> {
    response: F,
    span: Span,
}

impl<F> Future for Call<F>
where
    F: Future<Output = Result<Response<Body>, Error>> + Unpin,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let result = ready!(Pin::new(&mut self.response).poll(cx));
        let span = std::mem::take(&mut self.span);
        if span.is_none() {
            return Poll::Ready(result);
        }
        match &result {
            Ok(response) => {
                span.event_with("message", "rpc.message.type", "RECEIVED");
                // The status of an immediately failing call is in its headers; that of others is in the
                // trailers.
                let code = response.headers().get("grpc-status").and_then(|code| code.to_str().ok());
                if let Some(code) = code.filter(|code| *code != "0") {
                    span.failed(code);
                }
            }
            Err(error) => span.failed(&error.to_string()),
        }
        Poll::Ready(result)
    }
}
