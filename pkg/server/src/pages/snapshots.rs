//! `/embedded/snapshot`: the content of this server's store as one file. It contains all objects, including
//! secrets. Roles for diagnostics often grant `/debug/*` or all paths, so a user also needs the right to read
//! every object.

use std::convert::Infallible;
use std::sync::Arc;

use apimachinery::request_info::RequestInfo;
use authorization::{AllReads, Authorized, Authorizer, Unauthorized, authorize_all_reads};
use axum::Extension;
use axum::body::Body;
use bytes::{Bytes, BytesMut};
use endpoints::routing::dispatch::BoxError;
use futures::stream;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::pages::Pages;
use crate::respond;

const PATH: &str = "/embedded/snapshot";
/// Size of a chunk that is passed to a connection, in bytes. A larger value is a chunk of its own.
const CHUNK_BYTES: usize = 64 << 10;

/// Pieces of a snapshot, in order.
pub type SnapshotChunks = Box<dyn Iterator<Item = Bytes> + Send>;

/// Takes a snapshot. May take a while.
pub type TakeSnapshot = Arc<dyn Fn() -> Result<SnapshotChunks, BoxError> + Send + Sync>;

/// True if a request is for the page.
pub(crate) fn is_snapshot(info: &RequestInfo) -> bool {
    info.path == PATH
}

/// Extends the authorization of a request for the page by the right to read every object. The page requires the
/// proof, which is added to `extensions`.
///
/// # Errors
/// [`Unauthorized`].
pub(crate) async fn authorize(
    authorizer: &dyn Authorizer,
    authorized: Result<Authorized, Unauthorized>,
    extensions: &mut http::Extensions,
) -> Result<Authorized, Unauthorized> {
    let (authorized, proof) = authorize_all_reads(authorizer, authorized?).await?;
    extensions.insert(proof);
    Ok(authorized)
}

/// The page, which is not listed at `/`. A request without the proof is an error of this server: 500.
pub(crate) fn pages(take: TakeSnapshot) -> Pages {
    Pages::default().add_unlisted(PATH, async move |_: Extension<AllReads>| {
        let take = Arc::clone(&take);
        let snapshot = tokio::task::spawn_blocking(move || take()).await;
        match snapshot.unwrap_or_else(|error| Err(error.into())) {
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
    #![allow(clippy::panic)]

    use apimachinery::request_context::RequestContext;

    use super::*;

    #[tokio::test]
    async fn page_requires_proof_of_all_reads() {
        let pages = pages(Arc::new(|| panic!("the page takes a snapshot"))).with_fallback();
        let info = RequestInfo { path: PATH.to_owned(), ..RequestInfo::default() };
        assert!(is_snapshot(&info));
        let context = Arc::new(RequestContext { info, ..RequestContext::default() });
        let parts = http::Request::new(()).into_parts().0;
        let response = pages.handle(parts, respond::empty(), context).await;
        assert_eq!(response.status(), 500);
    }

    #[test]
    fn only_small_pieces_are_joined() {
        let lengths = [10, CHUNK_BYTES - 10, 1, 3 * CHUNK_BYTES, 5, 6];
        let pieces = Box::new(lengths.into_iter().map(|length| Bytes::from(vec![b'x'; length])));
        let chunks = Chunks { chunks: pieces, next: None }.map(|chunk| chunk.len());
        assert_eq!(chunks.collect::<Vec<_>>(), [CHUNK_BYTES, 1, 3 * CHUNK_BYTES, 11]);
    }
}
