//! Data of a CRD that the rows of its resource share.
//!
//! A definition is stored as text and compiled on demand. Most definitions in a cluster are never used for
//! writes through this server, and a compiled large one takes a hundred times the memory of its text.

use std::sync::{Arc, OnceLock};
use thiserror::Error;

use apimachinery::kube_version;
use cel::env::Environment;
use cel::structural::Validator;
use fieldmanager::structured_merge::model::Schema;
use jsontree::{Value, json};
use memchr::memmem;
use schema::json;
use schema::memory::BudgetExceeded;
use schema::object::{Object, go_type};

use super::merge_schema::merge_schema;
pub use super::schema_text::SchemaText;
use crate::cel_times::CelMetrics;
use crate::structural::{Coercion, CoercionError, Literals, Structural};
use crate::table::CustomPrinter;
use crate::tree::{child, children, flag, text, texts};

/// Text of the error about an object in a version that its CRD does not have (any more).
pub const INVALID_VERSION: &str = "request to convert CR from an invalid group/version";

/// Error about a stored object in a version that its CRD does not have (any more).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{INVALID_VERSION}: {0}")]
pub struct InvalidVersionError(String);

const SCHEMA: &str = "openAPIV3Schema";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";

/// Member name that occurs in the text of every schema with validation rules.
const RULES: &[u8] = b"x-kubernetes-validations";

/// Members with most of a definition's bytes, none of which affects serving: [`json::decode_outline`] skips
/// them.
pub const BULK: &[&str] = &[SCHEMA, "fieldsV1"];

#[derive(Debug)]
pub struct CustomKind {
    pub list_kind: String,
    /// True for CRDs without structural schemas: nothing is pruned.
    pub preserve_unknown_fields: bool,
    /// True if the CRD is being deleted; objects can no longer be created.
    pub terminating: bool,
    /// True if a webhook converts between the versions. Otherwise versions differ only in their name.
    pub converts_by_webhook: bool,
    /// Versions in the order of the CRD.
    pub versions: Box<[CustomVersion]>,
}

#[derive(Debug)]
pub struct CustomVersion {
    pub name: String,
    /// `group/version`.
    pub api_version: String,
    pub served: bool,
    pub storage: bool,
    /// Warning for clients if the version is deprecated.
    pub deprecated: Option<String>,
    /// JSON text of `openAPIV3Schema`, if there is one.
    schema_text: Option<SchemaText>,
    /// True if there is a `status` subresource.
    pub status: bool,
    pub scale: Option<ScalePaths>,
    /// Columns of Tables besides the name.
    pub columns: Vec<PrinterColumn>,
    /// Selectable field paths, without the leading dot.
    pub selectable: Vec<String>,
    preserve_unknown_fields: bool,
    /// Minor version of the Kubernetes release whose CEL environment the rules may use.
    minor: u32,
    structural: OnceLock<Option<Structural>>,
    rules: OnceLock<Option<Validator>>,
    /// Duration metrics of the rules.
    cel_times: Option<Arc<CelMetrics>>,
    merge: OnceLock<Option<Schema>>,
    printer: OnceLock<CustomPrinter>,
}

/// Paths of the fields of a Scale, as lists of nested member names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    pub spec_replicas: Vec<String>,
    pub status_replicas: Vec<String>,
    /// Path of the pod selector, which is a text.
    pub selector: Option<Vec<String>>,
}

/// A column of `additionalPrinterColumns`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrinterColumn {
    pub name: String,
    pub kind: String,
    pub format: String,
    /// Description from the definition; may be empty.
    pub description: String,
    /// 0 is always shown, others on request (`-o wide`).
    pub priority: i32,
    pub json_path: String,
}

#[derive(Debug, Clone, Copy)]
pub struct Custom<'a> {
    pub kind: &'a CustomKind,
    pub version: &'a CustomVersion,
}

