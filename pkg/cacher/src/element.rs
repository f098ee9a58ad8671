//! A cached object: the bytes to serve, and the header that reads select by.

use std::sync::Arc;

use bytes::Bytes;
use storage::{Form, KeyValue, Revision};

use crate::Error;
use crate::memo::Memo;

/// Decoding error of a stored value. The text is for clients and logs.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The value cannot be decoded, for this reason of the decoder.
    #[error(transparent)]
    Decode(Box<dyn std::error::Error + Send + Sync>),
    /// The value is intact but has a version that is not served (any more), for this reason of the decoder.
    #[error(transparent)]
    Unserved(Box<dyn std::error::Error + Send + Sync>),
    /// The decoder panicked.
    #[error("the server panicked over it")]
    Panic,
}

impl IngestError {
    fn damage(&self) -> Damage {
        match self {
            IngestError::Decode(_) | IngestError::Panic => Damage::Malformed,
            IngestError::Unserved(_) => Damage::Unserved,
        }
    }

    /// Creates the error from its cause or from a text.
    pub fn decode(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        IngestError::Decode(cause.into())
    }
}

/// Decodes stored values into elements. Only this code looks into values: later reads use the [`Header`] and
/// forward the bytes.
pub trait Ingest: Send + Sync + 'static {
    /// Decodes a stored value. Pushes labels and selectable fields to `header` and returns the bytes to
    /// serve, which are `value` itself if it is already canonical.
    ///
    /// # Errors
    /// The value is unreadable.
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError>;
}

/// Kind of damage of an unreadable value.
///
/// Lists and watches leave out malformed values, because no configuration of the server could read them. They
/// fail for the others: with another configuration the objects are still there, and a client that does not
/// find them would act as if they were deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// The value is no object of its resource.
    Malformed,
    /// The value is intact but has a version that its definition no longer has.
    Unserved,
    /// The value could not be decrypted. A later attempt may succeed.
    Undecryptable,
}

/// An object at one revision. Immutable, shared by all lists and watches.
#[derive(Debug)]
pub struct Element {
    key: Box<str>,
    revision: Revision,
    value: Result<Bytes, (Damage, Box<str>)>,
    header: Header,
    memo: Memo,
}

impl Element {
    /// Decodes a stored pair. An unreadable value becomes an element with an error: see [`Damage`].
    pub fn new(kv: KeyValue, ingest: &dyn Ingest) -> Arc<Self> {
        let mut header = HeaderBuilder::default();
        let value = match kv.form {
            Form::Current | Form::Stale => ingest
                .ingest(kv.value, &mut header)
                .map_err(|error| (error.damage(), error.to_string().into_boxed_str())),
            Form::Unreadable(message) => Err((Damage::Undecryptable, (*message).into())),
        };
        let header = if value.is_ok() { header.build() } else { Header::default() };
        let key = kv.key.into_boxed_str();
        Arc::new(Element { key, revision: kv.mod_revision, value, header, memo: Memo::default() })
    }

    /// An element with the given value and an empty header.
    pub fn of(key: &str, value: Bytes, revision: Revision) -> Arc<Self> {
        let header = Header::default();
        Arc::new(Element { key: key.into(), revision, value: Ok(value), header, memo: Memo::default() })
    }

    /// An element with the given value and header.
    pub fn with_header(key: &str, value: Bytes, revision: Revision, header: HeaderBuilder) -> Arc<Self> {
        let header = header.build();
        let memo = Memo::default();
        Arc::new(Element { key: key.into(), revision, value: Ok(value), header, memo })
    }

