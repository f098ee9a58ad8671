//! Tasks of developers: checks on the tree, generated files, crates alone, release files.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a developer's tool stops at the first surprise, with its place"
)]

mod crates;
mod dist;
mod error;
mod generate;
mod release;
mod tidy;
mod tree;

use std::process::ExitCode;

use error::Error;

const USAGE: &str = "\
Usage: cargo xtask TASK

  tidy [CHECK...]           runs the checks on the source tree, or only these
  generate [NAME [INPUT...]]
                            lists the generated files, or generates one from its inputs
  generate --check NAME [INPUT...]
                            fails if the generated file differs from the committed one
  release FACTS [GO_MODULES]
                            updates the generated files from the facts of a release, and lists the remaining work
  release --check FACTS [GO_MODULES]
                            fails if a generated file differs from the facts
  crates [CRATE...]         compiles each crate and its tests alone, with the features that it asks for
  dist [DIRECTORY]          builds the files of a release into DIRECTORY (dist)
  programs DIRECTORY        builds only its programs, for this machine's architecture
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words[..] {
        ["tidy", ref names @ ..] => tidy::run(names),
        ["generate"] => generate::list(),
        ["generate", "--check", name, ref inputs @ ..] => generate::check(name, inputs),
        ["generate", name, ref inputs @ ..] => generate::write(name, inputs),
        ["release", ref arguments @ ..] => release::run(arguments),
        ["crates", ref names @ ..] => crates::run(names),
        ["dist"] => dist::run("dist"),
        ["dist", directory] => dist::run(directory),
        ["programs", directory] => dist::programs(directory),
        _ => Err(Error::Usage(USAGE.to_owned())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.to_string().trim_end());
            ExitCode::FAILURE
        }
    }
}
