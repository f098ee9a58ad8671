//! A signer behind a real socket.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::future::{Future, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request as HttpRequest, Response as HttpResponse};
use tokio::net::UnixListener;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc as Server, NamedService, UnaryService};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;
use tower::Service;

use super::messages::{Key, Timestamp};
use super::*;

/// The fake signer: signs by reversing the claims, and has one key.
#[derive(Clone)]
struct Signer;

impl NamedService for Signer {
    const NAME: &'static str = "v1.ExternalJWTSigner";
}

struct Sign;

impl UnaryService<SignRequest> for Sign {
    type Response = SignResponse;
    type Future = std::future::Ready<Result<tonic::Response<SignResponse>, Status>>;

    fn call(&mut self, request: Request<SignRequest>) -> Self::Future {
        let signature = request.into_inner().claims.chars().rev().collect();
        ready(Ok(tonic::Response::new(SignResponse { header: "head".to_owned(), signature })))
    }
}

struct Keys;

impl UnaryService<FetchKeysRequest> for Keys {
    type Response = FetchKeysResponse;
    type Future = std::future::Ready<Result<tonic::Response<FetchKeysResponse>, Status>>;

    fn call(&mut self, _: Request<FetchKeysRequest>) -> Self::Future {
        let key = Key { key_id: "one".to_owned(), key: vec![1, 2], exclude_from_oidc_discovery: true };
        ready(Ok(tonic::Response::new(FetchKeysResponse {
            keys: vec![key],
            data_timestamp: Some(Timestamp { seconds: 1, nanos: 0 }),
            refresh_hint_seconds: 7,
        })))
    }
}

impl Service<HttpRequest<Body>> for Signer {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/v1.ExternalJWTSigner/Sign" => Server::new(ProstCodec::default()).unary(Sign, request).await,
                "/v1.ExternalJWTSigner/FetchKeys" => {
                    Server::new(ProstCodec::default()).unary(Keys, request).await
                }
                _ => Status::unimplemented("unknown method Metadata").into_http(),
            })
        })
    }
}

fn serve(listener: UnixListener) -> tokio::task::JoinHandle<()> {
    let server = tonic::transport::Server::builder().add_service(Signer);
    tokio::spawn(async move { server.serve_with_incoming(UnixListenerStream::new(listener)).await.unwrap() })
}

#[tokio::test]
async fn socket_signer_signs_and_lists_keys() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("signer.sock");
    let _server = serve(UnixListener::bind(&path).unwrap());
    let signer = SocketSigner::new(path.to_str().unwrap(), Arc::default());
    let signed = signer.sign("abc").await;
    assert_eq!(signed, Ok(ExternalSignature { header: "head".to_owned(), signature: "cba".to_owned() }));
    let keys = signer.keys().await.unwrap();
    let key = ExternalKey { id: "one".to_owned(), spki: vec![1, 2], excluded_from_discovery: true };
    assert_eq!(
        keys,
        ExternalKeySet { keys: vec![key], refresh_after_seconds: 7, data: UnixTime { seconds: 1, nanos: 0 } }
    );
}

#[tokio::test]
async fn late_signer_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("signer.sock");
    let signer = SocketSigner::new(path.to_str().unwrap(), Arc::default());
    let signing = tokio::spawn(async move { signer.sign("abc").await });
    tokio::task::yield_now().await;
    let _server = serve(UnixListener::bind(&path).unwrap());
    assert_eq!(signing.await.unwrap().unwrap().signature, "cba");
}

#[tokio::test]
async fn errors_are_worded_like_grpc_go() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("signer.sock");
    let _server = serve(UnixListener::bind(&path).unwrap());
    let refused = SocketSigner::new(path.to_str().unwrap(), Arc::default()).token_seconds_max().await;
    let expected = "rpc error: code = Unimplemented desc = unknown method Metadata";
    assert_eq!(refused.unwrap_err().to_string(), expected);
}
