//! The OpenAPI schema of a version: supported features, and requirements of extensions.

use super::rules::{Compiler, Scope};
use super::subschemas::{is_given, map_entries, properties, schemas};
use super::validation_rules::ValidationRules;
use super::{defaults, extensions, structural};
use crate::validation::go_value::go_value;
use ::schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_JSONSCHEMAPROPS as SCHEMA;
use ::schema::object::Object;
use api::tree::{child, flag, is_set, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Members that are allowed at the root with a status subresource, with upstream's names and order.
const AT_ROOT: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Validates the object with the schema of one version, or the spec with the schema of all versions.
pub(super) fn validate(
    path: &Path<'_>,
    holder: Option<&Object>,
    version: &str,
    has_status: bool,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    let Some(schema) = holder.and_then(|holder| child(holder, "openAPIV3Schema")) else { return };
    let path = &path.child("openAPIV3Schema");
    let mut schema_errors = ErrorList::new();
    if has_status {
        schema_errors.extend(root_error(path, schema));
    }
    if flag(schema, "nullable") {
        schema_errors.push(Error::forbidden(&path.child("nullable"), "nullable cannot be true at the root"));
    }
    let mut refusal = None;
    let mut scope = None;
    if rules.structural {
        refusal = structural::rejection_reason(schema);
        if refusal.is_none() {
            let mut wrong = structural::validate(path, schema);
            if wrong.is_empty() {
                let minor = rules.releases.minor(false);
                defaults::validate(path, schema, rules.pruned_defaults, minor, &mut wrong);
            }
            scope = wrong.is_empty().then(Scope::root);
            schema_errors.append(wrong);
        }
    }
    let mut compiler = Compiler::new(rules.releases, rules.stored, rules.is_schema_unchanged(version));
    node(
        path,
        schema,
        SchemaContext { root: true, scope, ..SchemaContext::default() },
        rules,
        &mut compiler,
        &mut schema_errors,
    );
    let (wrong_rules, total) = compiler.finish(path);
    schema_errors.append(wrong_rules);
    // Other errors report the same problem, with the path of the field.
    if let Some(refusal) = refusal.filter(|_| schema_errors.is_empty()) {
        schema_errors.push(Error::invalid(path, "", refusal));
    }
    schema_errors.append(total);
    errors.append(schema_errors);
}

/// Returns the first error at the root for a member that would be lost when the schema of the status is
/// extracted.
fn root_error(path: &Path<'_>, schema: &Object) -> Option<Error> {
    let is_other = |name: &str| !AT_ROOT.iter().any(|(allowed, _)| *allowed == name);
    let other = |member: &(&jsontree::Key, &Value)| is_other(member.0) && is_given(schema, member.0);
    let kind = text(schema, "type");
    // In the order of the fields, which only matters for the type and the few fields before it.
    let before = ["id", "$schema", "$ref"].into_iter().any(|name| is_given(schema, name));
    if !before && !kind.is_empty() && kind != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource \
                      is enabled";
        return Some(Error::invalid(&path.child("type"), kind, detail));
    }
    schema.iter().find(other).map(|_| {
        let names: Vec<&str> = AT_ROOT.iter().map(|(_, name)| *name).collect();
        let words = "fields are allowed at the root of the schema if the status subresource is enabled";
        let detail = format!("only [{}] {words}", names.join(" "));
        Error::invalid(path, go_value(&SCHEMA, schema), detail)
    })
}

/// True if the type is not an OpenAPI type.
pub(super) fn has_unknown_type(schema: &Object) -> bool {
    let kind = text(schema, "type");
    !kind.is_empty() && !TYPES.contains(&kind)
}

/// True if a schema uses features of structural schemas.
pub(super) fn has_kubernetes_extensions(schema: &Object) -> bool {
    let flags = ["x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"];
    let pointers = ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type"];
    let lists = ["x-kubernetes-list-map-keys", "x-kubernetes-validations"];
    flags.iter().any(|name| flag(schema, name))
        || pointers.iter().any(|name| is_set(schema, name))
        || lists.iter().any(|name| !list(schema, name).is_empty())
}

/// Position of a schema in the schema of a definition.
#[derive(Clone, Copy, Default)]
struct SchemaContext<'p> {
    root: bool,
    inside_metadata: bool,
    /// Reason why a default is not allowed.
    no_default: Option<NoDefault<'p>>,
    /// Context for compiling its rules; `None` if they are not compiled.
    scope: Option<Scope<'p>>,
}

/// Reason why a default is not allowed.
#[derive(Clone, Copy)]
enum NoDefault<'p> {
    /// Pruning of the default would depend on the value.
    MapInMetadata,
    /// The server sets the field with this name.
    TopLevel(&'p str),
}

/// Validates a schema and its inner schemas. The inner ones are validated by functions of their own, so that a
/// level takes little stack.
fn node(
    path: &Path<'_>,
    schema: &Object,
    context: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    compiler: &mut Compiler<'_>,
    errors: &mut ErrorList,
) {
    let before = errors.len();
    unsupported(path, schema, context, rules, errors);
    unique_items(path, schema, errors);
    let scope = context.scope.map(|scope| scope.inside(schema));
    let inner = SchemaContext { root: false, scope, ..context };
    additional(path, schema, inner, rules, compiler, errors);
    members(path, schema, context.root, inner, rules, compiler, errors);
    // Rules below these keywords do not apply to the value.
    let junctor = SchemaContext { scope: None, ..inner };
    if let Some(not) = child(schema, "not") {
        node(&path.child("not"), not, junctor, rules, compiler, errors);
    }
    alternatives(path, schema, junctor, rules, compiler, errors);
    named(path, schema, "definitions", junctor, rules, compiler, errors);
    items(path, schema, SchemaContext { scope: context.scope, ..inner }, rules, compiler, errors);
    named(path, schema, "dependencies", junctor, rules, compiler, errors);
    extensions::validate(path, schema, rules, errors);
    if let Some(scope) = context.scope.filter(|_| errors.len() == before) {
        compiler.compile(path, schema, scope);
    }
}

