//! Paths and files of the source tree, and programs that run in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Error;

/// Returns the directory with the workspace's manifest.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Runs a program in the root directory and returns its standard output.
///
/// # Errors
/// The command line and the exit status, if the program does not start or fails. Its standard error goes to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<Vec<u8>, Error> {
    let command = command.current_dir(root()).stderr(std::process::Stdio::inherit());
    let output =
        command.output().map_err(|source| Error::Start { command: format!("{command:?}"), source })?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(Error::Exit { command: format!("{command:?}"), status: output.status })
    }
}

/// Returns the files that `filter` accepts, in path order: path from the root with `/`, and text. Build
/// output and git data are skipped.
pub(crate) fn files(root: &Path, filter: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(dir) = directories.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let relative =
                path.strip_prefix(root).unwrap().to_str().expect("paths are UTF-8").replace('\\', "/");
            if entry.file_type().unwrap().is_dir() {
                if !matches!(relative.as_str(), "target" | ".git") && !relative.ends_with("/target") {
                    directories.push(path);
                }
            } else if filter(&relative) {
                files.push((relative, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}
