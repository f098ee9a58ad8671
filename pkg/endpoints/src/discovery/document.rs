//! Document that is encoded at its first request and cached.

use std::sync::OnceLock;

use apimachinery::status::Status;
use bytes::Bytes;
use schema::object::Object;
use schema::table::Message;
use sha2::{Digest, Sha512};

use crate::negotiation::Format;
use crate::response::encode;

/// Start of an aggregated JSON document, with its type metadata.
const KIND: &[u8] = br#"{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","#;

/// Encodings of one document. JSON and protobuf are cached. YAML, CBOR and indented JSON are rare and encoded
/// for each request.
#[derive(Debug, Default)]
pub(super) struct Document {
    json: OnceLock<Bytes>,
    protobuf: OnceLock<Bytes>,
    etag: OnceLock<String>,
}

impl Document {
    /// Returns the document in a format. `tree` is only called if something must be encoded.
    ///
    /// # Errors
    /// 500 if the tree does not match its type, which is impossible for built-in documents.
    pub(super) fn encoded(
        &self,
        message: &'static Message,
        format: Format,
        pretty: bool,
        tree: impl Fn() -> Object,
    ) -> Result<Bytes, Box<Status>> {
        let encode = |format| {
            let mut out = Vec::new();
            encode::tree(message, &tree(), format, &mut out)?;
            out.shrink_to_fit();
            Ok(Bytes::from(out))
        };
        match format {
            Format::Json if pretty => cached(&self.json, || encode(Format::Json)).map(|json| indented(&json)),
            Format::Json => cached(&self.json, || encode(Format::Json)),
            Format::Protobuf => cached(&self.protobuf, || encode(Format::Protobuf)),
            Format::Yaml | Format::Cbor => encode(format),
        }
    }

    /// Returns the entity tag with its quotes. As in upstream, it is the same for all formats: a digest of
    /// the JSON without type metadata. So equal servers have equal tags.
    ///
    /// # Errors
    /// As for [`Document::encoded`].
    pub(super) fn etag(
        &self,
        message: &'static Message,
        tree: impl Fn() -> Object,
    ) -> Result<&str, Box<Status>> {
        if self.etag.get().is_none() {
            let json = self.encoded(message, Format::Json, false, tree)?;
            // Upstream hashes the text without the final newline.
            let json = json.strip_suffix(b"\n").unwrap_or(&json);
            let mut digest = Sha512::new();
            match json.strip_prefix(KIND) {
                Some(rest) => {
                    digest.update(b"{");
                    digest.update(rest);
                }
                None => digest.update(json),
            }
            let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02X}")).collect();
            let _ = self.etag.set(format!("\"{hex}\""));
        }
        Ok(self.etag.get().map_or("", String::as_str))
    }
}

/// Returns the value of the cell, which `make` initializes.
fn cached(
    cell: &OnceLock<Bytes>,
    make: impl FnOnce() -> Result<Bytes, Box<Status>>,
) -> Result<Bytes, Box<Status>> {
    match cell.get() {
        Some(bytes) => Ok(bytes.clone()),
        None => {
            let bytes = make()?;
            Ok(cell.get_or_init(|| bytes).clone())
        }
    }
}

fn indented(json: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(json.len() * 2);
    schema::json_write::indent(json, &mut out);
    out.into()
}
