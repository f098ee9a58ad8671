//! `--service-account-signing-endpoint`: another process signs the tokens of service accounts (KEP-740). It is
//! asked by gRPC over a Unix socket; its interface is `k8s.io/externaljwt/apis/v1`.
//!
//! What a signature and keys have to be like, `authentication` knows; here is what they look like on the wire,
//! and how long anybody waits for them.

mod messages;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use authentication::service_account::{ExternalKey, ExternalKeySet, ExternalSignature, ExternalSigner};
use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use messages::{
    FetchKeysRequest, FetchKeysResponse, MetadataRequest, MetadataResponse, SignRequest, SignResponse,
};
use tokio::net::UnixStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// How long a call may take, the wait for a signer that is not there yet included (upstream's figure for keys).
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The same for the question how long tokens may live.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait before a signer that is not there is looked for again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// A signer at a socket. It is connected to when it is needed, and again when it was away.
#[derive(Clone)]
pub struct SocketSigner(Channel);

impl SocketSigner {
    /// A signer at a socket in the file system, or in the kernel's own name space if the name begins with `@`.
    pub fn new(socket: &str) -> Self {
        let path = match socket.strip_prefix('@') {
            Some(name) => PathBuf::from(format!("\0{name}")),
            None => PathBuf::from(socket),
        };
        let connector = tower::service_fn(move |_: Uri| {
            let path = path.clone();
            async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
        });
        SocketSigner(Endpoint::from_static("http://localhost").connect_with_connector_lazy(connector))
    }

    /// The longest time that a token may live, in seconds.
    ///
    /// # Errors
    /// What went wrong, as gRPC words it.
    pub async fn token_seconds_max(&self) -> Result<i64, String> {
        let answer: MetadataResponse = self.call("Metadata", MetadataRequest {}, METADATA_TIMEOUT).await?;
        Ok(answer.max_token_expiration_seconds)
    }

    /// Calls a method. Waits for a signer that is not there, as upstream does, until the time is over.
    async fn call<Q, A>(&self, method: &str, request: Q, timeout: Duration) -> Result<A, String>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        let path = PathAndQuery::try_from(format!("/v1.ExternalJWTSigner/{method}"));
        let path = path.map_err(|error| error.to_string())?;
        let attempts = async {
            loop {
                let codec = ProstCodec::<Q, A>::default();
                let mut client = Grpc::new(self.0.clone());
                let answer = match client.ready().await {
                    Ok(()) => client.unary(Request::new(request.clone()), path.clone(), codec).await,
                    Err(error) => Err(Status::from_error(error.into())),
                };
                match answer {
                    Err(status) if is_away(&status) => tokio::time::sleep(RETRY_AFTER).await,
                    answer => return answer,
                }
            }
        };
        match tokio::time::timeout(timeout, attempts).await {
            Ok(Ok(answer)) => Ok(answer.into_inner()),
            Ok(Err(status)) => Err(worded(&status)),
            Err(_) => Err(worded(&Status::deadline_exceeded("context deadline exceeded"))),
        }
    }
}

/// Whether a call failed because nobody is at the other end. Asking again does no harm: no call changes anything.
fn is_away(status: &Status) -> bool {
    status.source().is_some_and(|cause| cause.is::<tonic::transport::Error>())
}

/// A failure in the words of Go's gRPC.
fn worded(status: &Status) -> String {
    format!("rpc error: code = {:?} desc = {}", status.code(), status.message())
}

#[async_trait]
impl ExternalSigner for SocketSigner {
    async fn sign(&self, claims: &str) -> Result<ExternalSignature, String> {
        let request = SignRequest { claims: claims.to_owned() };
        let answer: SignResponse = self.call("Sign", request, CALL_TIMEOUT).await?;
        Ok(ExternalSignature { header: answer.header, signature: answer.signature })
    }

    async fn keys(&self) -> Result<ExternalKeySet, String> {
        let answer: FetchKeysResponse = self.call("FetchKeys", FetchKeysRequest {}, CALL_TIMEOUT).await?;
        let keys = answer.keys.into_iter().map(|key| ExternalKey {
            id: key.key_id,
            spki: key.key,
            excluded_from_discovery: key.exclude_from_oidc_discovery,
        });
        if answer.data_timestamp.is_none() {
            return Err("invalid data timestamp: proto: invalid nil Timestamp".to_owned());
        }
        Ok(ExternalKeySet { keys: keys.collect(), refresh_after_seconds: answer.refresh_hint_seconds })
    }
}
