//! Temporary directory of a server without permanent data. It is removed when the process ends, however it ends.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Name of the hidden subcommand that waits for the end of its parent process.
pub(crate) const COMMAND: &str = "remove-temporary-directory";

/// Start of the directory's name.
const PREFIX: &str = "mainstay-";
/// Maximum number of names tried.
const NAMES_MAX: u32 = 100;

/// The directory cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(crate) struct TemporaryDirError {
    path: PathBuf,
    source: std::io::Error,
}

/// Returns an unused path for the directory of this process. Nothing is created yet.
pub(crate) fn unused_path() -> PathBuf {
    let parent = std::env::temp_dir();
    let process = std::process::id();
    let path = |number| parent.join(format!("{PREFIX}{process}-{number}"));
    let is_unused = |path: &PathBuf| path.symlink_metadata().is_err();
    (0..NAMES_MAX).map(path).find(is_unused).unwrap_or_else(|| path(NAMES_MAX))
}

/// A directory that is removed on drop. A child process removes it if this process is killed.
pub(crate) struct TemporaryDir {
    path: Option<PathBuf>,
    /// The child and its standard input, which ends with this process.
    watcher: Option<Watcher>,
}

struct Watcher {
    child: Child,
    input: Option<ChildStdin>,
}

impl TemporaryDir {
    /// Returns the guard of a server with permanent data.
    pub(crate) fn none() -> Self {
        TemporaryDir { path: None, watcher: None }
    }

    /// Creates a directory, accessible only by the user.
    ///
    /// # Errors
    /// [`TemporaryDirError`], also if the path exists.
    pub(crate) fn create(path: &Path) -> Result<Self, TemporaryDirError> {
        let created = std::fs::DirBuilder::new().mode(0o700).create(path);
        created.map_err(|source| TemporaryDirError { path: path.to_owned(), source })?;
        let failed = |error: &std::io::Error| {
            tracing::warn!(%error, "a killed server would leave its temporary directory");
        };
        let watcher = watch(path).inspect_err(failed).ok();
        Ok(TemporaryDir { path: Some(path.to_owned()), watcher })
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Leftover files are harmless.
            let _ = std::fs::remove_dir_all(path);
        }
        if let Some(mut watcher) = self.watcher.take() {
            drop(watcher.input.take());
            let _ = watcher.child.wait();
        }
    }
}

/// Starts the child process.
fn watch(path: &Path) -> std::io::Result<Watcher> {
    let mut command = Command::new(std::env::current_exe()?);
    // Test tools kill the whole process group of a server.
    command.arg(COMMAND).arg(path).current_dir("/").process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let input = child.stdin.take();
    Ok(Watcher { child, input })
}

/// Removes a directory when `input` ends, which its parent process never writes to. Returns false for a path
/// that cannot be from [`unused_path`].
pub(crate) fn remove_at_end(path: &Path, mut input: impl Read) -> bool {
    let is_own = |name: &str| name.starts_with(PREFIX);
    let is_own = path.is_absolute() && path.file_name().and_then(|name| name.to_str()).is_some_and(is_own);
    if !is_own {
        return false;
    }
    let mut byte = [0];
    while input.read(&mut byte).is_ok_and(|count| count > 0) {}
    // The parent has removed it, unless it was killed.
    let _ = std::fs::remove_dir_all(path);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_is_removed_at_end_of_input() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("mainstay-1-0");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("key"), "secret").unwrap();
        assert!(remove_at_end(&dir, &b""[..]));
        assert!(!dir.exists());
        assert!(remove_at_end(&dir, &b""[..]), "removed by the parent");
    }

    #[test]
    fn foreign_directory_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        assert!(!remove_at_end(parent.path(), &b""[..]));
        assert!(!remove_at_end(Path::new("mainstay-1-0"), &b""[..]));
        assert!(parent.path().exists());
    }
}
