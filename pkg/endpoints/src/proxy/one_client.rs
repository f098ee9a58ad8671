//! A [`Network`] with one HTTP client for all kinds of trust.

use std::net::IpAddr;

use async_trait::async_trait;
use client::{Client, Error};
use http::Request;

use super::{Network, Trust, UpgradeError};
use crate::routing::dispatch::{Body, Response};

/// Network access through a single client with fixed trust.
pub struct OneClient(pub Client);

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
