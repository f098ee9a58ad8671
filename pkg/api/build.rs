//! Collects the built-in kinds, and the descriptions of types and fields from `k8s-openapi` and `build/descriptions.json` into
//! `$OUT_DIR`. The output is a set of tables that `src/descriptions.rs` searches, so that startup builds,
//! copies and relocates nothing.

// The build stops if a crate changes its schema format, or if a table does not fit the schemas.
#![allow(clippy::expect_used)]

#[path = "build/kinds.rs"]
mod kinds;
#[path = "build/types.rs"]
mod types;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::WatchEvent;
use k8s_openapi::schemars::SchemaGenerator;
use serde_json::Value;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    let mut generator = SchemaGenerator::default();
    types::define(&mut generator);
    // The documentation does not depend on the object kind.
    let _ = generator.subschema_for::<WatchEvent<Pod>>();
    let mut texts: Texts = generator.definitions().iter().map(|(name, d)| (name.clone(), own(d))).collect();
    add(&mut texts, include_str!("build/descriptions.json"))?;

    let mut pool = Pool::default();
    let mut types = String::new();
    let mut members = String::new();
    let mut count = 0_usize;
    for (name, mut texts) in texts {
        let first = count;
        let text = texts.remove("").unwrap_or_default();
        for (name, text) in texts {
            writeln!(members, "({}, {}),", pool.span(&name), pool.span(&text)).expect("a string takes all");
            count += 1;
        }
        writeln!(types, "({}, {}, ({first}, {count})),", pool.span(&name), pool.span(&text))
            .expect("a string takes all");
    }
    let tables = format!(
        "static TYPES: &[(Span, Span, Span)] = &[\n{types}];\nstatic MEMBERS: &[(Span, Span)] = &[\n{members}];\n"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("descriptions.rs"), tables)?;
    fs::write(out.join("descriptions.txt"), pool.text)?;
    kinds::write(&out)
}

/// Descriptions by definition and member. The empty name is the description of the definition itself.
type Texts = BTreeMap<String, BTreeMap<String, String>>;

/// Returns the descriptions of a schema and of its members.
fn own(schema: &Value) -> BTreeMap<String, String> {
    let text = |schema: &Value| schema["description"].as_str().map(str::to_owned);
    let members = schema["properties"].as_object().into_iter().flatten();
    let members = members.filter_map(|(name, member)| Some((name.clone(), text(member)?)));
    members.chain([(String::new(), text(schema).unwrap_or_default())]).collect()
}

/// Adds descriptions that the crate lacks: missing definitions, and the possible values of fields.
fn add(texts: &mut Texts, table: &str) -> io::Result<()> {
    let mut table: Value = serde_json::from_str(table)?;
    let types: Texts = serde_json::from_value(table["types"].take())?;
    let any_object = texts.get("io.k8s.api.core.v1.ConfigMap").expect("an object").clone();
    let type_meta = ["apiVersion", "kind"].map(|name| (name, any_object.get(name).expect("a member")));
    for (name, mut members) in types {
        if name.ends_with("List") {
            members.extend(type_meta.map(|(name, text)| (name.to_owned(), text.clone())));
        }
        texts.entry(name).or_default().extend(members);
    }
    for group in table["enums"].as_array().expect("an array") {
        for member in group["members"].as_array().expect("an array") {
            let (name, member) = member.as_str().and_then(|m| m.rsplit_once('.')).expect("a member");
            let text =
                texts.get_mut(name).and_then(|members| members.get_mut(member)).expect("a described member");
            text.push_str(group["text"].as_str().expect("a text"));
        }
    }
    Ok(())
}

/// Pool of names and texts, each stored once.
#[derive(Default)]
struct Pool {
    text: String,
    spans: HashMap<String, (usize, usize)>,
}

impl Pool {
    /// Returns the position of a text as Rust code.
    fn span(&mut self, text: &str) -> String {
        let (start, end) = *self.spans.entry(text.to_owned()).or_insert_with(|| {
            let start = self.text.len();
            self.text.push_str(text);
            (start, self.text.len())
        });
        format!("({start}, {end})")
    }
}
