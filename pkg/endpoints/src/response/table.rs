//! `as=Table`: columns from the row, cells from the kind's printer.

mod writer;

use api::options::TableOptions;
use api::resources::Handle;
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use registry::{codec, meta};
use schema::object::Object;

use crate::response::encode::ResponseObject;

pub(crate) use writer::{Item, Writer};

/// Part of the object that a table row contains (`includeObject`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

impl IncludeObject {
    /// Parses `?includeObject=`; empty means metadata.
    ///
    /// # Errors
    /// 400.
    pub(crate) fn parse(text: &str) -> Result<Self, Box<Status>> {
        let errors =
            kinds::validation::validate_table_options(&TableOptions { include_object: text.to_owned() });
        if let Some(error) = errors.iter().next() {
            return Err(
                Status::bad_request(format!("Unable to convert to Table as requested: {error}")).into()
            );
        }
        Ok(match text {
            "None" => IncludeObject::None,
            "Object" => IncludeObject::Object,
            _ => IncludeObject::Metadata,
        })
    }
}

#[derive(Clone, Copy)]
pub(crate) struct TableRequest {
    /// `v1` or `v1beta1`.
    pub(crate) version: &'static str,
    pub(crate) include: IncludeObject,
    pub(crate) now: UnixTime,
}

/// Appends the table of the objects, as JSON without a newline. `metadata` is the list's, or [`metadata_of`]
/// a single object. A watch sends the columns only with its first event.
///
/// # Errors
/// 500 if one of the objects cannot be decoded.
pub(crate) fn write(
    endpoint: &Handle,
    objects: &[ResponseObject<'_>],
    metadata: &Object,
    request: TableRequest,
    columns: bool,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let mut table = Writer::new(endpoint, request);
    table.begin(metadata, columns, out)?;
    for outgoing in objects {
        table.stored(outgoing, out)?;
    }
    table.end(out);
    Ok(())
}

/// Appends the table of one object that is not stored in this form, such as a Scale.
///
/// # Errors
/// 500 if JSON cannot represent the object.
pub(crate) fn write_tree(
    endpoint: &Handle,
    object: &Object,
    request: TableRequest,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    let mut table = Writer::new(endpoint, request);
    table.begin(&list_metadata(meta::text(object, "resourceVersion").to_owned()), true, out)?;
    table.row(&Item::Tree(object.clone()), out)?;
    table.end(out);
    Ok(())
}

impl Writer {
    /// Appends the row of a stored object. It is built from the stored bytes if they are in the served
    /// version, otherwise from a tree.
    ///
    /// # Errors
    /// As [`Writer::row`].
    pub(crate) fn stored(
        &mut self,
        outgoing: &ResponseObject<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        let version = codec::revision_text(outgoing.stored.revision);
        let item = match outgoing.raw() {
            Some(raw) => Item::Message { raw, version: &version, outgoing: Some(outgoing) },
            None => Item::Tree(outgoing.tree()?),
        };
        self.row(&item, out).inspect_err(|status| {
            let key = outgoing.stored.key;
            let revision = outgoing.stored.revision;
            tracing::error!(key, revision, message = status.message, "no row can be made of a stored object");
        })
    }
}

/// Returns the list metadata for a table of one object.
pub(crate) fn metadata_of(outgoing: &ResponseObject<'_>) -> Object {
    list_metadata(codec::revision_text(outgoing.stored.revision))
}

fn list_metadata(revision: String) -> Object {
    let mut meta = Object::new();
    if !revision.is_empty() {
        meta.insert("resourceVersion".to_owned(), revision.into());
    }
    meta
}

#[cfg(test)]
mod tests;
