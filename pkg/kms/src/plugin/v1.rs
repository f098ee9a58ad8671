//! `k8s.io/kms/apis/v1beta1` (package `v1beta1`).

use async_trait::async_trait;
use encryption::Error;
use grpc::worded;
use prost::Message;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::{PluginConnection, failed};

/// The version of the interface, which both sides name.
pub(crate) const VERSION: &str = "v1beta1";

pub(crate) const VERSION_METHOD: &str = "/v1beta1.KeyManagementService/Version";
pub(crate) const DECRYPT: &str = "/v1beta1.KeyManagementService/Decrypt";
pub(crate) const ENCRYPT: &str = "/v1beta1.KeyManagementService/Encrypt";

/// Asks which version a plugin speaks.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct VersionRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

/// Which version that is.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct VersionResponse {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
}

/// Something that is to be sealed or opened.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct CryptRequest {
    #[prost(string, tag = "1")]
    pub(crate) version: String,
    /// The key, in plain or sealed.
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) key: Vec<u8>,
}

/// What became of it.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct CryptResponse {
    /// The key, sealed or in plain.
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) key: Vec<u8>,
}

/// A plugin that seals and opens keys.
#[async_trait]
pub(crate) trait Plugin: Send + Sync + 'static {
    /// Seals a key.
    async fn encrypt(&self, plain: Vec<u8>) -> Result<Vec<u8>, Error>;
    /// Opens what it has sealed.
    async fn decrypt(&self, sealed: Vec<u8>) -> Result<Vec<u8>, Error>;
}

/// A plugin at a socket. It is asked for its version first, once.
pub(crate) struct SocketPlugin {
    calls: PluginConnection,
    version: OnceCell<()>,
}

impl SocketPlugin {
    pub(crate) fn new(calls: PluginConnection) -> Self {
        SocketPlugin { calls, version: OnceCell::new() }
    }

    /// That the plugin speaks this version. Whoever waits for somebody else to find out waits no longer than `end`.
    async fn agreed(&self, end: Instant) -> Result<(), Error> {
        let agreed = tokio::time::timeout_at(end, self.version.get_or_try_init(|| self.request_version(end)));
        match agreed.await {
            Ok(agreed) => agreed.copied(),
            Err(_) => Err(Error::away(
                "failed get version from remote KMS provider: rpc error: code = DeadlineExceeded desc = context deadline exceeded",
            )),
        }
    }

    async fn request_version(&self, end: Instant) -> Result<(), Error> {
        let request = VersionRequest { version: VERSION.to_owned() };
        let answer: Result<VersionResponse, _> = self.calls.call(VERSION_METHOD, request, end).await;
        match answer {
            Ok(VersionResponse { version }) if version == VERSION => Ok(()),
            Ok(VersionResponse { version }) => Err(Error::new(format!(
                "KMS provider api version {version} is not supported, only {VERSION} is supported now"
            ))),
            Err(status) => {
                let status = worded(&status);
                Err(Error::away(format!("failed get version from remote KMS provider: {status}")))
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
