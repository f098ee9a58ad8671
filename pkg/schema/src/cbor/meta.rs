//! Finding `apiVersion` and `kind` before the type is known. Unlike in JSON, names must be exact, and an
//! `apiVersion` that is none counts for nothing.

use jsontree::Value;

use super::errors::Error;
use super::scan::Scanner;
use super::typed::Decoder;
use crate::object::Object;
use crate::table::{Message, MessageInfo, Names, Shape};

/// What a body says it is; empty where it says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeMeta {
    /// `v1` or `group/version`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
}

/// The struct that upstream decodes into first: nothing but `kind` and `apiVersion`.
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
    info: &MessageInfo { kinds: &[], no_openapi: true, map_type: "", unions: "" },
};

/// Reads `apiVersion` and `kind` of a body, and checks that all of it is well formed.
///
/// # Errors
/// [`Error::TypeMeta`].
pub fn type_meta(bytes: &[u8]) -> Result<TypeMeta, Error> {
    let found = Scanner::checked(bytes).and_then(|scan| Decoder::new(scan, false, 0).whole(&TYPE_META));
    let mut found = found.map_err(|error| Error::TypeMeta(Box::new(error)))?;
    let api_version = text(&mut found, "apiVersion");
    let proper = api_version.matches('/').count() <= 1;
    Ok(TypeMeta {
        api_version: if proper { api_version } else { String::new() },
        kind: text(&mut found, "kind"),
    })
}

fn text(object: &mut Object, name: &str) -> String {
    match object.remove(name) {
        Some(Value::String(text)) => text.into_string(),
        _ => String::new(),
    }
}
