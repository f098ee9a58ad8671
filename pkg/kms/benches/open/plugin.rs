//! A plugin that seals by reversing the bytes.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic_prost::ProstCodec;
use tower::Service;

#[derive(Clone, Copy)]
struct Plugin;

impl NamedService for Plugin {
    const NAME: &'static str = "v2.KeyManagementService";
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct StatusAnswer {
    #[prost(string, tag = "1")]
    version: String,
    #[prost(string, tag = "2")]
    healthz: String,
    #[prost(string, tag = "3")]
    key_id: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct EncryptAnswer {
    #[prost(bytes = "vec", tag = "1")]
    ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    key_id: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
struct Question {
    #[prost(bytes = "vec", tag = "1")]
    plaintext: Vec<u8>,
}

struct AskStatus;

impl UnaryService<()> for AskStatus {
    type Response = StatusAnswer;
    type Future = Ready<Result<tonic::Response<StatusAnswer>, Status>>;

    fn call(&mut self, _: tonic::Request<()>) -> Self::Future {
        let [version, healthz, key_id] = ["v2", "ok", "key-1"].map(str::to_owned);
        ready(Ok(tonic::Response::new(StatusAnswer { version, healthz, key_id })))
    }
}

struct Encrypt;

impl UnaryService<Question> for Encrypt {
    type Response = EncryptAnswer;
    type Future = Ready<Result<tonic::Response<EncryptAnswer>, Status>>;

    fn call(&mut self, question: tonic::Request<Question>) -> Self::Future {
        let ciphertext = question.into_inner().plaintext.into_iter().rev().collect();
        ready(Ok(tonic::Response::new(EncryptAnswer { ciphertext, key_id: "key-1".to_owned() })))
    }
}

impl Service<Request<Body>> for Plugin {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/v2.KeyManagementService/Status" => {
                    Grpc::new(ProstCodec::default()).unary(AskStatus, request).await
                }
                "/v2.KeyManagementService/Encrypt" => {
                    Grpc::new(ProstCodec::default()).unary(Encrypt, request).await
                }
                _ => Status::unimplemented("unknown method").into_http(),
            })
        })
    }
}

/// Serves the plugin on `listener`.
pub(crate) fn serve(listener: UnixListener) {
    let server = tonic::transport::Server::builder().add_service(Plugin);
    tokio::spawn(server.serve_with_incoming(UnixListenerStream::new(listener)));
}
