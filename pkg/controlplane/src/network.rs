//! The way to kubelets, pods, and whatever stands behind Services: one client for each kind of trust.

use std::net::IpAddr;

use async_trait::async_trait;
use client::{Client, Dialer, Error, Options, Source, Tls};
use endpoints::proxy::{Network, Trust, UpgradeError};
use endpoints::routing::dispatch::{Body, Response};
use http::Request;

use crate::config::KubeletConfig;
use crate::run::RunError;

/// The network that this machine is in.
pub(crate) struct SystemNetwork {
    /// To kubelets: shows this server's certificate, and wants theirs to be right if there is an authority.
    kubelets: Client,
    /// To kubelets whose certificate the client does not want to be verified.
    unverified: Client,
    /// To anybody, who learns nothing about this server.
    anyone: Client,
}

impl SystemNetwork {
    /// Reads what this server shows to kubelets and believes of them. `dialer` is the way to all of them, if not
    /// through this machine's own network.
    ///
    /// # Errors
    /// [`RunError::Credentials`].
    pub(crate) fn new(kubelets: &KubeletConfig, dialer: Option<&Dialer>) -> Result<Self, RunError> {
        let file = |path: &std::path::PathBuf| Source::File(path.clone());
        let certificate =
            kubelets.certificate.as_ref().map(|files| (file(&files.certificate), file(&files.key)));
        let trust = kubelets
            .authority
            .as_ref()
            .map_or(client::Trust::Anyone, |authority| client::Trust::Bundle(file(authority)));
        let client = |trust, certificate| {
            let tls = Tls { trust, certificate, ..Tls::default() };
            let client = Client::new(Options { tls, dialer: dialer.cloned(), ..Options::default() });
            client.map_err(|error| RunError::Credentials(error.to_string()))
        };
        Ok(SystemNetwork {
            kubelets: client(trust, certificate.clone())?,
            unverified: client(client::Trust::Anyone, certificate)?,
            anyone: client(client::Trust::Anyone, None)?,
        })
    }

    fn client(&self, trust: Trust) -> &Client {
        match trust {
            Trust::Kubelet => &self.kubelets,
            Trust::UnverifiedKubelet => &self.unverified,
            Trust::Anyone => &self.anyone,
        }
    }
}

#[async_trait]
impl Network for SystemNetwork {
    async fn send(&self, trust: Trust, request: Request<Body>) -> Result<Response, String> {
        send(self.client(trust), request).await
    }

    async fn send_alone(&self, trust: Trust, request: Request<Body>) -> Result<Response, UpgradeError> {
        send_alone(self.client(trust), request).await
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        addresses(host).await
    }
}

/// The network as one client sees it, whose trust is not for requests to choose.
pub(crate) struct OneClient(pub(crate) Client);

#[async_trait]
impl Network for OneClient {
    async fn send(&self, _: Trust, request: Request<Body>) -> Result<Response, String> {
        send(&self.0, request).await
    }

    async fn send_alone(&self, _: Trust, request: Request<Body>) -> Result<Response, UpgradeError> {
        send_alone(&self.0, request).await
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        addresses(host).await
    }
}

async fn send(client: &Client, request: Request<Body>) -> Result<Response, String> {
    client.send(request).await.map_err(|error| error.to_string())
}

async fn send_alone(client: &Client, request: Request<Body>) -> Result<Response, UpgradeError> {
    client.send_alone(request).await.map_err(|error| match error {
        Error::Connect(error) => UpgradeError::Dial(error),
        other => UpgradeError::Exchange(other.to_string()),
    })
}

async fn addresses(host: &str) -> Result<Vec<IpAddr>, String> {
    client::addresses(host).await.map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn files_that_are_missing_keep_a_server_from_starting() {
        let mut kubelets = Config::for_tests(std::path::PathBuf::new()).kubelets;
        kubelets.authority = Some("/nonexistent/ca.crt".into());
        let error = SystemNetwork::new(&kubelets, None).err().map(|error| error.to_string()).unwrap();
        assert!(error.ends_with("open /nonexistent/ca.crt: no such file or directory"), "{error}");
    }
}
