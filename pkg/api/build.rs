//! Collects what `k8s-openapi` says about types and their members into `$OUT_DIR`, as tables that
//! `src/descriptions.rs` searches: nothing is built, copied or relocated when the server starts.

// A crate that changes its mind about schemas stops the build.
#![allow(clippy::expect_used)]

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
    // The kind of object makes no difference to the documentation.
    let _ = generator.subschema_for::<WatchEvent<Pod>>();
    let definitions: BTreeMap<&String, &Value> = generator.definitions().iter().collect();

    let mut pool = Pool::default();
    let (mut types, mut members, mut count) = (String::new(), String::new(), 0_usize);
    for (name, definition) in definitions {
        let first = count;
        let properties = definition["properties"].as_object().into_iter().flatten();
        let documented = properties.filter_map(|(name, property)| Some((name, description(property)?)));
        for (name, text) in documented.collect::<BTreeMap<_, _>>() {
            writeln!(members, "({}, {}),", pool.span(name), pool.span(text)).expect("a string takes all");
            count += 1;
        }
        let text = description(definition).unwrap_or_default();
        writeln!(types, "({}, {}, ({first}, {count})),", pool.span(name), pool.span(text))
            .expect("a string takes all");
    }
    let tables = format!(
        "static TYPES: &[(Span, Span, Span)] = &[\n{types}];\nstatic MEMBERS: &[(Span, Span)] = &[\n{members}];\n"
    );
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("descriptions.rs"), tables)?;
    fs::write(out.join("descriptions.txt"), pool.text)
}

fn description(schema: &Value) -> Option<&str> {
    schema["description"].as_str()
}

/// Names and texts one after the other, each once.
#[derive(Default)]
struct Pool {
    text: String,
    spans: HashMap<String, (usize, usize)>,
}

impl Pool {
    /// Where a text stands, as Rust.
    fn span(&mut self, text: &str) -> String {
        let (start, end) = *self.spans.entry(text.to_owned()).or_insert_with(|| {
            let start = self.text.len();
            self.text.push_str(text);
            (start, self.text.len())
        });
        format!("({start}, {end})")
    }
}
