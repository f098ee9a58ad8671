//! What a definition says of its resource, for as long as a row of it is in use.
//!
//! A definition is kept as text, and compiled for those who ask: most of those in a cluster are never written to
//! through this server, and a large one costs a hundred times its text.

use std::sync::{Arc, OnceLock};

use apimachinery::kube_version;
use cel::env::Environment;
use cel::structural::Validator;
use jsontree::Value;
use memchr::memmem;
use schema::json;
use schema::memory::BudgetExceeded;
use schema::object::{Object, go_type};
use schema::structured_merge::model::Schema;

use super::merge_schema::merge_schema;
pub use super::schema_text::SchemaText;
use crate::cel_times::CelMetrics;
use crate::structural::{Coercion, Literals, Structural};
use crate::table::CustomPrinter;
use crate::tree::{child, children, flag, text, texts};

/// What is said of an object that is stored in a version which its definition does not have (any more).
pub const INVALID_VERSION: &str = "request to convert CR from an invalid group/version";

/// The member that a schema is in.
const SCHEMA: &str = "openAPIV3Schema";

/// What is in the text of every schema that has rules anywhere.
const RULES: &[u8] = b"x-kubernetes-validations";

/// The members that most of a definition is in, of which none decides how it is served: [`json::decode_outline`] reads the
/// rest.
pub const BULK: &[&str] = &[SCHEMA, "fieldsV1"];

/// A custom resource, in all its versions.
#[derive(Debug)]
pub struct CustomKind {
    /// Kind of a list.
    pub list_kind: String,
    /// Nothing is pruned: the definition is older than schemas.
    pub preserve_unknown_fields: bool,
    /// The definition is being deleted: nothing is created any more.
    pub terminating: bool,
    /// Versions differ in more than their name: a webhook knows how.
    pub converts_by_webhook: bool,
    /// In the order of the definition.
    pub versions: Box<[CustomVersion]>,
}

/// One version of a custom resource.
#[derive(Debug)]
pub struct CustomVersion {
    /// Name, for example `v1`.
    pub name: String,
    /// `group/version`.
    pub api_version: String,
    /// Whether clients may use it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// What clients are warned of, if the version is deprecated.
    pub deprecated: Option<String>,
    /// The JSON text of `openAPIV3Schema`, if there is one.
    schema_text: Option<SchemaText>,
    /// Whether there is a `status` subresource.
    pub status: bool,
    /// The `scale` subresource.
    pub scale: Option<ScalePaths>,
    /// What Tables show besides the name, as the definition has it.
    pub columns: Vec<PrinterColumn>,
    /// Paths that field selectors may name, without the dot in front.
    pub selectable: Vec<String>,
    preserve_unknown_fields: bool,
    /// The minor number of the release whose expressions rules may use.
    minor: u32,
    structural: OnceLock<Option<Structural>>,
    rules: OnceLock<Option<Validator>>,
    /// Where it is noted how long rules take.
    cel_times: Option<Arc<CelMetrics>>,
    merge: OnceLock<Option<Schema>>,
    printer: OnceLock<CustomPrinter>,
}

/// Where an object has what its Scale shows. Members, one within the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalePaths {
    /// The replicas that are wanted.
    pub spec_replicas: Vec<String>,
    /// The replicas that are there.
    pub status_replicas: Vec<String>,
    /// The selector of their pods, as text.
    pub selector: Option<Vec<String>>,
}

/// A column of `additionalPrinterColumns`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: String,
    /// OpenAPI type.
    pub kind: String,
    /// OpenAPI format.
    pub format: String,
    /// What it shows, in the words of the definition; may be empty.
    pub description: String,
    /// 0 is always shown, others on request.
    pub priority: i32,
    /// Where the value is.
    pub json_path: String,
}

/// What a row knows of its definition.
#[derive(Debug, Clone, Copy)]
pub struct Custom<'a> {
    /// The resource.
    pub kind: &'a CustomKind,
    /// The row's version.
    pub version: &'a CustomVersion,
}

