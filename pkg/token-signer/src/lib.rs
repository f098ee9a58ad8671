//! `--service-account-signing-endpoint`: an external process signs service account tokens (KEP-740). It is
//! called by gRPC over a Unix socket; its interface is `k8s.io/externaljwt/apis/v1`.
//!
//! The `authentication` crate validates signatures and keys. This crate contains the wire format and the
//! timeouts.

mod messages;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use apimachinery::time::UnixTime;
use async_trait::async_trait;
use authentication::service_account::{
    ExternalKey, ExternalKeySet, ExternalSignature, ExternalSigner, SignerError, SignerMetrics,
};
use grpc::{Socket, code_name, worded};
use messages::{
    FetchKeysRequest, FetchKeysResponse, MetadataRequest, MetadataResponse, SignRequest, SignResponse,
};
use tokio::time::Instant;
use tonic::Code;

/// Timeout for a call, including the wait for a signer that is not yet running (upstream's timeout for keys).
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The same for the `Metadata` call.
const METADATA_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an answer in bytes: gRPC's default.
const RESPONSE_BYTES_MAX: usize = 4 << 20;

const SIGN: &str = "/v1.ExternalJWTSigner/Sign";
const FETCH_KEYS: &str = "/v1.ExternalJWTSigner/FetchKeys";
const METADATA: &str = "/v1.ExternalJWTSigner/Metadata";

/// A signer at a Unix socket. Connects lazily and reconnects when the connection breaks.
#[derive(Clone)]
pub struct SocketSigner {
    socket: Socket,
    metrics: Arc<SignerMetrics>,
}

impl SocketSigner {
    /// A signer at a path in the file system, or in the abstract socket namespace if the name begins with
    /// `@`. Calls are counted in `metrics`.
    pub fn new(socket: &str, metrics: Arc<SignerMetrics>) -> Self {
        SocketSigner { socket: Socket::new(socket, RESPONSE_BYTES_MAX), metrics }
    }

    /// The maximum lifetime of a token in seconds.
    ///
    /// # Errors
    /// The failure in gRPC's wording.
    pub async fn token_seconds_max(&self) -> Result<i64, SignerError> {
        let response: MetadataResponse = self.call(METADATA, MetadataRequest {}, METADATA_TIMEOUT).await?;
        Ok(response.max_token_expiration_seconds)
    }

    /// Calls a method. Like upstream, waits for a signer that is not running until the timeout. Retries are
    /// harmless because no call changes state.
    async fn call<Q, A>(&self, method: &'static str, request: Q, timeout: Duration) -> Result<A, SignerError>
    where
        Q: prost::Message + Clone + 'static,
        A: prost::Message + Default + 'static,
    {
        let start = Instant::now();
        let response = self.socket.call(method, request, timeout).await;
        let code = response.as_ref().map_or_else(|status| status.code(), |_| Code::Ok);
        self.metrics.record_call(method, code_name(code), start.elapsed());
        response.map_err(|status| SignerError { code: code_name(status.code()), text: worded(&status) })
    }
}

#[async_trait]
impl ExternalSigner for SocketSigner {
    async fn sign(&self, claims: &str) -> Result<ExternalSignature, SignerError> {
        let request = SignRequest { claims: claims.to_owned() };
        let response: SignResponse = self.call(SIGN, request, CALL_TIMEOUT).await?;
        Ok(ExternalSignature { header: response.header, signature: response.signature })
    }

    async fn keys(&self) -> Result<ExternalKeySet, SignerError> {
        let response: FetchKeysResponse = self.call(FETCH_KEYS, FetchKeysRequest {}, CALL_TIMEOUT).await?;
        let keys = response.keys.into_iter().map(|key| ExternalKey {
            id: key.key_id,
            spki: key.key,
            excluded_from_discovery: key.exclude_from_oidc_discovery,
        });
        let Some(time) = &response.data_timestamp else {
            return Err(SignerError::local(
                "invalid data timestamp: proto: invalid nil Timestamp".to_owned(),
            ));
        };
        let nanos = u32::try_from(time.nanos).unwrap_or(0);
        let data = UnixTime { seconds: time.seconds, nanos };
        Ok(ExternalKeySet {
            keys: keys.collect(),
            refresh_after_seconds: response.refresh_hint_seconds,
            data,
        })
    }
}
