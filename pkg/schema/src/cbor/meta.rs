//! Reads `apiVersion` and `kind` before the type is determined. Unlike in JSON, names must match exactly, and
//! an invalid `apiVersion` is ignored.

use jsontree::Value;

use super::decoder::Decoder;
use super::errors::Error;
use super::scan::Scanner;
use crate::object::Object;
use crate::table::{Message, MessageInfo, Names, Shape};

/// A body's `apiVersion` and `kind`; empty if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeMeta {
    /// `v1` or `group/version`.
    pub api_version: String,
    /// `kind` as written, such as `Pod`.
    pub kind: String,
}

/// The struct that upstream decodes first: only `kind` and `apiVersion`.
static TYPE_META: Message = Message {
    name: "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta",
    wire_name: "",
    go_name: "v1.TypeMeta",
    shape: Shape::Struct,
    type_meta: true,
    open: false,
    fields: &[],
    wire_order: &[],
    by_number: &[],
    members: &[],
    names: Names { multiplier: 0, shift: 0, slots: &[] },
    info: &MessageInfo {
        kinds: &[],
        unregistered: false,
        no_openapi: true,
        map_type: "",
        unions: "",
        verbatim: false,
    },
};

/// Reads `apiVersion` and `kind` of a body, and checks that all of it is well-formed.
///
/// # Errors
/// [`Error::TypeMeta`].
pub fn type_meta(bytes: &[u8]) -> Result<TypeMeta, Error> {
    let members =
        Scanner::checked(bytes).and_then(|scan| Decoder::new(scan, false, 0).decode_root(&TYPE_META));
    let mut members = members.map_err(|error| Error::TypeMeta(Box::new(error)))?;
    let api_version = text(&mut members, "apiVersion");
    let proper = api_version.matches('/').count() <= 1;
    Ok(TypeMeta {
        api_version: if proper { api_version } else { String::new() },
        kind: text(&mut members, "kind"),
    })
}

fn text(object: &mut Object, name: &str) -> String {
    match object.remove(name) {
        Some(Value::String(text)) => text.into_string(),
        _ => String::new(),
    }
}