impl CustomKind {
    /// Reads the spec of a stored definition, which says at the top what all versions agree on. In the place of a schema may
    /// stand a number, as [`json::decode_outline`] puts it in the place of the [bulk](BULK), whose text `left` tells. `names`
    /// are those that it goes by, `minor` is that of the release whose expressions rules may use.
    pub fn of_stored(
        (spec, left): (&Object, &dyn Fn(usize) -> Option<SchemaText>),
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
            ..CustomVersion::read(group, (spec, version), left)
        });
        CustomKind {
            list_kind: names.list_kind.clone(),
            preserve_unknown_fields,
            terminating,
            converts_by_webhook: child(spec, "conversion")
                .is_some_and(|it| text(it, "strategy") == "Webhook"),
            versions: versions.collect(),
        }
    }

    /// Notes from now on how long rules take.
    #[must_use]
    pub fn timed(mut self, times: &Arc<CelMetrics>) -> Self {
        self.versions.iter_mut().for_each(|version| version.cel_times = Some(Arc::clone(times)));
        self
    }

    /// Checks the version of an object that is stored.
    ///
    /// # Errors
    /// It is not the definition's (any more).
    pub fn check_version(&self, api_version: &str) -> Result<(), String> {
        match self.version(api_version) {
            Some(_) => Ok(()),
            None => Err(format!("{INVALID_VERSION}: {api_version}")),
        }
    }

    /// `apiVersion` of what is stored; empty if no version is, which validation does not allow.
    pub fn storage_version(&self) -> &str {
        self.versions.iter().find(|version| version.storage).map_or("", |version| &version.api_version)
    }

    /// The version with an `apiVersion`.
    pub fn version(&self, api_version: &str) -> Option<&CustomVersion> {
        self.versions.iter().find(|version| version.api_version == api_version)
    }

    /// Leaves of an object of a version what its schema knows.
    ///
    /// # Errors
    /// See [`Structural::coerce`].
    pub fn coerce(
        &self,
        api_version: &str,
        object: &mut Object,
        coercion: Coercion,
    ) -> Result<Vec<String>, String> {
        match self.version(api_version) {
            Some(version) if !self.preserve_unknown_fields => match version.structural() {
                Some(schema) => schema.coerce(object, coercion),
                None => Structural::unknown().coerce(object, coercion),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// Whether the defaults of a version make a status where there is none.
    pub fn fills_in_status(&self, api_version: &str) -> bool {
        let version = self.version(api_version).filter(|version| version.status);
        version.and_then(CustomVersion::structural).is_some_and(Structural::fills_in_status)
    }

    /// Fills in the defaults of a version.
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

/// The warning about a deprecated version: the definition's own, or one that names a better version.
fn deprecation(spec: &Object, names: &Names, version: &Object) -> Option<String> {
    if !flag(version, "deprecated") {
        return None;
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        return Some(warning.to_owned());
    }
    let (group, kind, own) = (text(spec, "group"), &names.kind, text(version, "name"));
    let others =
        children(spec, "versions").filter(|other| flag(other, "served") && !flag(other, "deprecated"));
    let better =
        others.map(|other| text(other, "name")).filter(|name| kube_version::compare(own, name).is_lt());
    let better = better.max_by(|a, b| kube_version::compare(a, b));
    let instead = better.map(|better| format!("; use {group}/{better} {kind}")).unwrap_or_default();
    Some(format!("{group}/{own} {kind} is deprecated{instead}"))
}

impl CustomVersion {
    fn read(
        group: &str,
        (spec, version): (&Object, &Object),
        left: &dyn Fn(usize) -> Option<SchemaText>,
    ) -> Self {
        let name = text(version, "name").to_owned();
        let holder = child(version, "schema").or_else(|| child(spec, "validation"));
        let schema_text = match holder.and_then(|holder| holder.get(SCHEMA)) {
            Some(Value::Number(number)) => {
                number.as_u64().and_then(|number| left(usize::try_from(number).ok()?))
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
            scale: subresources.and_then(|all| child(all, "scale")).map(ScalePaths::read),
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

    /// The schema as JSON, if there is one. It is read anew each time.
    pub fn schema(&self) -> Option<Value> {
        read(&self.schema_text.as_ref()?.text())
    }

    /// The schema, compiled; none if there is none.
    pub fn structural(&self) -> Option<&Structural> {
        let compiled = self.structural.get_or_init(|| {
            let schema = self.schema()?;
            Some(Structural::new(schema.as_object()?, Literals::Plain))
        });
        compiled.as_ref()
    }

    /// The rules of the schema; none if it has none.
    pub fn rules(&self) -> Option<&Validator> {
        let compiled = self.rules.get_or_init(|| {
            let text = self.schema_text.as_ref()?.text();
            memmem::find(&text, RULES)?;
            let (stored, schema) = (Environment::of_release(u32::MAX), read(&text)?);
            let compile = || Validator::new(&schema, true, &stored, self.minor);
            match &self.cel_times {
                Some(times) => times.compiling(compile),
                None => compile(),
            }
        });
        compiled.as_ref()
    }

    /// Runs the rules with `run`, noting how long that takes.
    pub fn evaluating<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.cel_times {
            Some(times) => times.evaluating(run),
            None => run(),
        }
    }

    /// What prints the rows of Tables.
    pub fn printer(&self) -> &CustomPrinter {
        self.printer.get_or_init(|| CustomPrinter::new(&self.columns))
    }

    /// How objects merge; none if the schema does not say, so that it follows from what they are.
    pub fn merge(&self) -> Option<&Schema> {
        let compiled = self.merge.get_or_init(|| merge_schema(self.schema(), self.preserve_unknown_fields));
        compiled.as_ref()
    }
}

/// Reads the text of a schema.
fn read(text: &[u8]) -> Option<Value> {
    // A definition nests more deeply than the library's reader allows.
    json::decode_untyped(text).ok().map(|decoded| decoded.value)
}

impl ScalePaths {
    fn read(scale: &Object) -> Self {
        let path = |name: &str| -> Vec<String> {
            text(scale, name).trim_start_matches('.').split('.').map(str::to_owned).collect()
        };
        let selector = !text(scale, "labelSelectorPath").is_empty();
        ScalePaths {
            spec_replicas: path("specReplicasPath"),
            status_replicas: path("statusReplicasPath"),
            selector: selector.then(|| path("labelSelectorPath")),
        }
    }

    /// The replicas at one of the paths; `None` if there is nothing.
    ///
    /// # Errors
    /// There is something else, in the words of Go's `unstructured` accessors.
    pub fn replicas_at(object: &Object, path: &[String]) -> Result<Option<i64>, String> {
        match value_at(object, path)? {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                Some(replicas) => Ok(Some(replicas)),
                None => Err(not_a(path, value, "int64")),
            },
        }
    }

    /// The selector at its path; empty if there is nothing.
    ///
    /// # Errors
    /// There is something else.
    pub fn selector_at<'o>(object: &'o Object, path: &[String]) -> Result<&'o str, String> {
        match value_at(object, path)? {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| not_a(path, value, "string")),
        }
    }
}

/// What is at a path.
fn value_at<'o>(object: &'o Object, path: &[String]) -> Result<Option<&'o Value>, String> {
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

fn not_a(path: &[String], value: &Value, wanted: &str) -> String {
    let found = go_type(value);
    let shown = match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.to_string(),
        other => other.to_string(),
    };
    format!(".{} accessor error: {shown} is of the type {found}, expected {wanted}", path.join("."))
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

/// What a definition calls its resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Plural name, in paths.
    pub plural: String,
    /// Singular name.
    pub singular: String,
    /// Abbreviations.
    pub short_names: Vec<String>,
    /// Kind.
    pub kind: String,
    /// Kind of a list.
    pub list_kind: String,
    /// Groups of resources such as `all`.
    pub categories: Vec<String>,
}

impl Names {
    /// Reads `names`, or `acceptedNames`, of a definition.
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
