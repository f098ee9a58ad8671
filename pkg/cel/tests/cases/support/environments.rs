//! Recorded environments: variables, libraries, declared types.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cel::env::{Environment, Provider, Validators};
use cel::overloads::Libraries;
use cel::parser::{Macros, Options};
use cel::types::{Shape, Type, Types};
use jsontree::Value;

use super::protos;

/// Recorded libraries by name.
const LIBRARIES: [(&str, Libraries); 18] = [
    ("cel.lib.std", Libraries::STANDARD),
    ("kubernetes.urls", Libraries::URLS),
    ("kubernetes.regex", Libraries::REGEX),
    ("kubernetes.lists", Libraries::LISTS),
    ("kubernetes.authz", Libraries::AUTHZ),
    ("kubernetes.authzSelectors", Libraries::AUTHZ_SELECTORS),
    ("kubernetes.quantity", Libraries::QUANTITY),
    ("kubernetes.net.ip", Libraries::IP),
    ("kubernetes.net.cidr", Libraries::CIDR),
    ("kubernetes.format", Libraries::FORMAT),
    ("kubernetes.Semver", Libraries::SEMVER),
    ("kubernetes.jsonpatch", Libraries::JSON_PATCH),
    ("cel.lib.optional", Libraries::OPTIONAL),
    ("cel.lib.ext.sets", Libraries::SETS),
    ("cel.lib.ext.lists", Libraries::LISTS_V3),
    ("cel.lib.ext.comprev2", Libraries::TWO_VARIABLES),
    ("cel.lib.ext.strings", Libraries::STRINGS_V2),
    ("cel.lib.ext.cel.bindings", Libraries::BINDINGS),
];

/// Parses a recorded type.
pub(crate) fn parse_type(types: &mut Types, text: &str) -> Type {
    if let Some((head, tail)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) {
        let params: Vec<Type> = split(tail).into_iter().map(|param| parse_type(types, param)).collect();
        return match head {
            "list" => types.list(params[0]),
            "map" => types.map(params[0], params[1]),
            "type" => types.of_type(params[0]),
            "wrapper" => types.intern(Shape::Wrapper(params[0])),
            _ => {
                let name = types.intern_name(head);
                types.intern(Shape::Opaque(name, params.first().copied()))
            }
        };
    }
    match text {
        "dyn" => Type::DYN,
        "any" | "google.protobuf.Any" => Type::ANY,
        "bool" => Type::BOOL,
        "bytes" => Type::BYTES,
        "double" => Type::DOUBLE,
        "duration" | "google.protobuf.Duration" => Type::DURATION,
        "int" => Type::INT,
        "null" | "null_type" => Type::NULL,
        "string" => Type::STRING,
        "timestamp" | "google.protobuf.Timestamp" => Type::TIMESTAMP,
        "type" => Type::TYPE,
        "uint" => Type::UINT,
        "net.IP" | "net.CIDR" => {
            let name = types.intern_name(text);
            types.intern(Shape::Opaque(name, None))
        }
        _ if text.starts_with('<') => types.intern(Shape::Param(u32::from(text.as_bytes()[1] - b'A'))),
        _ => types.object(text),
    }
}

fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0;
    let mut start = 0;
    for (place, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..place].trim());
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Recorded object types with the types of their fields.
struct Recorded {
    fields: HashMap<String, HashMap<String, Type>>,
    /// True if fields named like a keyword need no escaping.
    keywords: bool,
    dynamic: bool,
    protos: bool,
}

impl Provider for Recorded {
    fn find_type(&self, types: &mut Types, name: &str) -> Option<Type> {
        if self.fields.contains_key(name) || (self.dynamic && is_object(name)) {
            return Some(types.object(name));
        }
        if self.protos { protos::find_type(types, name) } else { None }
    }

    fn find_field(&self, types: &mut Types, object: &str, field: &str) -> Option<Type> {
        if let Some(fields) = self.fields.get(object) {
            let escaped = format!("__{field}__");
            return fields.get(field).or_else(|| fields.get(&escaped).filter(|_| self.keywords)).copied();
        }
        if self.dynamic && is_object(object) {
            return Some(Type::DYN);
        }
        if self.protos { protos::find_field(types, object, field) } else { None }
    }

    fn find_constant(&self, name: &str) -> Option<i64> {
        self.protos.then(|| protos::find_constant(name)).flatten()
    }
}

fn is_object(name: &str) -> bool {
    name == "Object" || name.starts_with("Object.")
}

