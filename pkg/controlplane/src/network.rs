//! Clients for kubelets, pods and Services: one for each kind of trust.

use std::net::IpAddr;

use async_trait::async_trait;
use client::{Client, Dialer, Options, Source, Tls};
use endpoints::proxy::{Network, NetworkError, SingleClient, Trust, is_global};
use endpoints::routing::dispatch::{Body, Response};
use http::Request;

use crate::config::KubeletConfig;
use crate::error::RunError;

/// Access to the machine's network.
pub(crate) struct SystemNetwork {
    /// For kubelets: presents this server's certificate, and verifies theirs if there is a CA.
    kubelets: SingleClient,
    /// For kubelets whose certificate is not verified at the client's request.
    unverified: SingleClient,
    /// For all other destinations: presents no credentials.
    unauthenticated: SingleClient,
    /// As `kubelets`, for the addresses that clients may be connected to. A separate client, because a pooled
    /// connection could lead to another address.
    checked_kubelets: SingleClient,
    /// As `unauthenticated`, for the addresses that clients may be connected to.
    checked: SingleClient,
}

impl SystemNetwork {
    /// Reads credentials and CA for kubelets. `dialer` is the egress proxy, if there is one.
    ///
    /// # Errors
    /// [`RunError::Client`].
    pub(crate) fn new(kubelets: &KubeletConfig, dialer: Option<&Dialer>) -> Result<Self, RunError> {
        let file = |path: &std::path::PathBuf| Source::File(path.clone());
        let certificate =
            kubelets.certificate.as_ref().map(|files| (file(&files.certificate), file(&files.key)));
        let trust = kubelets
            .authority
            .as_ref()
            .map_or(client::Trust::Unverified, |authority| client::Trust::Bundle(file(authority)));
        let client = |trust, certificate, permits_address| {
            let tls = Tls { trust, certificate, ..Tls::default() };
            let client =
                Client::new(Options { tls, dialer: dialer.cloned(), permits_address, ..Options::default() });
            client.map(SingleClient)
        };
        Ok(SystemNetwork {
            kubelets: client(trust.clone(), certificate.clone(), None)?,
            checked_kubelets: client(trust, certificate.clone(), Some(is_global))?,
            unverified: client(client::Trust::Unverified, certificate, None)?,
            unauthenticated: client(client::Trust::Unverified, None, None)?,
            checked: client(client::Trust::Unverified, None, Some(is_global))?,
        })
    }

    fn client(&self, trust: Trust) -> &SingleClient {
        match trust {
            Trust::Kubelet => &self.kubelets,
            Trust::UnverifiedKubelet => &self.unverified,
            Trust::AnyServer => &self.unauthenticated,
            Trust::CheckedKubelet => &self.checked_kubelets,
            Trust::CheckedServer => &self.checked,
        }
    }
}

#[async_trait]
impl Network for SystemNetwork {
    async fn send(&self, trust: Trust, request: Request<Body>) -> Result<Response, NetworkError> {
        self.client(trust).send(trust, request).await
    }

    async fn send_dedicated(&self, trust: Trust, request: Request<Body>) -> Result<Response, NetworkError> {
        self.client(trust).send_dedicated(trust, request).await
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NetworkError> {
        self.unauthenticated.addresses(host).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn missing_files_prevent_start() {
        let mut kubelets = Config::for_tests(std::path::PathBuf::new()).kubelets;
        kubelets.authority = Some("/nonexistent/ca.crt".into());
        let error = SystemNetwork::new(&kubelets, None).err().map(|error| error.to_string()).unwrap();
        assert!(error.ends_with("open /nonexistent/ca.crt: no such file or directory"), "{error}");
    }
}
