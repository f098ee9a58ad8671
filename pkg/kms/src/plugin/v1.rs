//! `k8s.io/kms/apis/v1beta1` (package `v1beta1`).

use apimachinery::foreign_text::ForeignText;
use async_trait::async_trait;
use encryption::Error;
use grpc::worded;
use prost::Message;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::{PluginConnection, failed};

/// Version of the interface, which both sides send.
pub(crate) const VERSION: &str = "v1beta1";

pub(crate) const VERSION_METHOD: &str = "/v1beta1.KeyManagementService/Version";
pub(crate) const DECRYPT: &str = "/v1beta1.KeyManagementService/Decrypt";
pub(crate) const ENCRYPT: &str = "/v1beta1.KeyManagementService/Encrypt";

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct VersionRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct VersionResponse {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

/// Request of `Encrypt` and `Decrypt`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct CryptRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    /// Plain key for `Encrypt`, sealed key for `Decrypt`.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) key: Vec<u8>,
}

/// Response of `Encrypt` and `Decrypt`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct CryptResponse {
    /// Sealed key of `Encrypt`, plain key of `Decrypt`.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
}

/// Plugin that seals and opens keys.
#[async_trait]
pub(crate) trait Plugin: Send + Sync + 'static {
    async fn encrypt(&self, plain: Vec<u8>) -> Result<Vec<u8>, Error>;
    /// Decrypts a key that this plugin sealed.
    async fn decrypt(&self, sealed: Vec<u8>) -> Result<Vec<u8>, Error>;
}

/// Plugin behind a socket. Its version is checked once, before the first call.
pub(crate) struct SocketPlugin {
    calls: PluginConnection,
    version: OnceCell<()>,
}

impl SocketPlugin {
    pub(crate) fn new(calls: PluginConnection) -> Self {
        SocketPlugin { calls, version: OnceCell::new() }
    }

    /// Checks that the plugin supports this version. Concurrent callers share the check, and each waits until
    /// `end` at most.
    async fn agreed(&self, end: Instant) -> Result<(), Error> {
        let agreed = tokio::time::timeout_at(end, self.version.get_or_try_init(|| self.request_version(end)));
        match agreed.await {
            Ok(agreed) => agreed.copied(),
            Err(_) => Err(Error::unavailable(
                "failed get version from remote KMS provider: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            )),
        }
    }

    async fn request_version(&self, end: Instant) -> Result<(), Error> {
        let request = VersionRequest { version: VERSION.to_owned() };
        let result: Result<VersionResponse, _> = self.calls.call(VERSION_METHOD, request, end).await;
        match result {
            Ok(VersionResponse { version }) if version == VERSION => Ok(()),
            Ok(VersionResponse { version }) => Err(Error::new(format!(
                "KMS provider api version {} is not supported, only {VERSION} is supported now",
                ForeignText::from(version)
            ))),
            Err(status) => {
                let status = worded(&status);
                Err(Error::unavailable(format!("failed get version from remote KMS provider: {status}")))
            }
        }
    }
}

#[async_trait]
impl Plugin for SocketPlugin {
    async fn encrypt(&self, plain: Vec<u8>) -> Result<Vec<u8>, Error> {
        let end = self.calls.end();
        self.agreed(end).await?;
        let request = CryptRequest { version: VERSION.to_owned(), key: plain };
        let answer: Result<CryptResponse, _> = self.calls.call(ENCRYPT, request, end).await;
        answer.map(|answer| answer.key).map_err(|status| failed(&status))
    }

    async fn decrypt(&self, sealed: Vec<u8>) -> Result<Vec<u8>, Error> {
        let end = self.calls.end();
        self.agreed(end).await?;
        let request = CryptRequest { version: VERSION.to_owned(), key: sealed };
        let answer: Result<CryptResponse, _> = self.calls.opening(DECRYPT, request, end).await;
        answer.map(|answer| answer.key).map_err(|status| failed(&status))
    }
}
