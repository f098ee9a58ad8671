//! `types.json` → `proto/<group>/<version>.idl`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Step;
use super::facts::{self, Facts, Field, Type, Types};
use super::go_types::GoTypes;
use super::idl::{self, File};
use crate::error::Error;
use crate::tree::{files, root};

const TYPE_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta";

/// Files by path from the root.
type Files = BTreeMap<String, File>;

/// Generates every IDL file.
///
/// # Errors
/// Invalid facts, or an invalid existing file.
pub(crate) fn step(facts: &Facts, go: Option<&GoTypes>) -> Result<Step, Error> {
    let types: Types = facts.read("types.json")?;
    let mut step = Step::default();
    let existing = existing_files()?;
    let mut generator = Generator { types: &types, go, release: facts::release(&types), step: &mut step };
    for (path, file) in with_new_packages(existing, &types) {
        let text = generator.file(&file)?;
        generator.step.files.push((path, text));
    }
    Ok(step)
}

fn existing_files() -> Result<Files, Error> {
    let found = files(&root().join("proto"), |path| path.ends_with(".idl"));
    let parse = |(path, text): (String, String)| {
        let path = format!("proto/{path}");
        let file = File::parse(&path, &text)?;
        Ok((path, file))
    };
    found.into_iter().map(parse).collect()
}

/// Adds an empty file for every package of the facts that has none.
fn with_new_packages(mut files: Files, types: &Types) -> Files {
    for (name, ty) in types {
        let package = package_of(name);
        if files.values().any(|file| file.package == package) {
            continue;
        }
        let mut words = package.rsplit('.');
        let version = words.next().unwrap_or_default();
        let group = words.next().unwrap_or_default();
        let file = File {
            comments: format!(
                "# {group} {version}: names, field numbers, JSON forms and merge rules of the types of one group version.\n\
                 # The grammar is described in proto/README.md.\n"
            ),
            package: package.to_owned(),
            wire: ty.wire_name.as_deref().map(package_of).unwrap_or_default().to_owned(),
            types: BTreeMap::new(),
        };
        files.insert(format!("proto/{group}/{version}.idl"), file);
    }
    files
}

fn package_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(package, _)| package)
}

struct Generator<'a> {
    types: &'a Types,
    go: Option<&'a GoTypes>,
    /// The release of the facts, as `1.37`.
    release: String,
    step: &'a mut Step,
}

impl Generator<'_> {
    fn file(&mut self, file: &File) -> Result<String, Error> {
        let mut out = format!("{}\npackage {}\n", file.comments, file.package);
        if !file.wire.is_empty() {
            let _ = writeln!(out, "wire {}", file.wire);
        }
        let types: Vec<(&str, &Type)> = self
            .types
            .iter()
            .filter(|(name, _)| package_of(name) == file.package)
            .map(|(name, ty)| (&name[file.package.len() + 1..], ty))
            .collect();
        if types.is_empty() {
            for ty in file.types.values() {
                let _ = write!(out, "\n{}", self.removed_type(&ty.text));
            }
            return Ok(out);
        }
        for name in file.types.keys().filter(|name| !types.iter().any(|(n, _)| n == name)) {
            self.step.todo(format!("{}.{name} was removed; delete the code that names it", file.package));
        }
        for (name, ty) in types {
            let _ = write!(out, "\n{}", self.type_text(file, name, ty)?);
        }
        Ok(out)
    }

    /// Marks the kinds of a version that the release no longer has. Their objects can still be stored.
    fn removed_type(&self, text: &str) -> String {
        let (head, fields) = text.split_once('\n').unwrap_or((text, ""));
        if !head.contains(" kinds(") || head.contains(" unregistered") {
            return text.to_owned();
        }
        let at = head.find(" typemeta").unwrap_or(head.len() - " {".len());
        let known = head.contains(" removed(");
        let removed = if known { String::new() } else { format!(" removed({})", self.release) };
        format!("{}{removed} unregistered{}\n{fields}", &head[..at], &head[at..])
    }

    fn type_text(&mut self, file: &File, name: &str, ty: &Type) -> Result<String, Error> {
        let existing = file.types.get(name);
        if ty.special.is_some() {
            let full = || format!("{}.{name}", file.package);
            return existing.map(|t| t.text.clone()).ok_or_else(|| Error::SpecialType(full()));
        }
        let mut out = format!("type {name}");
        type_attributes(&mut out, file, name, ty);
        out.push_str(" {\n");
        for field in ty.fields.iter().filter(|field| !is_type_meta(field)) {
            self.field(&mut out, file, name, field, existing);
        }
        out.push_str("}\n");
        Ok(out)
    }

    fn field(
        &mut self,
        out: &mut String,
        file: &File,
        owner: &str,
        field: &Field,
        existing: Option<&idl::Type>,
    ) {
        let name = field.name.as_deref().unwrap_or("inline");
        let number = field.number.map_or("-".to_owned(), |number| number.to_string());
        let type_text = type_expression(field, &file.package);
        let _ = write!(out, "  {name} {number} {type_text}");
        let kept = existing.and_then(|ty| ty.fields.get(name));
        let keep = |attribute: &str| kept.and_then(|kept| kept.get(attribute)).map(str::to_owned);
        let go = match self.go {
            Some(go) => go.attribute(&file.package, owner, name, &type_text),
            None => keep("go"),
        };
        if self.go.is_none() && kept.is_none() && !self.types.contains_key(base(&field.type_expression)) {
            self.step.todo(format!("{}.{owner}.{name}: add go() if its Go type has a name", file.package));
        }
        text_attribute(out, "go", go.as_deref());
        text_attribute(out, "wire", field.wire_name.as_deref());
        // The facts do not contain the enums of map values.
        let value_enum = keep("itemenum").filter(|_| field.type_expression.starts_with("map["));
        self.openapi_attributes(out, field, value_enum.as_deref());
        merge_attributes(out, field);
        text_attribute(out, "itemkind", keep("itemkind").as_deref());
        out.push('\n');
    }

    fn openapi_attributes(&self, out: &mut String, field: &Field, value_enum: Option<&str>) {
        flag(out, "omitempty", field.omit_empty);
        flag(out, "omitzero", field.omit_zero);
        flag(out, "required", field.required);
        let json = |value: &Option<serde_json::Value>| value.as_ref().map(serde_json::Value::to_string);
        let explicit = json(&field.default);
        let derived = self.derived_default(field);
        match explicit {
            Some(text) if derived != text => text_attribute(out, "default", Some(&text)),
            None => flag(out, "nodefault", !derived.is_empty()),
            Some(_) => {}
        }
        list_attribute(out, "enum", &field.enum_values);
        list_attribute(out, "itemenum", &field.item_enum_values);
        text_attribute(out, "itemenum", value_enum);
        text_attribute(out, "itemdefault", json(&field.item_default).as_deref());
        text_attribute(out, "min", json(&field.minimum).as_deref());
        text_attribute(out, "max", json(&field.maximum).as_deref());
        text_attribute(out, "cel", json(&field.validations).as_deref());
    }

    /// Returns the OpenAPI default of a field without `default` and `nodefault`, as JSON. It is empty for none.
    fn derived_default(&self, field: &Field) -> &'static str {
        let expression = field.type_expression.as_str();
        if field.name.is_none()
            || field.pointer
            || expression.starts_with("[]")
            || expression.starts_with("map[")
        {
            return "";
        }
        match self.types.get(expression) {
            Some(inner) if inner.special.is_some() => "",
            Some(_) => "{}",
            None if field.omit_empty => "",
            None => match scalar(expression) {
                "string" => "\"\"",
                "bool" => "false",
                "int32" | "int64" => "0",
                _ => "",
            },
        }
    }
}

