//! Reads a manifest directory as upstream does (apiserver `pkg/admission/plugin/manifest/loader.go`).

use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use apimachinery::go_quote::Quoted;
use sha2::{Digest, Sha256};

use crate::admission_config::go_error_text;
use crate::error::ConfigurationError;

/// Maximum number of manifests in a directory. Upstream has no limit.
const FILES_MAX: usize = 1024;
/// Maximum total size of all manifests in bytes. Upstream has no limit.
const BYTES_MAX: u64 = 16 << 20;

pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) text: Vec<u8>,
}

/// Contents of a directory.
pub(super) struct Manifests {
    /// Ordered by file name.
    pub(super) documents: Vec<Document>,
    /// Hash of the contents; empty without manifests.
    pub(super) hash: String,
}

/// Identity of a directory's files for change detection without reading.
pub(super) type DirectoryIdentity = Vec<(PathBuf, u64, u64, i64, i64)>;

/// Returns the current identity; empty if the directory is unreadable.
pub(super) fn identify(directory: &Path) -> DirectoryIdentity {
    use std::os::unix::fs::MetadataExt;
    let of = |path: PathBuf| {
        let metadata = fs::metadata(&path).ok()?;
        Some((path, metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
    };
    paths(directory).map(|paths| paths.into_iter().filter_map(of).collect()).unwrap_or_default()
}

/// Reads all manifests of a directory.
///
/// # Errors
/// Upstream's message about an unreadable directory or file, or a size limit.
pub(super) fn read(directory: &Path) -> Result<Manifests, ConfigurationError> {
    let paths = paths(directory).map_err(|source| {
        let shown = directory.display().to_string();
        let at = directory.display();
        let why = go_error_text(&source);
        let message = format!("failed to read manifest directory {}: open {at}: {why}", Quoted(&shown));
        ConfigurationError::File { message, source }
    })?;
    if paths.len() > FILES_MAX {
        return Err(ConfigurationError::Invalid(format!(
            "more than {FILES_MAX} manifests in {}",
            directory.display()
        )));
    }
    let mut documents = Vec::new();
    let mut hash = Sha256::new();
    let mut remaining = BYTES_MAX;
    let mut has_any = false;
    for path in paths {
        let shown = path.display().to_string();
        let text = read_bounded(&path, remaining).map_err(|source| {
            let why = go_error_text(&source);
            let message = format!("failed to read file {}: open {shown}: {why}", Quoted(&shown));
            ConfigurationError::File { message, source }
        })?;
        remaining = remaining.saturating_sub(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if text.is_empty() {
            continue;
        }
        hash.update(&text);
        hash.update([0]);
        has_any = true;
        let split = split(&text).map_err(|error| {
            error.within(format!("failed to split YAML documents in file {}", Quoted(&shown)))
        })?;
        documents.extend(split.into_iter().map(|text| Document { path: path.clone(), text }));
    }
    let hash = if has_any { digest_label(&hash.finalize()) } else { String::new() };
    Ok(Manifests { documents, hash })
}

/// Formats a digest as a label value.
pub(super) fn digest_label(digest: &[u8]) -> String {
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    fs::File::open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > bytes_max) {
        return Err(io::Error::other(format!("all manifests together are larger than {BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// Returns the manifest paths ordered by name, at most one more than allowed.
fn paths(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let is_manifest = matches!(extension.as_deref(), Some("yaml" | "yml" | "json"));
        // A symbolic link counts as a file, regardless of its target.
        if is_manifest && !entry.file_type()?.is_dir() {
            paths.push(path);
        }
        if paths.len() > FILES_MAX {
            break;
        }
    }
    paths.sort();
    Ok(paths)
}

/// Splits a text into its non-empty documents, without separator lines.
fn split(text: &[u8]) -> Result<Vec<Vec<u8>>, ConfigurationError> {
    let mut documents = Vec::new();
    let mut document = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"---") else {
            document.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
            document.push(b'\n');
            continue;
        };
        let rest = rest.trim_ascii();
        if rest.first().is_some_and(|byte| *byte != b'#') {
            return Err(ConfigurationError::Invalid(format!(
                "invalid Yaml document separator: {}",
                String::from_utf8_lossy(rest)
            )));
        }
        documents.push(std::mem::take(&mut document));
    }
    documents.push(document);
    let trimmed = documents.iter().map(|document| document.trim_ascii().to_vec());
    Ok(trimmed.filter(|document| !document.is_empty()).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_all_manifests_are_read_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write("b.YML", "b: 1\r\n--- # next\n\n---\nc: 2");
        write("a.json", "{}");
        write("d.txt", "no");
        write("e.yaml", "");
        fs::create_dir(dir.path().join("f.yaml")).unwrap();
        let read = read(dir.path()).unwrap();
        let texts: Vec<_> =
            read.documents.iter().map(|of| String::from_utf8_lossy(&of.text).into_owned()).collect();
        assert_eq!(texts, ["{}", "b: 1", "c: 2"]);
        assert!(read.hash.starts_with("sha256:") && read.hash.len() == 71);
        assert_eq!(identify(dir.path()).len(), 3);
    }

    #[test]
    fn unreadable_files_fail_with_upstream_messages() {
        let error = read(Path::new("/no/d")).map(|read| read.hash).unwrap_err().to_string();
        assert_eq!(
            error,
            "failed to read manifest directory \"/no/d\": open /no/d: no such file or directory"
        );
        assert_eq!(split(b"--- x").unwrap_err().to_string(), "invalid Yaml document separator: x");
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap().hash, "");
    }
}
