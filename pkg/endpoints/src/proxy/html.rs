//! Rewrites the links in HTML responses of a backend (upstream's `proxy.Transport`). The document is rewritten while it
//! is sent, so that its size is not limited.

mod coding;
mod entities;
mod scanner;
mod script;
mod tag;

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures::{StreamExt, stream};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};

use super::links::LinkRewriter;
use crate::header;
use crate::response::full;
use crate::routing::dispatch::{Body, BoxError};
use coding::{Coding, Decoder, Encoder};
use scanner::Scanner;

/// Documents up to this size are sent with their length, as Go's HTTP server does.
const SIZED_BYTES_MAX: usize = 2048;

/// Returns the coding of an HTML document; `None` for other responses, and for unknown codings.
pub(super) fn coding(headers: &HeaderMap) -> Option<Coding> {
    let media_type = header::text_or_empty(headers, CONTENT_TYPE);
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let coding = header::text_or_empty(headers, CONTENT_ENCODING);
    if media_type == "text/html" { Coding::parse(&coding) } else { None }
}

/// Rewrites the links of a document. The returned body has a length if the document is small.
///
/// # Errors
/// The beginning of the document cannot be read or decoded.
pub(super) async fn rewrite(document: Body, coding: Coding, links: LinkRewriter) -> Result<Body, BoxError> {
    let mut document = HtmlBody::new(document, coding, links);
    let mut begin = BytesMut::new();
    while begin.len() <= SIZED_BYTES_MAX {
        match document.frame().await {
            Some(frame) => begin.extend_from_slice(frame?.data_ref().map_or(&[][..], |data| data)),
            None => return Ok(full(begin.freeze())),
        }
    }
    let begin = stream::iter([Ok(Frame::data(begin.freeze()))]);
    Ok(StreamBody::new(begin.chain(BodyStream::new(document))).boxed_unsync())
}

/// Body of the response to a HEAD request for a document. The length of the rewritten document is unknown.
pub(super) fn without_document() -> Body {
    StreamBody::new(stream::empty()).boxed_unsync()
}

/// Document whose links are rewritten. It holds at most one unfinished tag.
struct HtmlBody {
    document: Body,
    /// Rest of the last part of the document.
    input: Bytes,
    rewriter: Rewriter,
    ended: bool,
}

/// Decodes, rewrites and encodes parts of a document.
struct Rewriter {
    decoder: Decoder,
    scanner: Scanner,
    encoder: Encoder,
    links: LinkRewriter,
}

impl HtmlBody {
    fn new(document: Body, coding: Coding, links: LinkRewriter) -> Self {
        let rewriter = Rewriter {
            decoder: Decoder::new(coding),
            scanner: Scanner::default(),
            encoder: Encoder::new(coding),
            links,
        };
        HtmlBody { document, input: Bytes::new(), rewriter, ended: false }
    }

    /// Rewrites a part of the available input. Its output may be empty.
    fn rewrite_part(&mut self) -> Result<Bytes, BoxError> {
        let length = self.input.len().min(self.rewriter.decoder.input_bytes_max());
        Ok(self.rewriter.rewrite(&self.input.split_to(length))?.into())
    }

    /// Ends the document. Returns its last output.
    fn finish(&mut self) -> Result<Option<Bytes>, BoxError> {
        self.ended = true;
        let output = self.rewriter.finish()?;
        Ok((!output.is_empty()).then(|| output.into()))
    }
}

impl Rewriter {
    fn rewrite(&mut self, part: &[u8]) -> Result<Vec<u8>, BoxError> {
        let Rewriter { decoder, scanner, encoder, links } = self;
        let mut html = Vec::new();
        decoder.decode(part, &mut |plain| scan(scanner, links, plain, &mut html))?;
        Ok(encoder.encode(html)?)
    }

    fn finish(&mut self) -> Result<Vec<u8>, BoxError> {
        let Rewriter { decoder, scanner, encoder, links } = self;
        let mut html = Vec::new();
        if !decoder.finish(&mut |plain| scan(scanner, links, plain, &mut html))? {
            return Ok(Vec::new());
        }
        scanner.finish(&mut html);
        Ok(encoder.finish(html)?)
    }
}

/// Scans a decoded part and appends it with new links.
fn scan(scanner: &mut Scanner, links: &LinkRewriter, plain: &[u8], html: &mut Vec<u8>) {
    let mut write = |tag: &tag::TagScanner, text: &[u8], out: &mut Vec<u8>| {
        tag.write(text, |element, name, value| links.attribute(element, name, value), out)
    };
    scanner.scan(plain, &mut write, html);
}

impl http_body::Body for HtmlBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        while !this.ended {
            if !this.input.is_empty() {
                let output = this.rewrite_part().inspect_err(|_| this.ended = true)?;
                if output.is_empty() {
                    // A compressed document can be long and have little output, so other tasks run between its parts.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                return Poll::Ready(Some(Ok(Frame::data(output))));
            }
            match ready!(Pin::new(&mut this.document).poll_frame(cx)) {
                // Trailers would describe the original document.
                Some(Ok(frame)) => this.input = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    if let Some(output) = this.finish()? {
                        return Poll::Ready(Some(Ok(Frame::data(output))));
                    }
                }
            }
        }
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests;
