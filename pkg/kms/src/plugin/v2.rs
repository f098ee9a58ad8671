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
use crate::Figures;

pub(crate) const STATUS: &str = "/v2.KeyManagementService/Status";
pub(crate) const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";
pub(crate) const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";

/// Asks how a plugin is.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(crate) struct StatusRequest {}

/// How it is.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct StatusResponse {
    /// Of the interface.
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    /// `ok`, or what is wrong.
    #[prost(string, tag = "2")]
    pub(crate) healthz: String,
    /// The key that it seals with now.
    #[prost(string, tag = "3")]
    pub(crate) key_id: String,
}

/// A sealed seed or key that is to be opened.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) ciphertext: Vec<u8>,
    /// Names the call, in the logs of both sides.
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
    /// What it was sealed with.
    #[prost(string, tag = "3")]
    pub(crate) key_id: String,
    /// What the plugin gave when it sealed it.
    #[prost(btree_map = "string, bytes", tag = "4")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

/// What it is in plain.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct DecryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plaintext: Vec<u8>,
}

/// A seed that is to be sealed.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct EncryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) plaintext: Vec<u8>,
    /// Names the call, in the logs of both sides.
    #[prost(string, tag = "2")]
    pub(crate) uid: String,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct EncryptResponse {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) ciphertext: Vec<u8>,
    /// What it was sealed with.
    #[prost(string, tag = "2")]
    pub(crate) key_id: String,
    /// What is to be given back when it is to be opened; stored in plain.
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub(crate) annotations: BTreeMap<String, Vec<u8>>,
}

/// A plugin that seals and opens seeds.
#[async_trait]
pub(crate) trait Plugin: Send + Sync + 'static {
    /// How it is.
    async fn status(&self) -> Result<StatusResponse, Error>;
    /// Seals a seed.
    async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Error>;
    /// Opens what it has sealed, to the plain seed or key.
    async fn decrypt(&self, request: DecryptRequest) -> Result<Vec<u8>, Error>;
}

/// A plugin at a socket. Calls are counted.
pub(crate) struct SocketPlugin {
    provider: Arc<str>,
    calls: PluginConnection,
    figures: Arc<Figures>,
}

impl SocketPlugin {
    pub(crate) fn new(provider: &str, calls: PluginConnection, figures: Arc<Figures>) -> Self {
        SocketPlugin { provider: provider.into(), calls, figures }
    }

    async fn counted<A>(
        &self,
        method: &'static str,
        call: impl Future<Output = Result<A, Status>> + Send,
    ) -> Result<A, Error> {
        let began = Instant::now();
        let answer = call.await;
        let code = answer.as_ref().map_or_else(Status::code, |_| Code::Ok);
        self.figures.called(&self.provider, method, code_name(code), began.elapsed());
        answer.map_err(|status| failed(&status))
    }
}

#[async_trait]
impl Plugin for SocketPlugin {
    async fn status(&self) -> Result<StatusResponse, Error> {
        self.counted(STATUS, self.calls.call(STATUS, StatusRequest {}, self.calls.end())).await
    }

    async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Error> {
        self.counted(ENCRYPT, self.calls.call(ENCRYPT, request, self.calls.end())).await
    }

    async fn decrypt(&self, request: DecryptRequest) -> Result<Vec<u8>, Error> {
        let call = self.calls.opening(DECRYPT, request, self.calls.end());
        let answer: DecryptResponse = self.counted(DECRYPT, call).await?;
        Ok(answer.plaintext)
    }
}