fn is_type_meta(field: &Field) -> bool {
    field.name.is_none() && field.number.is_none() && field.type_expression == TYPE_META
}

/// `group/version Kind` → `group/version/Kind`.
fn kind_path(kind: &str) -> String {
    kind.replace(' ', "/")
}

fn type_attributes(out: &mut String, file: &File, name: &str, ty: &Type) {
    let shape = ty.wrapper.as_ref().map(|_| "Wrapper");
    text_attribute(out, "shape", shape);
    let kinds: Vec<String> = ty.kinds.iter().map(|kind| kind_path(kind)).collect();
    list_attribute(out, "kinds", &kinds);
    text_attribute(out, "introduced", ty.introduced.as_deref());
    text_attribute(out, "deprecated", ty.deprecated.as_deref());
    text_attribute(out, "removed", ty.removed.as_deref());
    text_attribute(out, "replacement", ty.replacement.as_deref().map(kind_path).as_deref());
    match &ty.wire_name {
        None => flag(out, "nowire", true),
        Some(wire) if *wire == format!("{}.{name}", file.wire) => {}
        Some(wire) => text_attribute(out, "wire", Some(wire)),
    }
    flag(out, "noopenapi", ty.no_openapi);
    text_attribute(out, "map", ty.map_type.as_deref());
    text_attribute(out, "unions", ty.unions.as_ref().map(ToString::to_string).as_deref());
    flag(out, "typemeta", ty.fields.iter().any(is_type_meta));
}

fn merge_attributes(out: &mut String, field: &Field) {
    text_attribute(out, "patch", field.patch_strategy.as_deref());
    text_attribute(out, "mergekey", field.patch_merge_key.as_deref());
    let list: Vec<String> = field.list_type.iter().chain(&field.list_map_keys).cloned().collect();
    list_attribute(out, "list", &list);
    text_attribute(out, "map", field.map_type.as_deref());
}

/// Returns the innermost type of an expression.
fn base(expression: &str) -> &str {
    expression.trim_start_matches("[]").trim_start_matches("map[string]")
}

/// Returns the IDL's name of a scalar of the facts.
fn scalar(name: &str) -> &str {
    match name {
        "float64" => "double",
        "GoDuration" => "int64",
        other => other,
    }
}

fn type_expression(field: &Field, package: &str) -> String {
    let base = base(&field.type_expression);
    let prefix = &field.type_expression[..field.type_expression.len() - base.len()];
    let pointer = if field.pointer { "*" } else { "" };
    let name = match base.rsplit_once('.') {
        Some((of, short)) if of == package => short,
        _ => scalar(base),
    };
    format!("{prefix}{pointer}{name}")
}

fn flag(out: &mut String, name: &str, set: bool) {
    if set {
        let _ = write!(out, " {name}");
    }
}

fn text_attribute(out: &mut String, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        let _ = write!(out, " {name}({text})");
    }
}

fn list_attribute(out: &mut String, name: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = write!(out, " {name}({})", items.join(","));
    }
}
