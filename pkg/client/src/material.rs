//! Credentials and CA bundles as bytes, from files or from a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use crate::error::Error;

/// Source of a certificate, a key or a token.
#[derive(Clone, PartialEq, Eq)]
pub enum Source {
    /// Inline bytes.
    Inline(Arc<[u8]>),
    /// A file, which may change while it is in use.
    File(PathBuf),
}

/// Shows the source but not the secret.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Inline(bytes) => write!(f, "Inline({} bytes)", bytes.len()),
            Source::File(path) => write!(f, "File({})", path.display()),
        }
    }
}

impl Source {
    pub(crate) fn read(&self) -> Result<Vec<u8>, Error> {
        match self {
            Source::Inline(bytes) => Ok(bytes.to_vec()),
            Source::File(path) => std::fs::read(path).map_err(|error| unreadable(path, &error)),
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Source::File(_))
    }
}

/// Formats an I/O error like Go.
fn unreadable(path: &Path, error: &io::Error) -> Error {
    let words = match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Error::credentials(format!("open {}: {words}", path.display()))
}

/// Contents of the sources at one time. Equal contents give an equal client.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Material {
    /// PEM of the trusted CAs, if not the system's.
    pub(crate) authorities: Option<Vec<u8>>,
    /// PEM of a certificate chain and its key.
    pub(crate) certificate: Option<(Vec<u8>, Vec<u8>)>,
    pub(crate) token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Source::Inline(Arc::from(&b"secret"[..]))), "Inline(6 bytes)");
    }
}
