//! One cached object: the bytes that are served, and the few facts that reads select by.

use std::sync::Arc;

use bytes::Bytes;
use storage::{Form, KeyValue, Revision};

use crate::Error;
use crate::memo::Memo;

/// Makes elements out of stored values. The one place where a value is looked into: afterwards reads
/// use the [`Header`] and hand the bytes on.
pub trait Ingest: Send + Sync + 'static {
    /// Reads a stored value: pushes labels and selectable fields to `header` and gives the bytes to
    /// serve, which are `value` itself where that is canonical already.
    ///
    /// # Errors
    /// What is wrong with a value that cannot be read.
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, String>;
}

/// Why a value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// It is no object.
    Malformed,
    /// It is encrypted, and nobody could open it. Somebody may be able to later.
    Sealed,
}

/// An object at one revision. Immutable, shared by every list and watch that shows it.
#[derive(Debug)]
pub struct Element {
    key: Box<str>,
    revision: Revision,
    value: Result<Bytes, (Damage, Box<str>)>,
    header: Header,
    memo: Memo,
}

impl Element {
    /// Reads a stored pair. A value that cannot be read becomes an element that says so: it must
    /// fail the lists that contain it, not vanish from them.
    pub fn new(kv: KeyValue, ingest: &dyn Ingest) -> Arc<Self> {
        let mut header = HeaderBuilder::default();
        let value = match kv.form {
            Form::Current | Form::Stale => ingest
                .ingest(kv.value, &mut header)
                .map_err(|message| (Damage::Malformed, message.into_boxed_str())),
            Form::Unreadable(message) => Err((Damage::Sealed, (*message).into())),
        };
        let header = if value.is_ok() { header.build() } else { Header::default() };
        let key = kv.key.into_boxed_str();
        Arc::new(Element { key, revision: kv.mod_revision, value, header, memo: Memo::default() })
    }

    /// An element whose value and header are at hand.
    pub fn of(key: &str, value: Bytes, revision: Revision) -> Arc<Self> {
        let header = Header::default();
        Arc::new(Element { key: key.into(), revision, value: Ok(value), header, memo: Memo::default() })
    }

    /// An element whose value is at hand, and what selectors look at.
    pub fn with_header(key: &str, value: Bytes, revision: Revision, header: HeaderBuilder) -> Arc<Self> {
        let (header, memo) = (header.build(), Memo::default());
        Arc::new(Element { key: key.into(), revision, value: Ok(value), header, memo })
    }

    /// The full storage key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The last segment of the key: the object's name.
    pub fn name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or("")
    }

    /// The segment before the last: for namespaced resources the object's namespace.
    pub fn namespace(&self) -> &str {
        self.key.rsplit('/').nth(1).unwrap_or("")
    }

    /// The revision that wrote the object: its resource version.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The bytes to serve, canonical, without a resource version.
    ///
    /// # Errors
    /// What is wrong with a value that cannot be read.
    pub fn value(&self) -> Result<&Bytes, &str> {
        self.value.as_ref().map_err(|(_, message)| &**message)
    }

    /// Why the value cannot be read, and what was said; `None` if it can.
    pub fn damage(&self) -> Option<(Damage, &str)> {
        self.value.as_ref().err().map(|(damage, message)| (*damage, &**message))
    }

    /// # Errors
    /// [`Error::Corrupt`] if the value cannot be read.
    pub(crate) fn readable(&self) -> Result<(), Error> {
        match &self.value {
            Ok(_) => Ok(()),
            Err((damage, message)) => {
                let (key, message) = (self.key.to_string(), message.to_string());
                Err(Error::Corrupt { key, message, damage: *damage, revision: self.revision })
            }
        }
    }

    /// What selectors look at.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where encoded forms of the whole object are kept.
    pub fn memo(&self) -> &Memo {
        &self.memo
    }

    /// How long its value is, as the store has it up to what was missing from it; 0 for one that cannot be read.
    pub fn value_bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Bytes::len)
    }

    /// What the element pins in memory, in bytes, encoded forms aside.
    pub fn size(&self) -> usize {
        let value = self.value.as_ref().map_or(0, Bytes::len);
        size_of::<Self>() + self.key.len() + value + self.header.packed.len()
    }
}

/// Labels and selectable fields, packed: each text is its length (LEB128) and its bytes. Fields come
/// first, in the order in which they were pushed, then pairs of labels.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Header {
    packed: Box<[u8]>,
    /// Where the labels begin.
    labels_at: u32,
}

impl Header {
    /// A selectable field by its position; empty when there is no such field.
    pub fn field(&self, at: usize) -> &str {
        let fields = self.packed.get(..self.labels_at as usize).unwrap_or_default();
        Texts(fields).nth(at).map_or("", text)
    }

    /// The labels, in the order in which they were pushed.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs().map(|(key, value)| (text(key), text(value)))
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.pairs().find_map(|(k, value)| (k == key.as_bytes()).then(|| text(value)))
    }

    /// The labels as bytes: a selector looks at many of them and needs few as text.
    fn pairs(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut texts = Texts(self.packed.get(self.labels_at as usize..).unwrap_or_default());
        std::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
    }
}

/// A packed text, which was text when it was pushed.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// Collects a [`Header`].
#[derive(Debug, Default)]
pub struct HeaderBuilder {
    fields: Vec<u8>,
    labels: Vec<u8>,
}

impl HeaderBuilder {
    /// Adds the next selectable field.
    pub fn push_field(&mut self, value: &str) {
        push(&mut self.fields, value);
    }

    /// Adds a label.
    pub fn push_label(&mut self, key: &str, value: &str) {
        push(&mut self.labels, key);
        push(&mut self.labels, value);
    }

    fn build(mut self) -> Header {
        let labels_at = u32::try_from(self.fields.len()).unwrap_or(u32::MAX);
        self.fields.append(&mut self.labels);
        Header { packed: self.fields.into_boxed_slice(), labels_at }
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

/// Reads packed texts one after the other.
struct Texts<'a>(&'a [u8]);

impl<'a> Iterator for Texts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (mut length, mut shift) = (0usize, 0u32);
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
    fn a_header_gives_back_what_was_pushed() {
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
    fn an_empty_header_has_neither_fields_nor_labels() {
        let header = Header::default();
        assert_eq!((header.field(0), header.labels().count()), ("", 0));
    }

    #[test]
    fn name_and_namespace_are_the_last_segments_of_the_key() {
        let element = Element::of("/registry/pods/default/a", Bytes::new(), 1);
        assert_eq!((element.namespace(), element.name()), ("default", "a"));
    }
}
