//! `cargo xtask release FACTS`: updates the generated inputs of the tree from facts about a Kubernetes release.

mod facts;
mod gates;
mod go_types;
mod idl;
mod rows;
mod types;

use std::path::Path;

use crate::error::Error;
use crate::generate;
use crate::tree::root;
use facts::Facts;
use go_types::GoTypes;

/// The result of one generator.
#[derive(Default)]
struct Step {
    /// Path from the root, and text.
    files: Vec<(String, String)>,
    /// Work that the generator cannot do, one item a line.
    todo: Vec<String>,
}

impl Step {
    fn todo(&mut self, item: String) {
        self.todo.push(item);
    }
}

#[derive(PartialEq, Eq)]
enum Mode {
    Write,
    Check,
}

/// Updates the generated files, and prints a checklist of the remaining work.
///
/// # Errors
/// Facts that are missing or invalid; with `--check`, the files that differ.
pub(crate) fn run(arguments: &[&str]) -> Result<(), Error> {
    match *arguments {
        ["--check", folder] => update(&Mode::Check, folder, None),
        ["--check", folder, modules] => update(&Mode::Check, folder, Some(modules)),
        [folder] => update(&Mode::Write, folder, None),
        [folder, modules] => update(&Mode::Write, folder, Some(modules)),
        _ => Err(Error::Usage("usage: cargo xtask release [--check] FACTS [GO_MODULES]".to_owned())),
    }
}

fn update(mode: &Mode, folder: &str, modules: Option<&str>) -> Result<(), Error> {
    let facts = Facts::open(folder)?;
    let go = modules.map(|directory| go_types(&facts, directory)).transpose()?;
    let steps =
        [gates::step(&facts)?, types::step(&facts, go.as_ref())?, rows::step(&facts)?, tables(folder)?];
    let mut changed = Vec::new();
    for (path, text) in steps.iter().flat_map(|step| &step.files) {
        let target = root().join(path);
        if std::fs::read_to_string(&target).ok().as_ref() == Some(text) {
            continue;
        }
        if *mode == Mode::Write {
            if let Some(directory) = target.parent() {
                std::fs::create_dir_all(directory).map_err(Error::of(path))?;
            }
            std::fs::write(&target, text).map_err(Error::of(path))?;
        }
        changed.push(path.as_str());
    }
    print_report(&changed, &steps);
    if *mode == Mode::Check && !changed.is_empty() {
        return Err(Error::Outdated(changed.join(", ")));
    }
    Ok(())
}

/// Returns the tables that the generators of `cargo xtask generate` make of the facts.
fn tables(folder: &str) -> Result<Step, Error> {
    let files = generate::from_facts(Path::new(folder))?;
    let files =
        files.into_iter().map(|(path, text)| (path.to_owned(), String::from_utf8_lossy(&text).into_owned()));
    Ok(Step { files: files.collect(), todo: Vec::new() })
}

fn go_types(facts: &Facts, directory: &str) -> Result<GoTypes, Error> {
    let types: facts::Types = facts.read("types.json")?;
    let packages = types.keys().filter_map(|name| Some(name.rsplit_once('.')?.0));
    let packages: std::collections::BTreeSet<&str> = packages.collect();
    GoTypes::read(directory, &facts::release(&types), packages.into_iter())
}

fn print_report(changed: &[&str], steps: &[Step]) {
    println!("Generated files that differ: {}", changed.len());
    for path in changed {
        println!("    {path}");
    }
    println!("Remaining work:");
    for item in steps.iter().flat_map(|step| &step.todo) {
        println!("    [ ] {item}");
    }
}
