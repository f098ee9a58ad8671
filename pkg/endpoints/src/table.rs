//! `as=Table`: columns of the row, cells from the kind's printer.

use api::options::TableOptions;
use api::printers;
use api::resources::Resource;
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use schema::object::Object;
use schema::{builtin, json_write};
use serde_json::{Value, json};

use crate::encode::{Outgoing, failed};

/// How much of the object a table row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// Nothing.
    None,
    /// `PartialObjectMetadata`.
    Metadata,
    /// The whole object.
    Object,
}

impl IncludeObject {
    /// Reads `?includeObject=`; empty means metadata.
    ///
    /// # Errors
    /// 400.
    pub(crate) fn parse(text: &str) -> Result<Self, Box<Status>> {
        let errors =
            api::validation::validate_table_options(&TableOptions { include_object: text.to_owned() });
        if let Some(error) = errors.first() {
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

/// A request for a table.
#[derive(Clone, Copy)]
pub(crate) struct TableRequest {
    /// `v1` or `v1beta1`.
    pub(crate) version: &'static str,
    /// What rows carry.
    pub(crate) include: IncludeObject,
    /// For ages.
    pub(crate) now: UnixTime,
}

/// The table of some objects. `metadata` is the list's, or for one object what a list of it would have.
/// A watch sends the columns only with its first event.
pub(crate) fn table(
    endpoint: &'static Resource,
    objects: &[Outgoing<'_>],
    metadata: Object,
    request: TableRequest,
    columns: bool,
) -> Result<Object, Box<Status>> {
    let rows: Vec<Value> =
        objects.iter().map(|outgoing| row(endpoint, outgoing, request)).collect::<Result<_, _>>()?;
    // Upstream's default table convertor leaves the rows of an empty list nil.
    let nil = rows.is_empty() && !printers::has_printer(endpoint.group_version, endpoint.plural);
    let mut out = Object::new();
    out.insert("kind".to_owned(), "Table".into());
    out.insert("apiVersion".to_owned(), format!("meta.k8s.io/{}", request.version).into());
    out.insert("metadata".to_owned(), Value::Object(metadata));
    out.insert("columnDefinitions".to_owned(), if columns { definitions(endpoint) } else { Value::Null });
    out.insert("rows".to_owned(), if nil { Value::Null } else { Value::Array(rows) });
    Ok(out)
}

/// The list metadata of a table of one object.
pub(crate) fn metadata_of(outgoing: &Outgoing<'_>) -> Object {
    let mut meta = Object::new();
    let revision = registry::codec::revision_text(outgoing.stored.revision);
    if !revision.is_empty() {
        meta.insert("resourceVersion".to_owned(), revision.into());
    }
    meta
}

fn definitions(endpoint: &'static Resource) -> Value {
    let descriptions = printers::column_descriptions(endpoint.group, endpoint.plural);
    let columns = endpoint.columns.iter().enumerate().map(|(at, column)| {
        json!({
            "name": column.name,
            "type": column.kind,
            "format": column.format,
            "description": descriptions.get(at).copied().unwrap_or(""),
            "priority": column.priority,
        })
    });
    Value::Array(columns.collect())
}

/// One row. The carried object is raw JSON, a leaf of the tree.
fn row(
    endpoint: &'static Resource,
    outgoing: &Outgoing<'_>,
    request: TableRequest,
) -> Result<Value, Box<Status>> {
    let object = outgoing.tree()?;
    let mut row = Object::new();
    row.insert(
        "cells".to_owned(),
        Value::Array(printers::cells(endpoint.group_version, endpoint.plural, &object, request.now)),
    );
    if let Some(condition) = printers::row_condition(endpoint.group_version, endpoint.plural, &object) {
        let condition = json!({
            "type": condition.condition_type,
            "status": condition.status,
            "reason": condition.reason,
            "message": condition.message,
        });
        row.insert("conditions".to_owned(), json!([condition]));
    }
    let mut carried = Vec::new();
    match request.include {
        IncludeObject::None => return Ok(Value::Object(row)),
        IncludeObject::Object => outgoing.json(true, &mut carried)?,
        IncludeObject::Metadata => {
            let partial = crate::encode::partial(object, request.version);
            json_write::encode(
                &builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_PARTIALOBJECTMETADATA,
                &partial,
                &mut carried,
            )
            .map_err(failed)?;
        }
    }
    row.insert("object".to_owned(), String::from_utf8(carried).map_err(failed)?.into());
    Ok(Value::Object(row))
}
