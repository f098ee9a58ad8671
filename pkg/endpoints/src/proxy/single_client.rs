//! A [`Network`] with one HTTP client for all kinds of trust.

use std::net::IpAddr;

use async_trait::async_trait;
use client::Client;
use http::Request;

use super::{Network, NetworkError, Trust};
use crate::routing::dispatch::{Body, Response};

/// Network access through a single client with fixed trust.
pub struct SingleClient(pub Client);

#[async_trait]
impl Network for SingleClient {
    async fn send(&self, _: Trust, request: Request<Body>) -> Result<Response, NetworkError> {
        Ok(self.0.send(request).await?)
    }

    async fn send_dedicated(&self, _: Trust, request: Request<Body>) -> Result<Response, NetworkError> {
        Ok(self.0.send_dedicated(request).await?)
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NetworkError> {
        Ok(client::addresses(host).await?)
    }
}
