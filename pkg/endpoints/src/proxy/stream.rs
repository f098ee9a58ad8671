//! WebSockets of `exec`, `attach` and `portforward` for kubelets that only support SPDY (KEP-4006; upstream's
//! `apiserver/pkg/util/proxy`). A WebSocket with channels is translated into SPDY streams. A WebSocket that contains SPDY
//! is unwrapped.

mod metrics;
mod negotiation;
mod outcome;
mod relay;
mod remote_command;
mod sizes;
mod translation;
mod tunnel;

use std::time::Duration;

use http::HeaderMap;
use http::header::{HeaderName, SEC_WEBSOCKET_PROTOCOL};

use crate::header;
use crate::websocket;
pub use metrics::StreamMetrics;
pub(crate) use metrics::StreamRoute;
pub(crate) use remote_command::Options;
pub(crate) use translation::translate;
pub(crate) use tunnel::tunnel;

/// Timeout of the kubelet's response to the request, and then to its streams (upstream's `createStreamResponseTimeout`).
const CREATE_TIMEOUT: Duration = Duration::from_secs(30);
/// Value of `Upgrade` for SPDY.
const SPDY: &str = "SPDY/3.1";
/// Header with the protocols of SPDY streams: one line per protocol.
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("x-stream-protocol-version");
/// Subprotocol with channels, of which the client can close one.
const CHANNEL_PROTOCOL: &str = "v5.channel.k8s.io";
/// First part of the subprotocols that contain SPDY.
const TUNNEL_PREFIX: &str = "SPDY/3.1+";
const TUNNEL_SUFFIX: &str = ".k8s.io";

/// True if the client requests a WebSocket with channels that it can close.
pub(crate) fn requests_channels(headers: &HeaderMap) -> bool {
    requests(headers, |protocol| protocol == CHANNEL_PROTOCOL)
}

/// True if the client requests a WebSocket that contains SPDY.
pub(crate) fn requests_tunnel(headers: &HeaderMap) -> bool {
    requests(headers, |protocol| tunnelled(protocol).is_some())
}

fn requests(headers: &HeaderMap, matches: impl Fn(&str) -> bool) -> bool {
    let requested = header::text_or_empty(headers, SEC_WEBSOCKET_PROTOCOL);
    websocket::is_requested(headers) && websocket::handshake::protocols(&requested).into_iter().any(matches)
}

/// Returns the SPDY protocol inside a WebSocket subprotocol.
fn tunnelled(protocol: &str) -> Option<&str> {
    protocol.strip_prefix(TUNNEL_PREFIX).filter(|inner| inner.ends_with(TUNNEL_SUFFIX))
}

/// True if the headers of a 101 response start SPDY.
fn starts_spdy(headers: &HeaderMap) -> bool {
    let upgrade = header::text_or_empty(headers, http::header::UPGRADE).to_ascii_lowercase();
    super::is_upgrade(headers) && upgrade.contains(&SPDY.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    #[test]
    fn translated_protocols_are_recognized() {
        let check = |protocols: &'static str, channels: bool, tunnel: bool| {
            let mut headers = HeaderMap::new();
            headers.insert("connection", HeaderValue::from_static("Upgrade"));
            headers.insert("upgrade", HeaderValue::from_static("WebSocket"));
            headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocols));
            assert_eq!((requests_channels(&headers), requests_tunnel(&headers)), (channels, tunnel));
            headers.insert("upgrade", HeaderValue::from_static("SPDY/3.1"));
            assert!(!requests_channels(&headers) && !requests_tunnel(&headers), "{protocols}");
        };
        check("v4.channel.k8s.io, v5.channel.k8s.io", true, false);
        check("v4.channel.k8s.io", false, false);
        check("x,SPDY/3.1+portforward.k8s.io", false, true);
        check("SPDY/3.1+portforward.example", false, false);
    }
}