impl CustomKind {
    /// Parses the spec of a stored definition, which has settings common to all versions at the top. A schema
    /// can be a number instead, which [`json::decode_outline`] inserts in place of the [bulk](BULK); `skipped`
    /// returns the text for that number. `names` are the accepted names. `minor` is the minor version of the
    /// release whose expressions the rules may use.
    pub fn of_stored(
        spec: &Object,
        skipped: &dyn Fn(usize) -> Option<SchemaText>,
        names: &Names,
        terminating: bool,
        minor: u32,
    ) -> Self {
        let preserve_unknown_fields = flag(spec, "preserveUnknownFields");
        let group = text(spec, "group");
        let versions = children(spec, "versions").map(|version| CustomVersion {
            minor,
            preserve_unknown_fields,
            deprecated: deprecation(spec, names, version),
            ..CustomVersion::read(group, spec, version, skipped)
        });
        CustomKind {
            list_kind: names.list_kind.clone(),
            preserve_unknown_fields,
            terminating,
            converts_by_webhook: child(spec, "conversion")
                .is_some_and(|conversion| text(conversion, "strategy") == "Webhook"),
            versions: versions.collect(),
        }
    }

    /// Records the durations of rules in `times`.
    #[must_use]
    pub fn timed(mut self, times: &Arc<CelMetrics>) -> Self {
        self.versions.iter_mut().for_each(|version| version.cel_times = Some(Arc::clone(times)));
        self
    }

    /// Checks the version of a stored object.
    ///
    /// # Errors
    /// The CRD does not have this version (any more).
    pub fn check_version(&self, api_version: &str) -> Result<(), InvalidVersionError> {
        match self.version(api_version) {
            Some(_) => Ok(()),
            None => Err(InvalidVersionError(api_version.to_owned())),
        }
    }

    /// Returns the `apiVersion` of stored objects; empty if no version is stored, which validation prevents.
    pub fn storage_version(&self) -> &str {
        self.versions.iter().find(|version| version.storage).map_or("", |version| &version.api_version)
    }