/// Returns a recorded environment with these functions, and the parser options of its expressions.
pub(crate) fn environment(env: &Value, use_: &str, functions: &HashSet<&str>) -> (Environment, Options) {
    let strings = |name: &str| -> HashSet<&str> {
        env[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let libs = strings("libs");
    let validators = strings("validators");
    let macros = strings("macros");
    let mut built = Environment::of_release(0);
    built.libraries = Libraries(0);
    for (name, library) in LIBRARIES {
        if libs.contains(name) {
            built = built.with(library);
        }
    }
    if functions.contains("testV1/testV1") || functions.contains("test/test") {
        built = built.with(Libraries::TESTS);
    }
    if env["vars"].as_object().unwrap().values().any(|ty| ty == "kubernetes.AdmissionRequest") {
        built = built.with(Libraries::ADMISSION);
    }
    let features = env["features"].as_array().unwrap();
    if features.iter().any(|feature| feature == 2) {
        built = built.with(Libraries::CROSS_TYPE);
    }
    built.validators = Validators {
        homogeneous: validators.contains("cel.validator.homogeneous_literals"),
        literals: validators.contains("cel.validator.duration"),
        format: validators.contains("cel.validator.string_format"),
    };
    built.container = env["container"].as_str().unwrap().into();
    let declares = env.get("types").is_some();
    if declares {
        built = built.with(Libraries::SCALAR_NAMES);
    }
    if use_ == "dra" && functions.contains("includes/dra_includes_dyn_dyn") {
        built = built.with(Libraries::INCLUDES);
    }
    let mut types = Types::new();
    let patches = use_.starts_with("map-") || libs.contains("kubernetes.jsonpatch");
    if patches {
        built = built.with(Libraries::PATCHES);
    }
    let recorded = Recorded {
        fields: declared_fields(env, &mut types),
        keywords: libs.contains("kubernetes.format"),
        dynamic: patches,
        protos: use_.starts_with("cel-go"),
    };
    let variables: Vec<(&jsontree::Key, Type)> = env["vars"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, ty)| (name, parse_type(&mut types, ty.as_str().unwrap())))
        .collect();
    built = built.declare(Arc::new(types), Arc::new(recorded));
    for (name, ty) in variables {
        built = built.variable(name, ty);
    }
    (
        built,
        Options { optional_syntax: libs.contains("cel.lib.optional"), ..Options::new(macro_set(&macros)) },
    )
}

fn declared_fields(env: &Value, types: &mut Types) -> HashMap<String, HashMap<String, Type>> {
    let mut all = HashMap::new();
    for (name, declared) in env.get("types").and_then(Value::as_object).into_iter().flatten() {
        let Some(fields) = declared.get("fields").and_then(Value::as_object) else { continue };
        let fields = fields.iter().map(|(field, row)| {
            let ty = parse_type(types, row[0].as_str().unwrap());
            (field.to_string(), ty)
        });
        let fields: HashMap<String, Type> = fields.collect();
        all.insert(name.to_string(), fields);
    }
    all
}

/// Returns the environment of a test of cel-go's checker or its estimates.
pub(crate) fn of_checker(case: &Value) -> (Environment, Options) {
    let mut built = Environment::of_release(0);
    built.libraries = if case["disableStdEnv"] == true { Libraries(0) } else { Libraries::STANDARD };
    if case["filteredOverloads"].as_u64().unwrap_or(0) == 0 {
        built = built.with(Libraries::CROSS_TYPE);
    }
    let optional = case["optionalSyntax"] == true;
    if optional {
        built = built.with(Libraries::OPTIONAL);
    }
    built.validators = Validators::default();
    built.homogeneous = case["homogeneousAggregateLiterals"] == true;
    built.container = case["container"].as_str().unwrap_or("").into();
    let mut types = Types::new();
    let variables: Vec<(&jsontree::Key, Type)> = case["vars"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, ty)| (name, parse_type(&mut types, ty.as_str().unwrap())))
        .collect();
    let provider = Recorded { fields: HashMap::new(), keywords: false, dynamic: false, protos: true };
    built = built.declare(Arc::new(types), Arc::new(provider));
    for (name, ty) in variables {
        built = built.variable(name, ty);
    }
    let macros = Macros::STANDARD.with(Macros::EXISTS_ONE).with(Macros::OPTIONAL);
    (built, Options { optional_syntax: optional, ..Options::new(macros) })
}

/// Returns the functions of a recorded environment.
pub(crate) fn functions<'s>(env: &Value, sets: &'s HashMap<String, Value>) -> HashSet<&'s str> {
    let set = env["functions"].as_str().and_then(|name| sets.get(name)).and_then(Value::as_array);
    set.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the macros of a recorded environment.
pub(crate) fn macro_set(recorded: &HashSet<&str>) -> Macros {
    let mut macros = Macros::NONE;
    for (name, set) in [
        ("has:1:false", Macros::STANDARD),
        ("existsOne:2:true", Macros::EXISTS_ONE),
        ("optMap:2:true", Macros::OPTIONAL),
        ("bind:3:true", Macros::BIND),
        ("all:3:true", Macros::TWO_VARIABLE),
        ("sortBy:2:true", Macros::SORT_BY),
    ] {
        if recorded.contains(name) {
            macros = macros.with(set);
        }
    }
    macros
}
