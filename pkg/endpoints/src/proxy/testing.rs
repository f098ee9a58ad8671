//! A network in memory: whoever is called is a service that the test makes.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;

use super::{Backend, Network, Stream};
use crate::dispatch::Body;

/// Answers a request that was passed on.
type Answer = dyn Fn(Request<Incoming>) -> Response<Body> + Send + Sync;

/// Everybody that can be reached.
#[derive(Clone)]
pub(crate) struct Everybody {
    answer: Arc<Answer>,
}

impl Everybody {
    /// Gives this answer.
    pub(crate) fn answering(
        answer: impl Fn(Request<Incoming>) -> Response<Body> + Send + Sync + 'static,
    ) -> Self {
        Everybody { answer: Arc::new(answer) }
    }
}

#[async_trait]
impl Network for Everybody {
    async fn connect(&self, backend: Backend<'_>) -> Result<Box<dyn Stream>, String> {
        let Backend { host, port, .. } = backend;
        if port == "1" {
            return Err(format!("dial tcp {host}:1: connect: connection refused"));
        }
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let answer = Arc::clone(&self.answer);
        let service = service_fn(move |request| {
            let answer = answer(request);
            async move { Ok::<_, Infallible>(answer) }
        });
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            connection.serve_connection(TokioIo::new(theirs), service).with_upgrades().await.unwrap();
        });
        Ok(Box::new(ours))
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        host.parse().map(|address| vec![address]).map_err(|_| format!("lookup {host}: no such host"))
    }
}
