//! In-memory network: every connection goes to a test service.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::{Network, NetworkError, Trust};
use crate::routing::dispatch::Body;

/// Handler of a proxied request.
type Answer = dyn Fn(Request<Incoming>) -> Response<Body> + Send + Sync;

/// Network on which every host exists.
#[derive(Clone)]
pub(crate) struct TestNetwork {
    answer: Arc<Answer>,
}

impl TestNetwork {
    /// Creates a network with this handler.
    pub(crate) fn answering(
        respond: impl Fn(Request<Incoming>) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        TestNetwork { answer: Arc::new(respond) }
    }
}

#[async_trait]
impl Network for TestNetwork {
    async fn send(
        &self,
        _: Trust,
        mut request: Request<Body>,
    ) -> Result<crate::routing::dispatch::Response, NetworkError> {
        if request.uri().port_u16() == Some(1) {
            return Err(NetworkError::Dial("dial tcp 10.0.0.1:1: connect: connection refused".into()));
        }
        let (client_end, server_end) = tokio::io::duplex(1 << 16);
        let respond = Arc::clone(&self.answer);
        let service = service_fn(move |request| {
            let respond = respond(request);
            async move { Ok::<_, Infallible>(respond) }
        });
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            connection.serve_connection(TokioIo::new(server_end), service).with_upgrades().await.unwrap();
        });
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(client_end)).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        *request.uri_mut() = Uri::from(request.uri().path_and_query().unwrap().clone());
        let response = sender.send_request(request).await.unwrap();
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }

    async fn send_dedicated(
        &self,
        trust: Trust,
        request: Request<Body>,
    ) -> Result<crate::routing::dispatch::Response, NetworkError> {
        self.send(trust, request).await
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NetworkError> {
        host.parse()
            .map(|address| vec![address])
            .map_err(|_| NetworkError::Dial(format!("lookup {host}: no such host").into()))
    }
}
