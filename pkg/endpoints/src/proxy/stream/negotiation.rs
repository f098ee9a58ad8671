//! Opens a SPDY connection to a kubelet (client-go's `NewSPDYExecutorRejectRedirects`).

use apimachinery::foreign_text::ForeignText;
use client::failure_text;
use http::header::{CONNECTION, HeaderValue, LOCATION, UPGRADE, USER_AGENT};
use http::{Method, Request, StatusCode};
use hyper::upgrade::Upgraded;
use serde::Deserialize;
use tokio::time::timeout;

use super::outcome::Version;
use super::{CREATE_TIMEOUT, PROTOCOL_VERSION, SPDY, starts_spdy};
use crate::header;
use crate::proxy::url::Url;
use crate::proxy::{Network, NetworkError};
use crate::response::full;
use crate::routing::dispatch::{Body, Response};

/// Accepted SPDY connection.
pub(super) struct SpdyConnection {
    pub(super) connection: Upgraded,
    pub(super) version: Version,
}

/// Error of a connection to a kubelet, in the wording of Go's client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NegotiationError {
    #[error("error sending request: Post \"{url}\": {source}")]
    Send { url: String, source: NetworkError },
    #[error("error sending request: Post \"{target}\": redirect not allowed")]
    Redirect { target: ForeignText },
    #[error("Timeout occurred")]
    Timeout,
    #[error("unable to upgrade connection: {0}")]
    Rejected(ForeignText),
    #[error("unable to upgrade connection: unable to read error from server response")]
    Unreadable,
    #[error("unable to upgrade connection: unsupported protocol {}", .0.quoted())]
    Protocol(ForeignText),
}

/// Requests SPDY streams from a kubelet, with all versions of the protocol. Redirects are not followed.
///
/// # Errors
/// The kubelet does not respond within [`CREATE_TIMEOUT`], or rejects the request.
pub(super) async fn negotiate(network: &dyn Network, url: &Url) -> Result<SpdyConnection, NegotiationError> {
    let connected = timeout(CREATE_TIMEOUT, connect(network, url)).await;
    connected.unwrap_or(Err(NegotiationError::Timeout))
}

async fn connect(network: &dyn Network, url: &Url) -> Result<SpdyConnection, NegotiationError> {
    let failed = |source| NegotiationError::Send { url: url.to_string(), source };
    let request = request(url).map_err(|error| failed(error.into()))?;
    let mut response = network.send_dedicated(url.trust, request).await.map_err(failed)?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS && starts_spdy(response.headers()) {
        let protocol = header::text_or_empty(response.headers(), PROTOCOL_VERSION);
        let version = Version::chosen(&protocol)
            .ok_or_else(|| NegotiationError::Protocol(ForeignText::new(&protocol)))?;
        let connection = hyper::upgrade::on(&mut response).await;
        let connection =
            connection.map_err(|error| failed(NetworkError::Exchange(ForeignText::displayed(error))))?;
        return Ok(SpdyConnection { connection, version });
    }
    if let Some(target) = redirect(&response) {
        return Err(NegotiationError::Redirect { target });
    }
    let text = failure_text(response.into_body()).await.map_err(|_| NegotiationError::Unreadable)?;
    Err(NegotiationError::Rejected(rejection(&text)))
}

fn request(url: &Url) -> Result<Request<Body>, crate::proxy::UrlError> {
    let mut request = Request::new(full(bytes::Bytes::new()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = url.uri()?;
    let headers = request.headers_mut();
    headers.insert(USER_AGENT, HeaderValue::from_static("kube-apiserver"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static(SPDY));
    for (_, name) in Version::ALL {
        headers.append(PROTOCOL_VERSION, HeaderValue::from_static(name));
    }
    Ok(request)
}

/// Returns the target of a redirect.
fn redirect(response: &Response) -> Option<ForeignText> {
    let redirects = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let target = header::text(response.headers(), LOCATION).filter(|_| redirects)?;
    Some(ForeignText::new(&target))
}

/// Error in a response: a `Status`, an object with an `error`, or text.
#[derive(Deserialize)]
struct Rejection {
    #[serde(default)]
    message: String,
    #[serde(default)]
    error: String,
}

/// Returns the text of a rejection (upstream's `upgradeErrorMessage`).
fn rejection(body: &ForeignText) -> ForeignText {
    let of_json = serde_json::from_str(body.as_str()).ok().and_then(|rejection: Rejection| {
        let texts = [rejection.message, rejection.error];
        texts.into_iter().map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
    });
    let text = of_json.unwrap_or_else(|| body.as_str().trim().to_owned());
    if text.is_empty() { "empty server response".into() } else { text.into() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::header::HeaderName;

    use super::*;
    use crate::proxy::Trust;
    use crate::proxy::testing::TestNetwork;

    fn kubelet(port: &str) -> Url {
        let [host, port, path, query] = ["10.0.0.1", port, "/exec/a/b/c", "output=1"].map(str::to_owned);
        Url { tls: true, trust: Trust::Kubelet, host, port, path, query }
    }

    /// Negotiates with a kubelet that responds with these headers and this body. Returns the version or the error.
    async fn negotiated(code: u16, headers: &[(HeaderName, &'static str)], body: &'static str) -> String {
        let headers = headers.to_vec();
        let network = TestNetwork::answering(move |request| {
            let offered: Vec<_> = request.headers().get_all(PROTOCOL_VERSION).iter().collect();
            assert_eq!(offered.len(), 5);
            let mut response = http::Response::new(full(body));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            for (name, value) in &headers {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            response
        });
        match negotiate(&network, &kubelet("10250")).await {
            Ok(negotiated) => format!("{:?}", negotiated.version),
            Err(error) => error.to_string(),
        }
    }

    #[tokio::test]
    async fn kubelet_chooses_the_version() {
        let upgrade = [(CONNECTION, "Upgrade"), (UPGRADE, "SPDY/3.1")];
        let check = async |chosen: &'static str, expected: &str| {
            let headers = [&upgrade[..], &[(PROTOCOL_VERSION, chosen)]].concat();
            assert_eq!(negotiated(101, &headers, "").await, expected);
        };
        check("v4.channel.k8s.io", "V4").await;
        check("", "V1").await;
        check("v9", "unable to upgrade connection: unsupported protocol \"v9\"").await;
    }

    #[tokio::test]
    async fn rejection_has_the_text_of_the_kubelet() {
        let check = async |code, headers: &[(HeaderName, &'static str)], body, expected: &str| {
            assert_eq!(negotiated(code, headers, body).await, expected, "{body}");
        };
        check(403, &[], "no\n", "unable to upgrade connection: no").await;
        check(
            404,
            &[],
            r#"{"kind":"Status","message":" pod gone "}"#,
            "unable to upgrade connection: pod gone",
        )
        .await;
        check(500, &[], r#"{"error":"x"}"#, "unable to upgrade connection: x").await;
        check(200, &[], "", "unable to upgrade connection: empty server response").await;
        let elsewhere = [(LOCATION, "https://elsewhere/x")];
        let expected = "error sending request: Post \"https://elsewhere/x\": redirect not allowed";
        check(307, &elsewhere, "", expected).await;
    }

    #[tokio::test]
    async fn unreachable_kubelet_is_named() {
        let network = TestNetwork::answering(|_| http::Response::new(full("")));
        let error = negotiate(&network, &kubelet("1")).await.err().unwrap();
        let expected = "error sending request: Post \"https://10.0.0.1:1/exec/a/b/c?output=1\": dial tcp 10.0.0.1:1: connect: connection refused";
        assert_eq!(error.to_string(), expected);
    }
}
