//! Messages of a log (upstream's `wsstream.Reader`): an empty one, then the bytes in pieces.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{Stream, StreamExt, future, stream};
use http_body_util::BodyExt;

use super::frame::{Opcode, append};
use super::handshake::Protocols;
use crate::routing::dispatch::Body;

const BASE64: &str = "base64.binary.k8s.io";

/// Subprotocols of logs.
pub(crate) const PROTOCOLS: Protocols = Protocols::OneOf(&["", "binary.k8s.io", BASE64]);

/// Maximum number of bytes of the log in a message, as in upstream.
const MESSAGE_BYTES_MAX: usize = 2048;

/// Returns the messages of a log in a subprotocol, as complete frames.
pub(crate) fn messages(log: Body, protocol: &str) -> impl Stream<Item = Bytes> + Send + Unpin + 'static {
    let encode = if protocol == BASE64 { base64_message } else { binary_message };
    let pieces = log.into_data_stream().take_while(|piece| future::ready(piece.is_ok()));
    let pieces = pieces.filter_map(|piece| future::ready(piece.ok().filter(|piece| !piece.is_empty())));
    let pieces = pieces.map(move |piece| {
        let mut out = Vec::new();
        for part in piece.chunks(MESSAGE_BYTES_MAX) {
            encode(part, &mut out);
        }
        Bytes::from(out)
    });
    let mut opening = Vec::new();
    encode(&[], &mut opening);
    stream::iter([Bytes::from(opening)]).chain(pieces)
}

fn binary_message(part: &[u8], out: &mut Vec<u8>) {
    append(Opcode::Binary, part, out);
}

fn base64_message(part: &[u8], out: &mut Vec<u8>) {
    append(Opcode::Text, STANDARD.encode(part).as_bytes(), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::full;

    #[tokio::test]
    async fn log_is_sent_in_messages() {
        let check = async |protocol: &str, log: &'static [u8], expected: &[u8]| {
            let sent: Vec<Bytes> = messages(full(log), protocol).collect().await;
            assert_eq!(sent.concat(), expected, "{protocol}");
        };
        check("", b"ab", b"\x82\x00\x82\x02ab").await;
        check("binary.k8s.io", b"", b"\x82\x00").await;
        check("base64.binary.k8s.io", b"ab", b"\x81\x00\x81\x04YWI=").await;
    }

    #[tokio::test]
    async fn long_piece_becomes_several_messages() {
        let sent: Vec<Bytes> = messages(full(vec![b'x'; MESSAGE_BYTES_MAX + 1]), "").collect().await;
        let sent = sent.concat();
        assert!(sent.starts_with(b"\x82\x00\x82\x7e\x08\x00x"));
        assert!(sent.ends_with(b"\x82\x01x"));
    }
}
