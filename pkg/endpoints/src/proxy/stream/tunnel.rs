//! `portforward`: a WebSocket whose binary messages contain SPDY (`SPDY/3.1+portforward.k8s.io`). Towards the kubelet it
//! is a SPDY connection, whose frames this server does not interpret.

use apimachinery::status::Status;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::{Bytes, BytesMut};
use http::header::{
    CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{Method, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;

use super::relay::{self, Connection, Outputs, Translator};
use super::{PROTOCOL_VERSION, SPDY, TUNNEL_PREFIX, starts_spdy, tunnelled};
use crate::header;
use crate::proxy::upgrade::{UpgradeRequest, rejection, upgraded_by_client};
use crate::proxy::url::Url;
use crate::proxy::{Backends, ProxyRequest};
use crate::response::{full, plain};
use crate::routing::dispatch::{Response, Tunnel};
use crate::websocket::frame::{self, NORMAL, PROTOCOL_ERROR};
use crate::websocket::handshake::{accepted, protocols};
use crate::websocket::{Input, Opcode, Received};

/// Size of a decoded WebSocket key, in bytes (RFC 6455, 4.1).
const KEY_BYTES: usize = 16;

/// Connects a WebSocket that contains SPDY to the kubelet. If the kubelet rejects SPDY, its response is returned.
///
/// # Errors
/// 500 when the kubelet does not respond, or for a client over HTTP/2.
pub(crate) async fn tunnel(
    backends: &Backends,
    url: &Url,
    incoming: ProxyRequest<'_>,
) -> Result<Response, Box<Status>> {
    let ProxyRequest { parts, connection, peer, shutdown, .. } = incoming;
    let metrics = &backends.streams;
    if let Some(rejection) = invalid_handshake(parts) {
        metrics.record_tunnelled(500);
        return Ok(rejection);
    }
    let headers = spdy_headers(&parts.headers);
    let body = full(Bytes::new());
    let request = UpgradeRequest { method: &Method::POST, headers: &headers, body, parts, peer };
    let mut response = request.send(backends.network.as_ref(), url).await?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        let response = rejection(response, parts.version)?;
        metrics.record_tunnelled(response.status().as_u16());
        return Ok(response);
    }
    if !starts_spdy(response.headers()) {
        metrics.record_tunnelled(500);
        return Ok(plain(500, "unable to upgrade: missing upgrade headers in response\n"));
    }
    let client = upgraded_by_client(connection)?;
    let kubelet = hyper::upgrade::on(&mut response);
    let protocol = chosen_protocol(&parts.headers, response.headers());
    let key = header::text_or_empty(&parts.headers, SEC_WEBSOCKET_KEY);
    let mut response = accepted(&key, protocol.as_deref());
    metrics.record_tunnelled(101);
    let shutdown = shutdown.clone();
    Tunnel::spawn(&mut response, async move { run(client, kubelet, &shutdown).await });
    Ok(response)
}

/// Returns the response to an invalid WebSocket handshake, as upstream's library (`gorilla/websocket`) sends it.
fn invalid_handshake(parts: &Parts) -> Option<Response> {
    let text = |name: HeaderName| header::text_or_empty(&parts.headers, name);
    let key = STANDARD.decode(text(SEC_WEBSOCKET_KEY).as_bytes());
    let mut response = if parts.method != Method::GET {
        plain(405, "Method Not Allowed\n")
    } else if text(SEC_WEBSOCKET_VERSION).trim() != "13" || !key.is_ok_and(|key| key.len() == KEY_BYTES) {
        plain(400, "Bad Request\n")
    } else {
        return None;
    };
    response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    Some(response)
}

/// Returns the headers of the SPDY request: those of the client, without its WebSocket.
fn spdy_headers(headers: &HeaderMap) -> HeaderMap {
    let mut spdy = headers.clone();
    let removed = [
        SEC_WEBSOCKET_PROTOCOL,
        SEC_WEBSOCKET_KEY,
        SEC_WEBSOCKET_VERSION,
        CONTENT_LENGTH,
        TRANSFER_ENCODING,
        PROTOCOL_VERSION,
    ];
    for name in removed {
        spdy.remove(name);
    }
    spdy.insert(UPGRADE, HeaderValue::from_static(SPDY));
    let requested = header::text_or_empty(headers, SEC_WEBSOCKET_PROTOCOL);
    for protocol in protocols(&requested).into_iter().filter_map(tunnelled) {
        if let Ok(value) = HeaderValue::try_from(protocol) {
            spdy.append(PROTOCOL_VERSION, value);
        }
    }
    spdy
}

/// Returns the subprotocol for the kubelet's choice. `None` if the client did not request it.
fn chosen_protocol(requested: &HeaderMap, kubelet: &HeaderMap) -> Option<String> {
    let chosen = header::text_or_empty(kubelet, PROTOCOL_VERSION);
    let chosen = format!("{TUNNEL_PREFIX}{}", chosen.trim());
    let requested = header::text_or_empty(requested, SEC_WEBSOCKET_PROTOCOL);
    protocols(&requested).contains(&&*chosen).then_some(chosen)
}

async fn run(client: OnUpgrade, kubelet: OnUpgrade, shutdown: &CancellationToken) {
    let opened = tokio::select! {
        opened = async { tokio::try_join!(client, kubelet) } => opened,
        () = shutdown.cancelled() => return,
    };
    let (client, kubelet) = match opened {
        Ok(opened) => opened,
        Err(error) => return tracing::debug!(%error, "connection upgrade failed"),
    };
    let mut client = Connection::new(TokioIo::new(client));
    let mut kubelet = Connection::new(TokioIo::new(kubelet));
    let mut out = Outputs::default();
    let mut messages = Messages::default();
    relay::relay(&mut client, &mut kubelet, &mut out, &mut messages, shutdown).await;
    relay::finish(&mut client, &mut kubelet, &mut out).await;
}

/// Translation between binary messages and their content. Pure.
#[derive(Default)]
struct Messages {
    client: Input,
    ended: bool,
}

impl Messages {
    fn end(&mut self, close_code: u16, out: &mut Outputs) {
        if !self.ended {
            frame::append_close(close_code, &mut out.client);
            self.ended = true;
        }
    }
}

impl Translator for Messages {
    fn translate_client(&mut self, bytes: &mut BytesMut, out: &mut Outputs) {
        while !self.ended {
            match self.client.next(bytes) {
                // Upstream ends the connection.
                Some(Received::Data(piece)) if piece.text => self.end(NORMAL, out),
                Some(Received::Data(piece)) => out.kubelet.extend_from_slice(&piece.bytes),
                Some(Received::Ping(payload)) => frame::append(Opcode::Pong, &payload, &mut out.client),
                Some(Received::Close) => self.end(NORMAL, out),
                Some(Received::Unmasked) => self.end(PROTOCOL_ERROR, out),
                None => return,
            }
        }
    }

    fn translate_kubelet(&mut self, bytes: &mut BytesMut, out: &mut Outputs) {
        if !bytes.is_empty() && !self.ended {
            frame::append(Opcode::Binary, bytes, &mut out.client);
            bytes.clear();
        }
    }

    fn end_client(&mut self, out: &mut Outputs) {
        self.end(NORMAL, out);
    }

    fn end_kubelet(&mut self, out: &mut Outputs) {
        self.end(NORMAL, out);
    }

    fn has_ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn kubelet_gets_spdy_headers() {
        let received = headers(&[
            ("upgrade", "websocket"),
            ("connection", "Upgrade"),
            ("sec-websocket-key", "x"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-protocol", "SPDY/3.1+portforward.k8s.io, SPDY/3.1+v2.portforward.k8s.io,y"),
            ("user-agent", "z"),
        ]);
        let expected = headers(&[
            ("connection", "Upgrade"),
            ("user-agent", "z"),
            ("upgrade", "SPDY/3.1"),
            ("x-stream-protocol-version", "portforward.k8s.io"),
            ("x-stream-protocol-version", "v2.portforward.k8s.io"),
        ]);
        assert_eq!(spdy_headers(&received), expected);
    }

    #[test]
    fn kubelet_chooses_the_subprotocol() {
        let requested = headers(&[(
            "sec-websocket-protocol",
            "SPDY/3.1+portforward.k8s.io,SPDY/3.1+v2.portforward.k8s.io",
        )]);
        let check = |chosen: &'static str, expected: Option<&str>| {
            let kubelet = headers(&[("x-stream-protocol-version", chosen)]);
            assert_eq!(chosen_protocol(&requested, &kubelet).as_deref(), expected, "{chosen}");
        };
        check("v2.portforward.k8s.io", Some("SPDY/3.1+v2.portforward.k8s.io"));
        check("v9.portforward.k8s.io", None);
        check("", None);
    }

    #[test]
    fn handshake_is_checked_before_dialing() {
        let check = |method: Method, key: &'static str, version: &'static str, expected: Option<u16>| {
            let mut request = http::Request::new(());
            *request.method_mut() = method;
            *request.headers_mut() =
                headers(&[("sec-websocket-key", key), ("sec-websocket-version", version)]);
            let code = invalid_handshake(&request.into_parts().0).map(|response| response.status().as_u16());
            assert_eq!(code, expected, "{key} {version}");
        };
        check(Method::GET, "dGhlIHNhbXBsZSBub25jZQ==", "13", None);
        check(Method::POST, "dGhlIHNhbXBsZSBub25jZQ==", "13", Some(405));
        check(Method::GET, "dGhlIHNhbXBsZSBub25jZQ==", "8", Some(400));
        check(Method::GET, "c2hvcnQ=", "13", Some(400));
    }

    #[test]
    fn messages_are_unwrapped_and_wrapped() {
        let mut messages = Messages::default();
        let mut out = Outputs::default();
        messages.translate_client(&mut BytesMut::from(&b"\x82\x82\0\0\0\0ab\x89\x80\0\0\0\0"[..]), &mut out);
        assert_eq!((&*out.kubelet, &*out.client), (&b"ab"[..], &b"\x8a\0"[..]));
        out = Outputs::default();
        messages.translate_kubelet(&mut BytesMut::from(&b"cd"[..]), &mut out);
        messages.end_kubelet(&mut out);
        assert_eq!(&*out.client, b"\x82\x02cd\x88\x02\x03\xe8");
        assert!(messages.has_ended());
    }

    #[test]
    fn text_message_ends_the_tunnel() {
        let mut messages = Messages::default();
        let mut out = Outputs::default();
        messages.translate_client(&mut BytesMut::from(&b"\x81\x81\0\0\0\0a"[..]), &mut out);
        assert!(messages.has_ended() && out.kubelet.is_empty());
    }
}
