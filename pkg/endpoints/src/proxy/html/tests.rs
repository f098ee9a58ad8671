//! Tests of rewritten documents.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::{DeflateDecoder, GzDecoder};
use flate2::write::{DeflateEncoder, GzEncoder};
use http_body::Body as _;

use super::*;

const PAGE: &str =
    "<!DOCTYPE html><A HREF=/x>x</a><img src='a.png'><script src=\"/s.js\">'<a href=/y>'</script>";
const REWRITTEN: &str =
    "<!DOCTYPE html><a href=\"/p/x\">x</a><img src=\"a.png\"><script src=\"/p/s.js\">'<a href=/y>'</script>";

fn links() -> LinkRewriter {
    LinkRewriter { prefix: "/p".to_owned(), backend: "b".to_owned(), requested: "r".to_owned() }
}

/// Body of pieces of this size.
fn pieces(document: &[u8], piece: usize) -> Body {
    let pieces: Vec<_> =
        document.chunks(piece).map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece)))).collect();
    StreamBody::new(stream::iter(pieces)).boxed_unsync()
}

async fn rewritten(document: &[u8], coding: Coding, piece: usize) -> Result<Vec<u8>, BoxError> {
    let body = rewrite(pieces(document, piece), coding, links()).await?;
    Ok(body.collect().await?.to_bytes().to_vec())
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn unzip(mut decoder: impl Read) -> String {
    let mut text = String::new();
    decoder.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn links_are_rewritten_in_every_coding() {
    for piece in [1, 7, 100_000] {
        let plain = rewritten(PAGE.as_bytes(), Coding::Identity, piece).await.unwrap();
        assert_eq!(String::from_utf8(plain).unwrap(), REWRITTEN, "{piece}");
        let zipped = rewritten(&gzip(PAGE), Coding::Gzip, piece).await.unwrap();
        assert_eq!(unzip(GzDecoder::new(&*zipped)), REWRITTEN, "{piece}");
        let deflated = rewritten(&deflate(PAGE), Coding::Deflate, piece).await.unwrap();
        assert_eq!(unzip(DeflateDecoder::new(&*deflated)), REWRITTEN, "{piece}");
    }
}

#[tokio::test]
async fn large_documents_are_rewritten_in_every_coding() {
    let large = PAGE.repeat(5000);
    let expected = REWRITTEN.repeat(5000);
    let zipped = rewritten(&gzip(&large), Coding::Gzip, 1000).await.unwrap();
    assert!(unzip(GzDecoder::new(&*zipped)) == expected);
    let deflated = rewritten(&deflate(&large), Coding::Deflate, 1000).await.unwrap();
    assert!(unzip(DeflateDecoder::new(&*deflated)) == expected);
}

#[tokio::test]
async fn only_small_documents_have_a_length() {
    let check = async |length: usize, expected: Option<u64>| {
        let document = "x".repeat(length);
        let body = rewrite(pieces(document.as_bytes(), 100), Coding::Identity, links()).await.unwrap();
        assert_eq!(body.size_hint().exact(), expected, "{length}");
    };
    check(SIZED_BYTES_MAX, Some(2048)).await;
    check(SIZED_BYTES_MAX + 1, None).await;
}

#[tokio::test]
async fn invalid_coding_is_an_error() {
    let check = async |document: &[u8], coding: Coding, expected: &str| {
        assert_eq!(rewritten(document, coding, 100).await.unwrap_err().to_string(), expected);
    };
    let zipped = gzip(PAGE);
    check(PAGE.as_bytes(), Coding::Gzip, "errorf making gzip reader: gzip: invalid header").await;
    check(zipped.split_at(60).0, Coding::Gzip, "unexpected EOF").await;
    check(deflate(PAGE).split_at(60).0, Coding::Deflate, "unexpected EOF").await;
    let corrupt = [zipped.split_at(10).0, &[0xff; 20]].concat();
    check(&corrupt, Coding::Gzip, "flate: corrupt input before offset 30").await;
    check(b"\x78\x9c\x01\x02\x03\x04", Coding::Deflate, "flate: corrupt input before offset 5").await;
}

#[tokio::test]
async fn empty_document_stays_empty() {
    assert_eq!(rewritten(b"", Coding::Gzip, 1).await.unwrap(), b"");
}

#[test]
fn only_html_in_known_codings_is_rewritten() {
    let check = |media_type: &'static str, encoding: &'static str, expected: Option<Coding>| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(media_type));
        headers.insert(CONTENT_ENCODING, http::HeaderValue::from_static(encoding));
        assert_eq!(coding(&headers), expected, "{media_type} {encoding}");
    };
    check("text/html; charset=utf-8", "", Some(Coding::Identity));
    check("text/html", "gzip", Some(Coding::Gzip));
    check("text/html", "br", None);
    check("text/plain", "", None);
    check("Text/HTML", "", None);
}
