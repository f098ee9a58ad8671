//! Errors of tasks. Their texts are for developers.

use std::io;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("no {kind} is named {name}; known: {known}")]
    Unknown { kind: &'static str, name: String, known: String },
    #[error("{name}: {path} does not exist")]
    MissingInput { name: &'static str, path: String },
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    #[error("{path}: {source}")]
    Json { path: String, source: serde_json::Error },
    #[error("{path}:{number}: not understood: {line}")]
    IdlLine { path: String, number: usize, line: String },
    #[error("{0} has a JSON form of its own; write its IDL by hand")]
    SpecialType(String),
    #[error("{command}: {source}")]
    Start { command: String, source: io::Error },
    #[error("{command}: {status}")]
    Exit { command: String, status: std::process::ExitStatus },
    #[error("{0}: the output is not UTF-8")]
    NotText(String),
    #[error("{0}")]
    Violations(String),
    #[error("these crates do not compile alone: {0}")]
    DoNotCompile(String),
    #[error("outdated: {0}")]
    Outdated(String),
    #[error("{0} is not static")]
    NotStatic(String),
    #[error("{} is not empty", .0.display())]
    NotEmpty(std::path::PathBuf),
    #[error("no release is built for {0}")]
    Architecture(String),
    #[error("xtask/src/tidy/exceptions.txt: {0}")]
    ExceptionLine(String),
}

impl Error {
    /// Returns a function that names the path of an I/O error.
    pub(crate) fn of(path: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Error::File { path, source }
    }
}
