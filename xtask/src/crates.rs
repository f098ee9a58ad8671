//! Compiles each crate alone. A workspace build unites the features of all crates, so a crate that does not enable a feature
//! that it needs still compiles there.

use std::process::Command;

use crate::error::Error;
use crate::tidy::member_names;
use crate::tree::output;

/// Compiles every crate of the workspace, or those with these package names, and their tests.
///
/// # Errors
/// The crates that do not compile alone. The compiler's messages go to the terminal.
pub(crate) fn run(names: &[&str]) -> Result<(), Error> {
    let all = member_names();
    let chosen = all.iter().filter(|name| names.is_empty() || names.contains(&name.as_str()));
    let broken: Vec<&str> = chosen.filter(|name| !compiles(name)).map(String::as_str).collect();
    if broken.is_empty() { Ok(()) } else { Err(Error::DoNotCompile(broken.join(", "))) }
}

fn compiles(package: &str) -> bool {
    println!("{package}");
    let arguments = ["check", "--quiet", "--all-targets", "--package", package];
    output(Command::new("cargo").args(arguments)).is_ok()
}
