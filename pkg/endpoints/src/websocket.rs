//! WebSocket connections (RFC 6455) that end at this server. It makes the messages of watches and logs, and ignores those
//! of the client. [`crate::proxy`] translates or tunnels the others.

pub(crate) mod frame;
pub(crate) mod handshake;
mod input;
pub(crate) mod log;
mod session;

pub(crate) use frame::Opcode;
pub(crate) use handshake::{Accepted, Protocols, accept};
pub(crate) use input::{Input, Piece, Received};
pub(crate) use session::{send, start};

use http::HeaderMap;
use http::header::UPGRADE;

use crate::header;
use crate::proxy::is_upgrade;

/// True if the client requests a WebSocket.
pub(crate) fn is_requested(headers: &HeaderMap) -> bool {
    header::text_or_empty(headers, UPGRADE).eq_ignore_ascii_case("websocket") && is_upgrade(headers)
}
