//! Encodings of bodies, with their conversion to JSON.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use http::HeaderValue;
use schema::proto::Envelope;
use schema::{builtin, cbor, transcode, yaml};

use audit::Content;

/// Encoding of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Json,
    Yaml,
    Protobuf,
    Cbor,
    /// Not an object.
    Other,
}

impl Encoding {
    /// Returns the encoding of a content type; JSON without one.
    pub(super) fn of(content_type: Option<&HeaderValue>) -> Self {
        let Some(text) = content_type else { return Encoding::Json };
        let text = text.to_str().unwrap_or_default();
        let media = text.split(';').next().unwrap_or_default().trim();
        match media {
            "application/json" => Encoding::Json,
            "application/yaml" => Encoding::Yaml,
            "application/vnd.kubernetes.protobuf" => Encoding::Protobuf,
            "application/cbor" => Encoding::Cbor,
            // Patches have media types of their own.
            patch if patch.ends_with("-patch+json") => Encoding::Json,
            patch if patch.ends_with("-patch+yaml") => Encoding::Yaml,
            patch if patch.ends_with("-patch+cbor") => Encoding::Cbor,
            _ => Encoding::Other,
        }
    }

    /// Converts an object to JSON. Returns `None` if the body is no object, or has a kind that is not built
    /// in and is not JSON.
    pub(super) fn json(self, bytes: &[u8]) -> Option<Content> {
        if bytes.is_empty() {
            return None;
        }
        match self {
            Encoding::Json => Content::json(bytes),
            Encoding::Yaml => Content::json(&yaml::to_json(bytes).ok()?.json),
            Encoding::Protobuf => {
                let envelope = Envelope::parse(bytes).ok()?;
                let message = builtin::kind(&envelope.api_version, &envelope.kind)?;
                let mut json = Vec::new();
                transcode::to_json(message, envelope.raw, Some(envelope.head()), None, &mut json).ok()?;
                Content::json(&json)
            }
            Encoding::Cbor => {
                let object = cbor::decode_untyped(bytes).ok()??;
                let mut json = Vec::new();
                schema::json_write::untyped(&object.into(), &mut json).ok()?;
                Content::json(&json)
            }
            Encoding::Other => None,
        }
    }
}

/// Decompresses gzip; `None` if the result exceeds the limit.
pub(super) fn gunzip(bytes: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut out).ok()?;
    (out.len() <= bytes_max).then_some(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn encoding_follows_content_type() {
        let check = |text: &'static str, expected: Encoding| {
            assert_eq!(Encoding::of(Some(&HeaderValue::from_static(text))), expected, "{text}");
        };
        check("application/json", Encoding::Json);
        check("application/json;as=Table;v=v1;g=meta.k8s.io", Encoding::Json);
        check("application/strategic-merge-patch+json", Encoding::Json);
        check("application/apply-patch+yaml", Encoding::Yaml);
        check("application/vnd.kubernetes.protobuf", Encoding::Protobuf);
        check("text/plain", Encoding::Other);
        assert_eq!(Encoding::of(None), Encoding::Json);
    }

    #[test]
    fn all_encodings_convert_to_json() {
        let check = |form: Encoding, bytes: &[u8], expected: Option<&str>| {
            let got = form.json(bytes);
            let got = got.as_ref().map(|content| std::str::from_utf8(content.bytes()).unwrap());
            assert_eq!(got, expected, "{form:?}");
        };
        check(Encoding::Json, b"{\"a\": 1}\n", Some("{\"a\":1}"));
        check(Encoding::Json, b"{", None);
        check(Encoding::Yaml, b"a: 1\n", Some("{\"a\":1}"));
        let mut protobuf = Vec::new();
        // An object that contains only the name `a`.
        schema::proto::wrap("v1", "Namespace", b"\x0a\x03\x0a\x01a", &mut protobuf);
        let text = r#"{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a"},"spec":{},"status":{}}"#;
        check(Encoding::Protobuf, &protobuf, Some(text));
        check(Encoding::Protobuf, b"k8s\0", None);
        let mut cbor = Vec::new();
        cbor::from_json(b"{\"a\":1}", &mut cbor).unwrap();
        check(Encoding::Cbor, &cbor, Some("{\"a\":1}"));
        check(Encoding::Other, b"{}", None);
    }

    #[test]
    fn gzip_is_decompressed_up_to_limit() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&[b'x'; 100]).unwrap();
        let packed = packer.finish().unwrap();
        assert_eq!(gunzip(&packed, 100).map(|bytes| bytes.len()), Some(100));
        assert_eq!(gunzip(&packed, 99), None);
        assert_eq!(gunzip(b"no", 99), None);
    }
}
