//! Compiles `proto/**/*.idl` into static tables (`$OUT_DIR/tables.rs`).

// An invalid IDL file fails the build with its file and line.
#![allow(clippy::panic, clippy::expect_used)]

#[path = "build/emit.rs"]
mod emit;
#[allow(dead_code, unreachable_pub, reason = "what finds names is for those who use the tables")]
#[path = "src/table/names.rs"]
mod names;
#[path = "build/parse.rs"]
mod parse;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto");
    println!("cargo::rerun-if-changed={}", root.display());
    println!("cargo::rerun-if-changed=src/table/names.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut types = Vec::new();
    for file in &files {
        parse::file(&file.display().to_string(), &fs::read_to_string(file)?, &mut types);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("tables.rs");
    fs::write(out, emit::tables(&types))
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "idl") {
            files.push(path);
        }
    }
    Ok(())
}
