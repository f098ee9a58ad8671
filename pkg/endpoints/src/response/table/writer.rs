//! Writes tables as JSON, row by row. Memory use is one row, however long the table.
//!
//! A canonical message needs no tree: the printer reads the members for the columns in place, and the object
//! in the row is transcoded.

use api::resources::Handle;
use apimachinery::status::Status;
use jsontree::json;
use kinds::printers::{
    Cell, ColumnDefinition, CustomPrinter, DefaultClass, Printer, Row, RowCondition, Subject,
};
use schema::builtin::{
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LISTMETA as LIST_META,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA as PARTIAL,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_TABLECOLUMNDEFINITION as COLUMN,
};
use schema::object::Object;
use schema::proto::{self, TypeMetaHead};
use schema::{json_write, transcode};

use super::{IncludeObject, TableRequest};
use crate::response::encode::{PARTIAL_KIND, ResponseObject, encoding_error, meta_api_version, partial};

/// Object for a table row.
pub(crate) enum Item<'a> {
    Message {
        /// Message in the served version, without a resource version.
        raw: &'a [u8],
        /// Text of the resource version; may be empty.
        version: &'a str,
        /// The object, if the encoded part of the row can be cached for other requests.
        outgoing: Option<&'a ResponseObject<'a>>,
    },
    /// Tree in the served version, with its resource version, for objects stored in another form.
    Tree(Object),
}

/// Writer of one table: [`begin`](Self::begin), any number of [`row`](Self::row)s, [`end`](Self::end). All
/// append to a buffer that the caller may send and clear in between. No newline is written.
pub(crate) struct Writer {
    endpoint: Handle,
    request: TableRequest,
    printer: Printer,
    scales: Option<CustomPrinter>,
    /// Default class of a list of storage classes.
    default_class: Option<DefaultClass>,
    rows: bool,
}

impl Writer {
    pub(crate) fn new(endpoint: &Handle, request: TableRequest) -> Writer {
        let row = endpoint.row();
        let printer = Printer::of(row);
        let scales = row.custom.is_some() && row.subresource == "scale";
        let scales = scales.then(CustomPrinter::of_scales);
        Writer { endpoint: endpoint.clone(), request, printer, scales, default_class: None, rows: false }
    }

    /// Sets the default class of the list, whose row is marked.
    pub(crate) fn set_default_class(&mut self, default_class: Option<DefaultClass>) {
        self.default_class = default_class;
    }

    /// Appends a row of a built-in kind up to its conditions.
    fn values(&self, mut row: Row<'_>, out: &mut Vec<u8>) {
        if let Some(default_class) = &self.default_class {
            default_class.mark(&mut row);
        }
        values(&row, out);
    }

    fn custom(&self) -> Option<&CustomPrinter> {
        let row_printer = || self.endpoint.row().custom.map(|custom| custom.version.printer());
        self.scales.as_ref().or_else(row_printer)
    }

    /// Appends everything before the rows. `metadata` is the list's `ListMeta`, or the `ListMeta` of a list
    /// with the single object. A watch sends the columns only with its first event.
    ///
    /// # Errors
    /// 500: `metadata` is no `ListMeta`.
    pub(crate) fn begin(
        &mut self,
        metadata: &Object,
        columns: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        self.rows = false;
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/");
        out.extend_from_slice(self.request.version.as_bytes());
        out.extend_from_slice(b"\",\"metadata\":");
        json_write::encode(&LIST_META, metadata, out).map_err(encoding_error)?;
        out.extend_from_slice(b",\"columnDefinitions\":");
        if columns {
            self.columns(out)?
        } else {
            out.extend_from_slice(b"null")
        }
        out.extend_from_slice(b",\"rows\":");
        Ok(())
    }

    /// Appends the row of an object.
    ///
    /// # Errors
    /// 500 if the object cannot be decoded or JSON cannot represent it. `out` is then unchanged, and the
    /// table can continue.
    pub(crate) fn row(&mut self, item: &Item<'_>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let begin = out.len();
        self.next(out);
        match self.print(item, out).and_then(|()| self.append_object(item, out)) {
            Ok(()) => {
                out.push(b'}');
                self.rows = true;
                Ok(())
            }
            Err(status) => {
                out.truncate(begin);
                Err(status)
            }
        }
    }

