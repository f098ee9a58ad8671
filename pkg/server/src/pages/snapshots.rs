//! `/debug/snapshot`: the content of this server's store as one file. It contains all objects, including
//! secrets, so access needs permission for this path.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use endpoints::routing::dispatch::BoxError;
use futures::stream;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::pages::Pages;
use crate::respond;

const PATH: &str = "/debug/snapshot";
/// Size of a chunk that is passed to a connection, in bytes. A larger value is a chunk of its own.
const CHUNK_BYTES: usize = 64 << 10;

/// Pieces of a snapshot, in order.
pub type SnapshotChunks = Box<dyn Iterator<Item = Bytes> + Send>;

/// Takes a snapshot. May take a while.
pub type TakeSnapshot = Arc<dyn Fn() -> Result<SnapshotChunks, BoxError> + Send + Sync>;

/// The page, which is not listed at `/`.
pub(crate) fn pages(take: TakeSnapshot) -> Pages {
    Pages::default().add_unlisted(PATH, async move || {
        let take = Arc::clone(&take);
        let taken = tokio::task::spawn_blocking(move || take()).await;
        match taken.unwrap_or_else(|error| Err(error.into())) {
            Ok(pieces) => {
                let chunks = Chunks { chunks: pieces, next: None }.map(Ok::<_, Infallible>);
                let mut response = http::Response::new(Body::from_stream(stream::iter(chunks)));
                let binary = HeaderValue::from_static("application/octet-stream");
                response.headers_mut().insert(CONTENT_TYPE, binary);
                response
            }
            Err(error) => respond::text(500, error.to_string()).map(Body::new),
        }
    })
}

/// Joins small pieces.
struct Chunks {
    chunks: SnapshotChunks,
    /// Piece that did not fit into the last chunk.
    next: Option<Bytes>,
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let first = self.next.take().or_else(|| self.chunks.next())?;
        if first.len() >= CHUNK_BYTES {
            return Some(first);
        }
        let mut chunk = BytesMut::from(&*first);
        for piece in self.chunks.by_ref() {
            if chunk.len() + piece.len() > CHUNK_BYTES {
                self.next = Some(piece);
                break;
            }
            chunk.extend_from_slice(&piece);
        }
        Some(chunk.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_pieces_are_joined() {
        let lengths = [10, CHUNK_BYTES - 10, 1, 3 * CHUNK_BYTES, 5, 6];
        let pieces = Box::new(lengths.into_iter().map(|length| Bytes::from(vec![b'x'; length])));
        let chunks = Chunks { chunks: pieces, next: None }.map(|chunk| chunk.len());
        assert_eq!(chunks.collect::<Vec<_>>(), [CHUNK_BYTES, 1, 3 * CHUNK_BYTES, 11]);
    }
}
