//! The server under attack, and single requests to it.

use std::time::Duration;

use http::{Method, Request};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use tokio::time::timeout;

use super::process::Process;
use super::report::Violation;
use crate::Server;

/// Bytes of a response that are kept for messages.
const KEPT_BYTES: usize = 64 << 10;
/// Bytes of a response that a finding shows.
const SHOWN_BYTES: usize = 300;

/// A server with an administrator's client.
pub struct Target {
    pub server: Server,
    pub api: Api,
    pub process: Process,
}

/// Single requests of an administrator.
#[derive(Clone)]
pub struct Api {
    pub client: Client,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    /// Length of the body in bytes.
    pub bytes: u64,
    /// Beginning of the body.
    pub text: String,
}

impl Answer {
    /// Returns the code and the beginning of the body, for a finding.
    pub fn shown(&self) -> String {
        let text: String = self.text.chars().take(SHOWN_BYTES).collect();
        format!("{} with {} bytes: {text}", self.code, self.bytes)
    }

    /// Returns true if a panic ended the request.
    pub fn panicked(&self) -> bool {
        self.code == 500 && self.text.contains("apiserver to panic")
    }
}

impl Target {
    /// Uses a running server.
    ///
    /// # Panics
    /// Its kubeconfig is unusable.
    pub async fn of(mut server: Server) -> Self {
        let process = Process(server.pid());
        let api = Api { client: server.client().await };
        Target { server, api, process }
    }

    /// Checks that the process runs and is ready.
    ///
    /// # Errors
    /// It ended, or is not ready.
    pub async fn check_ready(&mut self, patience: Duration) -> Result<(), Violation> {
        if !self.server.is_running() {
            return Err("the server has ended".into());
        }
        let ready = self.api.get("/readyz", patience).await?;
        if ready.code == 200 { Ok(()) } else { Err(format!("not ready: {}", ready.shown()).into()) }
    }
}

impl Api {
    /// Sends a JSON body, or another content type.
    ///
    /// # Errors
    /// There is no response within `patience`, or the connection was closed.
    pub async fn ask(
        &self,
        method: Method,
        uri: &str,
        media_type: &str,
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<Answer, Violation> {
        let request = Request::builder().method(method).uri(uri).header("content-type", media_type);
        let request = request.body(Body::from(body)).map_err(Violation::of)?;
        match timeout(patience, response(&self.client, request)).await {
            Ok(response) => response,
            Err(_) => Err(format!("no response in {patience:?}").into()),
        }
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    /// There is no response within `patience`, or the connection was closed.
    pub async fn get(&self, uri: &str, patience: Duration) -> Result<Answer, Violation> {
        self.ask(Method::GET, uri, "application/json", Vec::new(), patience).await
    }

    /// Sends an object of the test itself.
    ///
    /// # Panics
    /// The server rejects it.
    pub async fn create(&self, uri: &str, object: &serde_json::Value, patience: Duration) {
        let body = object.to_string().into_bytes();
        let response = self.ask(Method::POST, uri, "application/json", body, patience).await;
        let response = response.expect("the server answers");
        assert_eq!(response.code, 201, "{uri}: {}", response.shown());
    }
}

async fn response(client: &Client, request: Request<Body>) -> Result<Answer, Violation> {
    let response = client.send(request).await.map_err(Violation::of)?;
    let code = response.status().as_u16();
    let mut body = response.into_body();
    let mut bytes = 0;
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(Violation::of)?;
        let Some(data) = frame.data_ref() else { continue };
        bytes += data.len() as u64;
        text.extend_from_slice(&data[..data.len().min(KEPT_BYTES - text.len())]);
    }
    Ok(Answer { code, bytes, text: String::from_utf8_lossy(&text).into_owned() })
}
