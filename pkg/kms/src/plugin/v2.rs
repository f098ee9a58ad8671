//! `k8s.io/kms/apis/v2` (package `v2`).

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use encryption::Error;
use grpc::code_name;
use prost::Message;
use tokio::time::Instant;
use tonic::{Code, Status};

use super::{PluginConnection, failed};
use crate::KmsMetrics;

pub(crate) const STATUS: &str = "/v2.KeyManagementService/Status";
pub(crate) const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";
pub(crate) const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct StatusRequest {}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct StatusResponse {
    /// Version of the interface.
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    /// `ok`, or the reason for being unhealthy.
    #[prost(string, tag = "2")]
    pub(crate) healthz: String,
    /// Id of the plugin's current key.
    #[prost(string, tag = "3")]
    pub(crate) key_id: String,
}

/// Request to decrypt a sealed seed or key.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) ciphertext: Vec<u8>,
    /// Identifies the call in the logs of both sides.
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
    /// Id of the key that sealed the ciphertext.
    #[prost(string, tag = "3")]
    pub(crate) key_id: String,
    /// Annotations of the encrypt response.
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plaintext: Vec<u8>,
}

/// Request to encrypt a seed.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct EncryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plaintext: Vec<u8>,
    /// Identifies the call in the logs of both sides.
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct EncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) ciphertext: Vec<u8>,
    /// Id of the key that sealed the ciphertext.
    #[prost(string, tag = "2")]
    pub(crate) key_id: String,
    /// Annotations for the later decrypt request; stored in plain.
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

/// Plugin that seals and opens seeds.
#[async_trait]
pub(crate) trait Plugin: Send + Sync + 'static {
    async fn status(&self) -> Result<StatusResponse, Error>;
    async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Error>;
    /// Decrypts a ciphertext of this plugin to the plain seed or key.
    async fn decrypt(&self, request: DecryptRequest) -> Result<Vec<u8>, Error>;
}

/// Plugin behind a socket. Its calls are recorded as metrics.
pub(crate) struct SocketPlugin {
    provider: Arc<str>,
    calls: PluginConnection,
    metrics: Arc<KmsMetrics>,
}

impl SocketPlugin {
    pub(crate) fn new(provider: &str, calls: PluginConnection, metrics: Arc<KmsMetrics>) -> Self {
        SocketPlugin { provider: provider.into(), calls, metrics }
    }

    async fn measure<A>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<A, Status>> + Send,
    ) -> Result<A, Error> {
        let start = Instant::now();
        let result = call.await;
        let code = result.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self.metrics.record_call(&self.provider, method, code_name(code), start.elapsed());
        result.map_err(|status| failed(&status))
    }
}

#[async_trait]
impl Plugin for SocketPlugin {
    async fn status(&self) -> Result<StatusResponse, Error> {
        self.measure(STATUS, self.calls.call(STATUS, StatusRequest {}, self.calls.end())).await
    }

    async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Error> {
        self.measure(ENCRYPT, self.calls.call(ENCRYPT, request, self.calls.end())).await
    }

    async fn decrypt(&self, request: DecryptRequest) -> Result<Vec<u8>, Error> {
        let call = self.calls.opening(DECRYPT, request, self.calls.end());
        let response: DecryptResponse = self.measure(DECRYPT, call).await?;
        Ok(response.plaintext)
    }
}
