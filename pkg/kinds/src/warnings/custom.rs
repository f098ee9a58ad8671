//! Warnings about definitions with unknown formats or unsupported sets, and about custom objects with
//! finalizers that may belong to other software (`apiextensions-apiserver/pkg/registry`).

use super::collector::Warnings;
use api::tree::{child, children, list, text, texts};
use apimachinery::go_quote::Quoted;
use apimachinery::names::is_label_key;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

/// Known string formats, without dashes, which are ignored. The last two are from v1.34.
const STRING_FORMATS: [&str; 26] = [
    "bsonobjectid",
    "uri",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "cidr",
    "mac",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
    "isbn",
    "isbn10",
    "isbn13",
    "creditcard",
    "ssn",
    "hexcolor",
    "rgbcolor",
    "byte",
    "password",
    "date",
    "duration",
    "datetime",
    "k8sshortname",
    "k8slongname",
];

/// Kubernetes' own finalizers, which need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// Warns about unknown formats and about sets of objects or lists in a `CustomResourceDefinition` that the old
/// one, if present, lacks.
pub(crate) fn definition(definition: &Object, old: Option<&Object>, out: &mut Warnings) {
    let new = Findings::of(definition);
    let old = old.map(Findings::of).unwrap_or_default();
    for format in new.unrecognized_formats {
        if !old.unrecognized_formats.contains(&format) {
            out.add(format_args!("unrecognized format {}", Quoted(format)));
        }
    }
    for item_type in new.set_item_types.difference(&old.set_item_types) {
        out.add(format_args!(
            "x-kubernetes-list-type: set for items of type {} is not supported by server-side apply or CEL \
             validation rules",
            Quoted(item_type)
        ));
    }
}

/// Findings in the schemas of a definition that cause warnings.
#[derive(Default)]
struct Findings<'o> {
    /// In the order of the schemas, with duplicates.
    unrecognized_formats: Vec<&'o str>,
    /// Types of the items of sets, other than scalars.
    set_item_types: BTreeSet<&'o str>,
}

impl<'o> Findings<'o> {
    /// The storage version has the settings common to all versions in `validation`.
    fn of(definition: &'o Object) -> Self {
        let mut found = Findings::default();
        let Some(spec) = child(definition, "spec") else { return found };
        let common = child(spec, "validation").into_iter();
        let schemas = common.chain(children(spec, "versions").filter_map(|version| child(version, "schema")));
        for schema in schemas.filter_map(|schema| child(schema, "openAPIV3Schema")) {
            walk(schema, &mut |schema| found.consider(schema));
        }
        found
    }

    fn consider(&mut self, schema: &'o Object) {
        let format = text(schema, "format");
        if !format.is_empty() && !is_recognized(text(schema, "type"), format) {
            self.unrecognized_formats.push(format);
        }
        if text(schema, "x-kubernetes-list-type") == "set"
            && let Some(items) = child(schema, "items")
            && let item_type @ ("object" | "array") = text(items, "type")
        {
            self.set_item_types.insert(item_type);
        }
    }
}

/// Visits a schema and the schemas in it in upstream's order, which is parents before children.
fn walk<'o>(schema: &'o Object, visit: &mut dyn FnMut(&'o Object)) {
    let mut remaining = vec![schema];
    while let Some(schema) = remaining.pop() {
        visit(schema);
        let at = remaining.len();
        remaining.extend(schemas_below(schema));
        if let Some(below) = remaining.get_mut(at..) {
            below.reverse();
        }
    }
}

