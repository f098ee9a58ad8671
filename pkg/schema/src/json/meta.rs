//! Reads `apiVersion` and `kind` before the type is determined.
//!
//! Upstream uses Go's own decoder for this, which ignores the case of names. It reads the whole text, so
//! invalid syntax is reported here first.

use std::borrow::Cow;

use super::errors::{Error, TypeError};
use super::path::kind_of;
use super::scan::Scanner;

/// A body's `apiVersion` and `kind`; empty if absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeMeta<'a> {
    /// `v1` or `group/version`.
    pub api_version: Cow<'a, str>,
    /// `kind` as written, such as `Pod`.
    pub kind: Cow<'a, str>,
}

/// The Go type that upstream decodes into; part of the error for a body that is not an object.
const GO_TYPE: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Reads `apiVersion` and `kind` of a body, and checks the syntax of all of it.
///
/// # Errors
/// [`Error::TypeMeta`] for invalid syntax and wrong types; [`Error::Value`] for an `apiVersion` with more
/// than one slash.
pub fn type_meta(text: &[u8]) -> Result<TypeMeta<'_>, Error> {
    let meta = find(text).map_err(|error| Error::TypeMeta(Box::new(error)))?;
    if meta.api_version.matches('/').count() > 1 {
        return Err(Error::Value(format!("unexpected GroupVersion string: {}", meta.api_version)));
    }
    Ok(meta)
}

fn find(text: &[u8]) -> Result<TypeMeta<'_>, Error> {
    let mut scan = Scanner::new(text);
    let mut meta = TypeMeta::default();
    let mut saved = None;
    match scan.value_start()? {
        b'{' => members(&mut scan, &mut meta, &mut saved)?,
        b'n' => scan.word()?,
        c => {
            scan.skip()?;
            saved = Some(type_error(c, "", GO_TYPE));
        }
    }
    scan.end()?;
    saved.map_or(Ok(meta), Err)
}

fn members<'a>(
    scan: &mut Scanner<'a>,
    meta: &mut TypeMeta<'a>,
    saved: &mut Option<Error>,
) -> Result<(), Error> {
    scan.open()?;
    let mut first = true;
    while let Some(name) = scan.next_member(first)? {
        first = false;
        let name = name.text();
        let (slot, field) = if folds_to(&name, "apiversion") {
            (&mut meta.api_version, "apiVersion")
        } else if folds_to(&name, "kind") {
            (&mut meta.kind, "kind")
        } else {
            scan.skip()?;
            continue;
        };
        match scan.value_start()? {
            b'"' => *slot = scan.string()?.text(),
            b'n' => scan.word()?,
            c => {
                scan.skip()?;
                saved.get_or_insert_with(|| type_error(c, field, "string"));
            }
        }
    }
    Ok(())
}

fn type_error(start: u8, field: &str, go_type: &'static str) -> Error {
    let value = kind_of(start).into();
    let field = field.to_owned();
    Error::Type(Box::new(TypeError { value, struct_name: "".into(), field, go_type: go_type.into() }))
}

/// True if a name equals a lower-case name under Unicode's simple folding, in which two characters beyond
/// ASCII fold to ASCII letters.
fn folds_to(name: &str, lower: &str) -> bool {
    let fold = |c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    name.len() >= lower.len() && name.chars().map(fold).eq(lower.chars())
}