fn unique_items(path: &Path<'_>, schema: &Object, errors: &mut ErrorList) {
    if flag(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(Error::forbidden(&path.child("uniqueItems"), detail));
    }
}

/// Validates the schema of additional members.
fn additional(
    path: &Path<'_>,
    schema: &Object,
    inner: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    compiler: &mut Compiler<'_>,
    errors: &mut ErrorList,
) {
    let Some(additional) = schema.get("additionalProperties").filter(|value| !value.is_null()) else {
        return;
    };
    let path = path.child("additionalProperties");
    if properties(schema).count() > 0 && additional != &Value::Bool(true) {
        let detail = "additionalProperties and properties are mutual exclusive";
        errors.push(Error::forbidden(&path, detail));
    }
    if let Some(schema) = additional.as_object() {
        let no_default = inner.inside_metadata.then_some(NoDefault::MapInMetadata).or(inner.no_default);
        node(&path, schema, SchemaContext { no_default, ..inner }, rules, compiler, errors);
    }
}

/// Validates the schemas of the declared members. `root`: the schema is that of the object.
fn members(
    path: &Path<'_>,
    schema: &Object,
    root: bool,
    inner: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    compiler: &mut Compiler<'_>,
    errors: &mut ErrorList,
) {
    for (name, property) in properties(schema) {
        let mut inner = inner;
        let is_meta = matches!(name, "metadata" | "kind" | "apiVersion");
        if is_meta && (root || flag(schema, "x-kubernetes-embedded-resource")) {
            inner.inside_metadata = true;
        }
        if is_meta && root {
            inner.no_default = Some(NoDefault::TopLevel(name));
        }
        node(&path.child("properties").key(name), property, inner, rules, compiler, errors);
    }
}

fn alternatives(
    path: &Path<'_>,
    schema: &Object,
    junctor: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    compiler: &mut Compiler<'_>,
    errors: &mut ErrorList,
) {
    for member in ["allOf", "oneOf", "anyOf"] {
        for (index, each) in schemas(schema, member).enumerate() {
            node(&path.child(member).index(index), each, junctor, rules, compiler, errors);
        }
    }
}

/// Validates the schemas in a map.
fn named(
    path: &Path<'_>,
    schema: &Object,
    member: &'static str,
    junctor: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    compiler: &mut Compiler<'_>,
    errors: &mut ErrorList,
) {
    for (name, each) in map_entries(schema, member) {
        node(&path.child(member).key(name), each, junctor, rules, compiler, errors);
    }
}

/// Validates the schemas of the items of a list; `context` is that of the list.
fn items(
    path: &Path<'_>,
    schema: &Object,
    context: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    compiler: &mut Compiler<'_>,
    errors: &mut ErrorList,
) {
    let inner = SchemaContext { scope: context.scope.map(|scope| scope.items(schema, path)), ..context };
    let items = path.child("items");
    for (index, each) in schemas(schema, "items").enumerate() {
        match child(schema, "items") {
            Some(_) => node(&items, each, inner, rules, compiler, errors),
            None => node(&items.index(index), each, inner, rules, compiler, errors),
        }
    }
}

fn unsupported(
    path: &Path<'_>,
    schema: &Object,
    context: SchemaContext<'_>,
    rules: &ValidationRules<'_>,
    errors: &mut ErrorList,
) {
    let kind = text(schema, "type");
    if rules.types && has_unknown_type(schema) {
        errors.push(Error::not_supported(&path.child("type"), kind, &TYPES));
    }
    if let Some(reason) = context.no_default.filter(|_| is_set(schema, "default")) {
        let detail = match reason {
            NoDefault::MapInMetadata => {
                "must not be set inside additionalProperties applying to object metadata".to_owned()
            }
            NoDefault::TopLevel(name) => format!("must not be set in top-level {name}"),
        };
        errors.push(Error::forbidden(&path.child("default"), detail));
    }
    for member in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        let is_set = match schema.get(member) {
            Some(Value::Object(schemas)) if matches!(member, "patternProperties" | "definitions") => {
                !schemas.is_empty()
            }
            _ => is_given(schema, member),
        };
        if is_set {
            errors.push(Error::forbidden(&path.child(member), format!("{member} is not supported")));
        }
    }
    if kind == "null" {
        let detail = "type cannot be set to null, use nullable as an alternative";
        errors.push(Error::forbidden(&path.child("type"), detail));
    }
    if !list(schema, "items").is_empty() {
        let detail = "items must be a schema object and not an array";
        errors.push(Error::forbidden(&path.child("items"), detail));
    }
    if context.inside_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        let detail = "must not be used inside of resource meta";
        errors.push(Error::forbidden(&path.child("x-kubernetes-embedded-resource"), detail));
    }
}