    pub fn version(&self, api_version: &str) -> Option<&CustomVersion> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }

    /// Prunes an object according to the schema of its version.
    ///
    /// # Errors
    /// See [`Structural::coerce`].
    pub fn coerce(
        &self,
        api_version: &str,
        object: &mut Object,
        coercion: Coercion,
    ) -> Result<Vec<String>, CoercionError> {
        match self.version(api_version) {
            Some(version) if !self.preserve_unknown_fields => match version.structural() {
                Some(schema) => schema.coerce(object, coercion),
                None => Structural::unknown().coerce(object, coercion),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// True if the defaults of a version add an absent status.
    pub fn fills_in_status(&self, api_version: &str) -> bool {
        let version = self.version(api_version).filter(|version| version.status);
        version.and_then(CustomVersion::structural).is_some_and(Structural::fills_in_status)
    }

    /// Sets the defaults of a version.
    ///
    /// # Errors
    /// See [`Structural::default`].
    pub fn default(&self, api_version: &str, object: &mut Object) -> Result<(), BudgetExceeded> {
        match self.version(api_version).and_then(CustomVersion::structural) {
            Some(schema) => schema.default(object),
            None => Ok(()),
        }
    }
}

/// Returns the warning about a deprecated version: the definition's own, or one that recommends a better
/// version.
fn deprecation(spec: &Object, names: &Names, version: &Object) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let group = text(spec, "group");
    let kind = &names.kind;
    let own_name = text(version, "name");
    let alternatives =
        children(spec, "versions").filter(|other| flag(other, "served") && !flag(other, "deprecated"));
    let better = alternatives
        .map(|other| text(other, "name"))
        .filter(|name| kube_version::compare(own_name, name).is_lt());
    let better = better.max_by(|a, b| kube_version::compare(a, b));
    let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{own_name} {kind} is deprecated{instead}"))
}

impl CustomVersion {
    fn read(
        group: &str,
        spec: &Object,
        version: &Object,
        skipped: &dyn Fn(usize) -> Option<SchemaText>,
    ) -> Self {
        let name = text(version, "name").to_owned();
        let holder = child(version, "schema").or_else(|| child(spec, "validation"));
        let schema_text = match holder.and_then(|holder| holder.get(SCHEMA)) {
            Some(Value::Number(number)) => {
                number.as_u64().and_then(|number| skipped(usize::try_from(number).ok()?))
            }
            Some(schema @ Value::Object(_)) => Some(SchemaText::packed(schema.to_string().as_bytes())),
            _ => None,
        };
        let subresources = child(version, "subresources").or_else(|| child(spec, "subresources"));
        let of_version_or_all = |name| match version.get(name).and_then(Value::as_array) {
            Some(list) if !list.is_empty() => version,
            _ => spec,
        };
        let columns = children(of_version_or_all("additionalPrinterColumns"), "additionalPrinterColumns");
        let selectable = children(of_version_or_all("selectableFields"), "selectableFields");
        let path = |field: &Object| text(field, "jsonPath").trim_start_matches('.').to_owned();
        CustomVersion {
            api_version: format!("{group}/{name}"),
            name,
            served: flag(version, "served"),
            storage: flag(version, "storage"),
            deprecated: None,
            schema_text,
            status: subresources.is_some_and(|all| all.contains_key("status")),
            scale: subresources.and_then(|all| child(all, "scale")).and_then(ScalePaths::read),
            columns: columns.map(PrinterColumn::read).collect(),
            selectable: selectable.map(path).collect(),
            preserve_unknown_fields: false,
            minor: 0,
            structural: OnceLock::new(),
            rules: OnceLock::new(),
            cel_times: None,
            merge: OnceLock::new(),
            printer: OnceLock::new(),
        }
    }

    /// Parses the schema as JSON, if there is one. It is parsed again on every call.
    pub fn schema(&self) -> Option<Value> {
        read(&self.schema_text.as_ref()?.text())
    }

    /// Returns the compiled schema, if there is one.
    pub fn structural(&self) -> Option<&Structural> {
        let compiled = self.structural.get_or_init(|| {
            let schema = self.schema()?;
            Some(Structural::new(schema.as_object()?, Literals::Plain))
        });
        compiled.as_ref()
    }

    /// Returns the compiled validation rules, if the schema has any.
    pub fn rules(&self) -> Option<&Validator> {
        let compiled = self.rules.get_or_init(|| {
            let text = self.schema_text.as_ref()?.text();
            memmem::find(&text, RULES)?;
            let stored = Environment::of_release(u32::MAX);
            let schema = read(&text)?;
            let compile = || Validator::new(&schema, true, &stored, self.minor);
            match &self.cel_times {
                Some(times) => times.compiling(compile),
                None => compile(),
            }
        });
        compiled.as_ref()
    }

    /// Runs the rules with `run` and records the duration.
    pub fn evaluating<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.cel_times {
            Some(times) => times.evaluating(run),
            None => run(),
        }
    }

    pub fn printer(&self) -> &CustomPrinter {
        self.printer.get_or_init(|| CustomPrinter::new(&self.columns))
    }

    /// Returns the merge schema. Returns `None` if the schema does not define merging; it then follows from
    /// the values.
    pub fn merge(&self) -> Option<&Schema> {
        let compiled = self.merge.get_or_init(|| merge_schema(self.schema(), self.preserve_unknown_fields));
        compiled.as_ref()
    }
}

/// Parses a schema. Subschemas that are nested too deeply for a tree become schemas that accept any value.
fn read(text: &[u8]) -> Option<Value> {
    // A definition is nested more deeply than the library's parser allows.
    let mut schema = json::decode_untyped_stored(text).ok()?.value;
    if let Value::Object(schema) = &mut schema
        && schema.values().any(Value::has_raw)
    {
        loosen(schema);
    }
    Some(schema)
}

/// Replaces the raw parts of a schema, so that it accepts any value there.
fn loosen(schema: &mut Object) {
    let any = || json!({ PRESERVE: true });
    let mut is_open = false;
    schema.retain(|name, value| {
        match (name.as_str(), &mut *value) {
            ("properties", Value::Object(members)) => {
                members.values_mut().for_each(|member| match member {
                    Value::Object(member) => loosen(member),
                    Value::Raw(_) => *member = any(),
                    _ => {}
                });
            }
            ("items" | "additionalProperties", Value::Object(below)) => loosen(below),
            ("items" | "additionalProperties", Value::Raw(_)) => *value = any(),
            (_, value) if value.has_raw() => {
                is_open |= value.is_raw();
                return false;
            }
            _ => {}
        }
        true
    });
    if is_open {
        schema.insert(PRESERVE, true.into());
    }
}

