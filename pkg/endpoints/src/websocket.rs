//! WebSocket connections (RFC 6455) whose content this server makes: watches and logs. The server sends messages, and
//! ignores those of the client. Proxied WebSockets are tunnelled by [`crate::proxy`] instead.

pub(crate) mod frame;
mod handshake;
mod input;
pub(crate) mod log;
mod session;

pub(crate) use frame::Opcode;
pub(crate) use handshake::{Accepted, Protocols, accept};
pub(crate) use session::start;

use http::HeaderMap;
use http::header::UPGRADE;

use crate::header;
use crate::proxy::is_upgrade;

/// True if the client requests a WebSocket.
pub(crate) fn is_requested(headers: &HeaderMap) -> bool {
    header::text_or_empty(headers, UPGRADE).eq_ignore_ascii_case("websocket") && is_upgrade(headers)
}