/// Iterates over the schemas in a schema. `items` is a schema or a list. Dependencies, and some members, may
/// have other values.
fn schemas_below(schema: &Object) -> impl Iterator<Item = &Object> {
    let one = |name| child(schema, name).into_iter();
    let map = |name| child(schema, name).into_iter().flat_map(Object::values).filter_map(Value::as_object);
    one("items")
        .chain(children(schema, "items"))
        .chain(["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| children(schema, name)))
        .chain(one("not"))
        .chain(map("properties"))
        .chain(one("additionalProperties"))
        .chain(map("patternProperties"))
        .chain(one("additionalItems"))
        .chain(map("definitions"))
        .chain(map("dependencies"))
}

fn is_recognized(kind: &str, format: &str) -> bool {
    match kind {
        "" | "string" => STRING_FORMATS.contains(&format.replace('-', "").as_str()),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Returns upstream's warnings about a custom object that is created or replaces another (not for status
/// updates): new finalizers without a domain.
pub(crate) fn custom_object(new: &Object, old: Option<&Object>) -> Vec<String> {
    let finalizers =
        |object| child(object, "metadata").into_iter().flat_map(|meta| texts(meta, "finalizers"));
    if child(new, "metadata").is_none_or(|meta| list(meta, "finalizers").is_empty()) {
        return Vec::new();
    }
    let before: BTreeSet<&str> = old.into_iter().flat_map(finalizers).collect();
    let now: BTreeSet<&str> = finalizers(new).collect();
    let mut out = Warnings::default();
    now.difference(&before).for_each(|name| finalizer(name, &mut out));
    out.into_texts()
}

fn finalizer(name: &str, out: &mut Warnings) {
    let quoted = Quoted(name);
    for message in is_label_key(name) {
        out.add(format_args!("metadata.finalizers: {quoted}: {message}"));
    }
    if !name.contains('/') && !STANDARD_FINALIZERS.contains(&name) {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        out.add(format_args!(
            "metadata.finalizers: {quoted}: prefer a domain-qualified finalizer name{path} to avoid accidental \
             conflicts with other finalizer writers"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{created, object, updated};
    use super::*;
    use jsontree::json;

    fn definition(schemas: &[Value]) -> Value {
        let versions: Vec<Value> =
            schemas.iter().map(|schema| json!({"schema": {"openAPIV3Schema": schema}})).collect();
        json!({"spec": {"versions": versions}})
    }

    fn check(schema: Value, expected: &[&str]) {
        let expected: Vec<String> =
            expected.iter().map(|format| format!("unrecognized format {format:?}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        created("apiextensions.k8s.io", "customresourcedefinitions", definition(&[schema]), &expected);
    }

    #[test]
    fn a_type_has_its_formats() {
        for (kind, format) in [
            ("string", "date-time"),
            ("string", "k8s-short-name"),
            ("string", "k8s-long-name"),
            ("", "uuid"),
            ("integer", "int32"),
            ("number", "double"),
            ("boolean", ""),
        ] {
            check(json!({"type": kind, "format": format}), &[]);
        }
        for (kind, format) in
            [("string", "int32"), ("integer", "float"), ("number", "int64"), ("object", "date"), ("", "Date")]
        {
            check(json!({"type": kind, "format": format}), &[format]);
        }
    }

    #[test]
    fn formats_are_found_everywhere_in_a_schema() {
        let of = |format: &str| json!({"type": "string", "format": format});
        check(
            json!({
                "definitions": {"a": of("11")}, "dependencies": {"a": of("12"), "b": ["c"]},
                "patternProperties": {"a": of("9")}, "additionalItems": of("10"),
                "properties": {"b": of("7"), "a": {"properties": {"x": of("6")}}}, "additionalProperties": of("8"),
                "allOf": [of("2")], "anyOf": [of("3")], "oneOf": [of("4"), of("2")], "not": of("5"),
                "items": of("1"), "format": "0", "type": "object",
            }),
            &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"],
        );
        check(json!({"items": [of("1"), of("2")], "additionalProperties": true}), &["1", "2"]);
    }

    #[test]
    fn versions_may_have_a_schema_in_common() {
        let of = |format: &str| json!({"openAPIV3Schema": {"type": "string", "format": format}});
        created(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            json!({"spec": {"validation": of("b"), "versions": [{"schema": of("a")}, {"name": "v2"}]}}),
            &["unrecognized format \"b\"", "unrecognized format \"a\""],
        );
    }

    #[test]
    fn only_new_formats_warn() {
        let of = |format: &str| json!({"type": "string", "format": format});
        let group = "apiextensions.k8s.io";
        let plural = "customresourcedefinitions";
        let new = definition(&[of("x"), of("y")]);
        updated(group, plural, new.clone(), definition(&[of("x")]), &["unrecognized format \"y\""]);
        updated(group, plural, new.clone(), new, &[]);
    }

    #[test]
    fn new_sets_of_lists_and_objects_warn() {
        let set = |ty: &str| json!({"items": {"type": ty}, "type": "array", "x-kubernetes-list-type": "set"});
        let of = |ty: &str| json!({"type": "object", "properties": {"a": set(ty), "b": {"items": set(ty)}}});
        let warning = |ty: &str| {
            format!(
                "x-kubernetes-list-type: set for items of type \"{ty}\" is not supported by server-side apply or \
                 CEL validation rules"
            )
        };
        let group = "apiextensions.k8s.io";
        let plural = "customresourcedefinitions";
        let array = warning("array");
        let object = warning("object");
        created(group, plural, definition(&[of("object"), of("array")]), &[&array, &object]);
        created(group, plural, definition(&[of("string")]), &[]);
        updated(
            group,
            plural,
            definition(&[of("object"), of("array")]),
            definition(&[of("object")]),
            &[&array],
        );
    }

    #[test]
    fn finalizers_should_have_a_domain() {
        let with = |finalizers: &[&str]| object(json!({"metadata": {"finalizers": finalizers}}));
        let plain = "metadata.finalizers: \"plain\": prefer a domain-qualified finalizer name to avoid accidental \
            conflicts with other finalizer writers";
        let dotted = "metadata.finalizers: \"a.b\": prefer a domain-qualified finalizer name including a path (/) \
            to avoid accidental conflicts with other finalizer writers";
        assert_eq!(custom_object(&with(&["plain", "orphan", "a.b/c", "a.b"]), None), [dotted, plain]);
        assert_eq!(custom_object(&with(&["plain", "a.b"]), Some(&with(&["a.b"]))), [plain]);
        assert_eq!(custom_object(&with(&["plain"]), Some(&with(&["plain"]))), [""; 0]);
        assert_eq!(custom_object(&with(&["a/b/c"]), None).len(), 1);
    }
}