impl ScalePaths {
    /// Maximum number of steps of a path. A write of replicas creates the objects on their path, and no object
    /// may be nested deeper.
    pub const STEPS_MAX: usize = json::TREE_DEPTH_MAX;

    /// Returns the member names of a path such as `.spec.replicas`.
    pub fn steps(path: &str) -> impl Iterator<Item = &str> {
        path.trim_start_matches('.').split('.')
    }

    /// Returns `None` if a path is too long, which validation rejects but another server may have stored.
    fn read(scale: &Object) -> Option<Self> {
        let path = |name: &str| -> Option<Vec<String>> {
            let steps: Vec<String> = Self::steps(text(scale, name)).map(str::to_owned).collect();
            (steps.len() <= Self::STEPS_MAX).then_some(steps)
        };
        let selects = !text(scale, "labelSelectorPath").is_empty();
        Some(ScalePaths {
            spec_replicas: path("specReplicasPath")?,
            status_replicas: path("statusReplicasPath")?,
            selector: if selects { Some(path("labelSelectorPath")?) } else { None },
        })
    }

    /// Returns the replicas at a path, or `None` if absent.
    ///
    /// # Errors
    /// The value has another type. The text is that of Go's `unstructured` accessors.
    pub fn replicas_at(object: &Object, path: &[String]) -> Result<Option<i64>, ScaleFieldError> {
        match value_at(object, path)? {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                Some(replicas) => Ok(Some(replicas)),
                None => Err(not_a(path, value, "int64")),
            },
        }
    }

    /// Returns the selector at its path; empty if absent.
    ///
    /// # Errors
    /// The value has another type.
    pub fn selector_at<'o>(object: &'o Object, path: &[String]) -> Result<&'o str, ScaleFieldError> {
        match value_at(object, path)? {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| not_a(path, value, "string")),
        }
    }
}

/// Error about a field of a Scale with another type. The text is that of Go's `unstructured` accessors.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(".{path} accessor error: {value} is of the type {actual_type}, expected {expected_type}")]
pub struct ScaleFieldError {
    path: String,
    value: String,
    /// Go types.
    actual_type: &'static str,
    expected_type: &'static str,
}

fn value_at<'o>(object: &'o Object, path: &[String]) -> Result<Option<&'o Value>, ScaleFieldError> {
    let Some((first, rest)) = path.split_first() else { return Ok(None) };
    let mut at = object.get(first);
    for (depth, name) in rest.iter().enumerate() {
        at = match at {
            Some(Value::Object(members)) => members.get(name),
            None | Some(Value::Null) => return Ok(None),
            Some(other) => {
                let before = path.get(..=depth).unwrap_or(path);
                return Err(not_a(before, other, "map[string]interface {}"));
            }
        };
    }
    Ok(at)
}

fn not_a(path: &[String], value: &Value, expected_type: &'static str) -> ScaleFieldError {
    let actual_type = go_type(value);
    let text = match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    };
    ScaleFieldError { path: path.join("."), value: text, actual_type, expected_type }
}

impl PrinterColumn {
    fn read(column: &Object) -> Self {
        let text = |name: &str| text(column, name).to_owned();
        let json_path = match text("jsonPath") {
            path if path.is_empty() => text("JSONPath"),
            path => path,
        };
        let priority = column.get("priority").and_then(Value::as_i64).unwrap_or_default();
        PrinterColumn {
            name: text("name"),
            kind: text("type"),
            format: text("format"),
            description: text("description"),
            priority: i32::try_from(priority).unwrap_or_default(),
            json_path,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub kind: String,
    pub list_kind: String,
    /// Categories such as `all`.
    pub categories: Vec<String>,
}

impl Names {
    /// Parses `names` or `acceptedNames` of a definition.
    pub fn read(names: &Object) -> Self {
        let text = |name: &str| text(names, name).to_owned();
        let list = |name: &str| texts(names, name).map(str::to_owned).collect();
        Names {
            plural: text("plural"),
            singular: text("singular"),
            short_names: list("shortNames"),
            kind: text("kind"),
            list_kind: text("listKind"),
            categories: list("categories"),
        }
    }
}