    /// The full storage key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The object's name: the last segment of the key.
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or("")
    }

    /// The second last segment of the key: the namespace for namespaced resources.
    pub fn namespace(&self) -> &str {
        self.key.rsplit('/').nth(1).unwrap_or("")
    }

    /// The revision that wrote the object: its resource version.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The canonical bytes to serve, without a resource version.
    ///
    /// # Errors
    /// The value is unreadable.
    pub fn value(&self) -> Result<&Bytes, &str> {
        self.value.as_ref().map_err(|(_, message)| &**message)
    }

    /// The kind of damage and the message; `None` for a readable value.
    pub fn damage(&self) -> Option<(Damage, &str)> {
        self.value.as_ref().err().map(|(damage, message)| (*damage, &**message))
    }

    /// True if lists and watches leave out the element: see [`Damage`].
    pub fn is_left_out(&self) -> bool {
        matches!(self.value, Err((Damage::Malformed, _)))
    }

    /// # Errors
    /// [`Error::Corrupt`] if lists and watches must fail because of the element: see [`Damage`].
    pub(crate) fn listable(&self) -> Result<(), Error> {
        if self.is_left_out() { Ok(()) } else { self.readable() }
    }

    /// # Errors
    /// [`Error::Corrupt`] if the value cannot be read.
    pub(crate) fn readable(&self) -> Result<(), Error> {
        match &self.value {
            Ok(_) => Ok(()),
            Err((damage, message)) => {
                let key = self.key.to_string();
                let message = message.to_string();
                Err(Error::Corrupt { key, message, damage: *damage, revision: self.revision })
            }
        }
    }

    /// Labels and selectable fields.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Cache for encoded forms of the object.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// Length of the value in bytes, as stored or slightly more (defaults are filled in); 0 if it is
    /// unreadable.
    pub fn value_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Bytes::len)
    }

    /// Memory size in bytes, without encoded forms.
    pub fn size(&self) -> usize {
        let value = self.value.as_ref().map_or(0, Bytes::len);
        size_of::<Self>() + self.key.len() + value + self.header.packed.len()
    }
}

/// Labels and selectable fields, packed. Each text is its length (LEB128) and its bytes. Fields come first,
/// in the order in which they were pushed, then pairs of labels.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Header {
    packed: Box<[u8]>,
    /// Offset of the labels.
    labels_at: u32,
    is_deep: bool,
}

impl Header {
    /// True if the object is nested too deeply for a tree: only JSON can contain all of it.
    pub fn is_deep(&self) -> bool {
        self.is_deep
    }

    /// Returns a selectable field by its position; empty if there is no such field.
    pub fn field(&self, at: usize) -> &str {
        let fields = self.packed.get(..self.labels_at as usize).unwrap_or_default();
        Texts(fields).nth(at).map_or("", text)
    }

    /// The labels, in the order in which they were pushed.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs().map(|(key, value)| (text(key), text(value)))
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.pairs().find_map(|(k, value)| (k == key.as_bytes()).then(|| text(value)))
    }

    /// The labels as bytes, for selectors, which need no text.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut texts = Texts(self.packed.get(self.labels_at as usize..).unwrap_or_default());
        std::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
    }
}

/// Converts packed bytes to text. They are valid UTF-8 because they were pushed as text.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[derive(Debug, Default)]
pub struct HeaderBuilder {
    fields: Vec<u8>,
    labels: Vec<u8>,
    is_deep: bool,
}

impl HeaderBuilder {
    /// Sets [`Header::is_deep`].
    pub fn set_deep(&mut self, is_deep: bool) {
        self.is_deep = is_deep;
    }

    pub fn push_field(&mut self, value: &str) {
        push(&mut self.fields, value);
    }

    pub fn push_label(&mut self, key: &str, value: &str) {
        push(&mut self.labels, key);
        push(&mut self.labels, value);
    }

    fn build(mut self) -> Header {
        let labels_at = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        self.fields.append(&mut self.labels);
        Header { packed: self.fields.into_boxed_slice(), labels_at, is_deep: self.is_deep }
    }
}

fn push(out: &mut Vec<u8>, text: &str) {
    let mut length = text.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(text.as_bytes());
}

/// Iterator over packed texts.
struct Texts<'a>(&'a [u8]);

impl<'a> Iterator for Texts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let mut length = 0usize;
        let mut shift = 0u32;
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            length |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
            shift += 7;
        }
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_returns_pushed_values() {
        let long = "x".repeat(300);
        let mut header = HeaderBuilder::default();
        header.push_label("app", "web");
        header.push_field("node-1");
        header.push_field("");
        header.push_field(&long);
        header.push_label("empty", "");
        let header = header.build();
        let fields: Vec<&str> = (0..4).map(|at| header.field(at)).collect();
        assert_eq!(fields, ["node-1", "", &long, ""]);
        assert_eq!(header.labels().collect::<Vec<_>>(), [("app", "web"), ("empty", "")]);
        assert_eq!((header.label("app"), header.label("none")), (Some("web"), None));
    }

    #[test]
    fn empty_header_has_no_fields_or_labels() {
        let header = Header::default();
        assert_eq!((header.field(0), header.labels().count()), ("", 0));
    }

    #[test]
    fn key_ends_with_namespace_and_name() {
        let element = Element::of("/registry/pods/default/a", Bytes::new(), 1);
        assert_eq!((element.namespace(), element.name()), ("default", "a"));
    }
}
