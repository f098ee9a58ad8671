//! Credentials and CA bundles as bytes, from files or from a configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use crate::error::Error;
use crate::tls::{Tls, Trust};

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

    fn is_file(&self) -> bool {
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
    Error::Credentials(format!("open {}: {words}", path.display()))
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

impl Material {
    /// Reads the sources, which blocks on files.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub(crate) fn read(tls: &Tls, bearer: Option<&Source>) -> Result<Self, Error> {
        let authorities = match &tls.trust {
            Trust::Bundle(source) => Some(source.read()?),
            Trust::System | Trust::Anyone => None,
        };
        let certificate = match &tls.certificate {
            Some((chain, key)) => Some((chain.read()?, key.read()?)),
            None => None,
        };
        Ok(Material { authorities, certificate, token: bearer.map(token).transpose()? })
    }

    /// Returns true if the contents can change.
    pub(crate) fn may_change(tls: &Tls, bearer: Option<&Source>) -> bool {
        let authorities = matches!(&tls.trust, Trust::Bundle(source) if source.is_file());
        let certificate =
            tls.certificate.as_ref().is_some_and(|(chain, key)| chain.is_file() || key.is_file());
        authorities || certificate || bearer.is_some_and(Source::is_file)
    }
}

fn token(source: &Source) -> Result<String, Error> {
    let bytes = source.read()?;
    let text = String::from_utf8(bytes).map_err(|_| Error::Credentials("the token is no text".to_owned()))?;
    match (text.trim(), source) {
        ("", Source::File(path)) => {
            Err(Error::Credentials(format!("read empty token from file {:?}", path.display().to_string())))
        }
        (token, _) => Ok(token.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(path: &str) -> Tls {
        Tls { trust: Trust::Bundle(Source::File(path.into())), ..Tls::default() }
    }

    #[test]
    fn missing_file_is_named() {
        let error = Material::read(&bundle("/nonexistent/ca.crt"), None).err();
        let expected = "open /nonexistent/ca.crt: no such file or directory";
        assert_eq!(error.map(|error| error.to_string()).as_deref(), Some(expected));
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Source::Inline(Arc::from(&b"secret"[..]))), "Inline(6 bytes)");
    }
}
