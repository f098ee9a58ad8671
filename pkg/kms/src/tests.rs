//! Tests of plugins behind real sockets.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use encryption::DecryptedValue;
use http::{Request, Response};
use prost::Message;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::Status;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic_prost::ProstCodec;
use tower::Service;

use super::plugin::{v1, v2};
use super::*;
use crate::testing::{SEAL, outside, unwrapped};

/// Plugin server for version `V`. `NAME` is the gRPC service name.
#[derive(Clone, Copy)]
struct Plugin<const V: u8>;

impl NamedService for Plugin<1> {
    const NAME: &'static str = "v1beta1.KeyManagementService";
}

impl NamedService for Plugin<2> {
    const NAME: &'static str = "v2.KeyManagementService";
}

/// Unary method that responds immediately.
struct Method<F>(F);

impl<Q, A, F: FnMut(Q) -> A> UnaryService<Q> for Method<F> {
    type Response = A;
    type Future = Ready<Result<tonic::Response<A>, Status>>;

    fn call(&mut self, request: tonic::Request<Q>) -> Self::Future {
        ready(Ok(tonic::Response::new(self.0(request.into_inner()))))
    }
}

async fn answer<Q, A>(request: Request<Body>, method: impl FnMut(Q) -> A) -> Response<Body>
where
    Q: Message + Default + 'static,
    A: Message + Default + 'static,
{
    Grpc::new(ProstCodec::<A, Q>::default()).unary(Method(method), request).await
}

async fn serve(request: Request<Body>) -> Response<Body> {
    let sealed = |plain: &[u8]| [SEAL, plain].concat();
    let path = request.uri().path().to_owned();
    match path.as_str() {
        v1::VERSION_METHOD => {
            answer(request, |it: v1::VersionRequest| v1::VersionResponse { version: it.version }).await
        }
        v1::ENCRYPT => {
            answer(request, |it: v1::CryptRequest| v1::CryptResponse { key: sealed(&it.key) }).await
        }
        v1::DECRYPT => {
            answer(request, |it: v1::CryptRequest| v1::CryptResponse { key: unwrapped(&it.key) }).await
        }
        v2::STATUS => {
            let status = |_: v2::StatusRequest| v2::StatusResponse {
                version: "v2".to_owned(),
                healthz: "ok".to_owned(),
                key_id: "key-1".to_owned(),
            };
            answer(request, status).await
        }
        v2::ENCRYPT => {
            let encrypt = |it: v2::EncryptRequest| v2::EncryptResponse {
                ciphertext: sealed(&it.plaintext),
                key_id: "key-1".to_owned(),
                annotations: [("who.example.com".to_owned(), b"me".to_vec())].into(),
            };
            answer(request, encrypt).await
        }
        v2::DECRYPT => {
            let decrypt = |it: v2::DecryptRequest| {
                let expected = ("key-1", Some(&b"me"[..]), 36);
                let got = (
                    it.key_id.as_str(),
                    it.annotations.get("who.example.com").map(Vec::as_slice),
                    it.uid.len(),
                );
                let plaintext = if got == expected { unwrapped(&it.ciphertext) } else { Vec::new() };
                v2::DecryptResponse { plaintext }
            };
            answer(request, decrypt).await
        }
        _ => Status::unimplemented("unknown method").into_http(),
    }
}

impl<const V: u8> Service<Request<Body>> for Plugin<V> {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(async move { Ok(serve(request).await) })
    }
}

fn listen(path: &Path) -> JoinHandle<()> {
    let listener = UnixListener::bind(path).unwrap();
    let server = tonic::transport::Server::builder().add_service(Plugin::<1>).add_service(Plugin::<2>);
    tokio::spawn(async move { server.serve_with_incoming(UnixListenerStream::new(listener)).await.unwrap() })
}

fn configured(version: KmsVersion, path: &Path) -> Kms {
    Kms {
        version,
        name: "p".to_owned(),
        cache_size: Some(10),
        endpoint: format!("unix://{}", path.display()),
        timeout: Duration::from_secs(10),
    }
}

#[tokio::test]
async fn plugin_sealed_values_open_in_another_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kms.sock");
    let _server = listen(&path);
    for version in [KmsVersion::V1, KmsVersion::V2] {
        let kms = configured(version, &path);
        let here = outside().provider(&kms).await.unwrap();
        assert_eq!(here.healthy().await, Ok(()), "{version:?}");
        let stored = here.seal(b"secret", b"/a").await.unwrap();
        let elsewhere = outside().provider(&kms).await.unwrap();
        assert_eq!(
            elsewhere.open(&stored, b"/a").await,
            Ok(DecryptedValue::current("secret".into())),
            "{version:?}"
        );
    }
}

#[tokio::test]
async fn hanging_plugin_call_ends_at_timeout() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kms.sock");
    // The kernel accepts connections, but no plugin responds.
    let _listener = UnixListener::bind(&path).unwrap();
    for version in [KmsVersion::V1, KmsVersion::V2] {
        let kms = Kms { timeout: Duration::from_millis(20), ..configured(version, &path) };
        let provider = outside().provider(&kms).await.unwrap();
        assert!(provider.healthy().await.is_err(), "{version:?}");
        assert!(provider.seal(b"secret", b"/a").await.is_err(), "{version:?}");
        let opens = futures::future::join_all((0..200_u8).map(|sealed| {
            let provider = Arc::clone(&provider);
            async move { provider.open(&[0, 1, sealed, 0], b"/a").await }
        }));
        assert!(opens.await.iter().all(Result::is_err), "{version:?}");
    }
}

/// Plugin that fails with a message of one megabyte.
#[derive(Clone, Copy)]
struct Loud;

impl NamedService for Loud {
    const NAME: &'static str = "v2.KeyManagementService";
}

impl Service<Request<Body>> for Loud {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        ready(Ok(Status::internal("x".repeat(1 << 20)).into_http()))
    }
}

#[tokio::test]
async fn plugin_error_text_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kms.sock");
    let listener = UnixListenerStream::new(UnixListener::bind(&path).unwrap());
    let server = tonic::transport::Server::builder().add_service(Loud);
    let server = tokio::spawn(async move { server.serve_with_incoming(listener).await });
    let kms = Kms { timeout: Duration::from_secs(1), ..configured(KmsVersion::V2, &path) };
    let provider = outside().provider(&kms).await.unwrap();
    let said = provider.healthy().await.unwrap_err().to_string();
    assert!(said.len() < 1024, "{}", said.len());
    server.abort();
}

#[tokio::test]
async fn unusable_plugin_is_refused() {
    let check = async |version, endpoint: &str, v1, expected: &str| {
        let kms = Kms { endpoint: endpoint.to_owned(), ..configured(version, Path::new("/")) };
        let refused = Plugins { v1, ..outside() }.provider(&kms).await.err().unwrap();
        assert_eq!(refused.to_string(), expected);
    };
    let off = "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead.  Set \
               --feature-gates=KMSv1=true to use the deprecated KMSv1 feature.";
    check(KmsVersion::V1, "unix:///a", false, off).await;
    let scheme = "could not configure KMSv1-Plugin's probe \"p\", error: unsupported scheme \"tcp\" for remote KMS provider";
    check(KmsVersion::V1, "tcp://a", true, scheme).await;
    let none = "could not configure KMSv2-Plugin's probe \"p\", error: remote KMS provider can't use empty string as endpoint";
    check(KmsVersion::V2, "", false, none).await;
}