    /// Appends everything after the rows.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>) {
        let is_null = self.custom().is_none() && self.printer.has_null_rows();
        out.extend_from_slice(match (self.rows, is_null) {
            (true, _) => b"]}",
            (false, false) => b"[]}",
            (false, true) => b"null}",
        });
    }

    fn columns(&self, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        if let Some(custom) = self.custom() {
            return definitions(custom.columns(), out);
        }
        let builtin = self.printer.columns().map(|column| ColumnDefinition {
            name: column.name,
            kind: column.kind,
            format: column.format,
            description: column.description(),
            priority: column.priority,
        });
        definitions(builtin, out)
    }

    /// Appends the separator before a row.
    fn next(&self, out: &mut Vec<u8>) {
        out.push(if self.rows { b',' } else { b'[' });
    }

    /// Starts a row with cells and conditions.
    fn print(&self, item: &Item<'_>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        let tree;
        let object = match item {
            Item::Tree(object) => object,
            Item::Message { raw, .. } => {
                let subject = Subject::message(self.endpoint.row().message, raw);
                if let Ok(row) = self.printer.row(&subject, self.request.now) {
                    self.values(row, out);
                    return Ok(());
                }
                tree = proto::decode(self.endpoint.row().message, raw).map_err(unreadable)?;
                &tree
            }
        };
        if let Some(custom) = self.custom() {
            return self.print_custom(custom, object, out);
        }
        let subject = Subject::tree(object);
        self.values(self.printer.row(&subject, self.request.now).map_err(unreadable)?, out);
        Ok(())
    }

    /// As [`print`](Self::print), for a custom resource or its Scale. JSON paths apply to the encoded object,
    /// so zero members of a Scale are absent.
    fn print_custom(
        &self,
        printer: &CustomPrinter,
        object: &Object,
        out: &mut Vec<u8>,
    ) -> Result<(), Box<Status>> {
        let message = self.endpoint.row().message;
        if message.open {
            cells(&printer.cells(object, self.request.now), out);
            return Ok(());
        }
        let mut json = Vec::new();
        json_write::encode(message, object, &mut json).map_err(encoding_error)?;
        let json = serde_json::from_slice(&json).map_err(unreadable)?;
        cells(&printer.cells(&json, self.request.now), out);
        Ok(())
    }

    /// Appends the object in the row.
    fn append_object(&self, item: &Item<'_>, out: &mut Vec<u8>) -> Result<(), Box<Status>> {
        out.extend_from_slice(b",\"object\":");
        match (item, self.request.include) {
            (_, IncludeObject::None) => {
                out.extend_from_slice(b"null");
                Ok(())
            }
            (Item::Message { outgoing: Some(outgoing), .. }, IncludeObject::Object) => {
                outgoing.json(true, out)
            }
            (Item::Message { outgoing: Some(outgoing), .. }, IncludeObject::Metadata) => {
                outgoing.partial_json(self.request.version, out)
            }
            (Item::Message { raw, version, outgoing: None }, include) => {
                let (message, raw, head) = match include {
                    IncludeObject::Object => (self.endpoint.row().message, *raw, self.head()),
                    _ => (&PARTIAL, proto::partial_metadata(raw).map_err(unreadable)?, self.partial_head()),
                };
                let version = Some(*version).filter(|version| !version.is_empty());
                transcode::to_json(message, raw, Some(head), version, out).map_err(unreadable)
            }
            (Item::Tree(object), IncludeObject::Object) => {
                json_write::encode(self.endpoint.row().message, object, out).map_err(encoding_error)
            }
            (Item::Tree(object), IncludeObject::Metadata) => {
                let metadata = object.get_key_value("metadata");
                let bare = metadata.map(|(name, value)| (name.clone(), value.clone())).into_iter().collect();
                json_write::encode(&PARTIAL, &partial(bare, self.request.version), out)
                    .map_err(encoding_error)
            }
        }
    }

    fn head(&self) -> TypeMetaHead<'_> {
        let endpoint = self.endpoint.row();
        TypeMetaHead { api_version: endpoint.kind_group_version, kind: endpoint.kind }
    }

    fn partial_head(&self) -> TypeMetaHead<'static> {
        TypeMetaHead { api_version: meta_api_version(self.request.version), kind: PARTIAL_KIND }
    }
}

fn unreadable(error: impl std::fmt::Display) -> Box<Status> {
    encoding_error(format_args!("unable to decode an object from storage: {error}"))
}

fn definitions<'a>(
    columns: impl Iterator<Item = ColumnDefinition<'a>>,
    out: &mut Vec<u8>,
) -> Result<(), Box<Status>> {
    out.push(b'[');
    for (at, column) in columns.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut definition = Object::new();
        definition.insert("name", column.name.into());
        definition.insert("type", column.kind.into());
        definition.insert("format", column.format.into());
        definition.insert("description", column.description.into());
        definition.insert("priority", json!(column.priority));
        json_write::encode(&COLUMN, &definition, out).map_err(encoding_error)?;
    }
    out.push(b']');
    Ok(())
}

/// Appends the opening brace of a row, and its cells.
fn cells(cells: &[Cell<'_>], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"cells\":[");
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        cell.write(out);
    }
    out.push(b']');
}

/// Appends the opening brace of a row, and the printer's output.
fn values(row: &Row<'_>, out: &mut Vec<u8>) {
    cells(&row.cells, out);
    if let Some(RowCondition { condition_type, status, reason, message }) = row.condition {
        let members = [
            ("[{\"type\":", condition_type),
            (",\"status\":", status),
            (",\"reason\":", reason),
            (",\"message\":", message),
        ];
        out.extend_from_slice(b",\"conditions\":");
        for (key, text) in members {
            out.extend_from_slice(key.as_bytes());
            json_write::write_string(text.as_bytes(), out);
        }
        out.extend_from_slice(b"}]");
    }
}
