//! Files of a release: the static server, its debug information, the bill of materials, licences and checksums.
//!
//! No name depends on the machine or the day, and `tools/static-build.sh` removes paths of the machine from the binary.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::tree::{output, root};

/// Environment variable with a profile of `make profile`, for profile-guided optimization.
const PROFILE: &str = "PROFILE";
/// Environment variable with a binary to package instead of a new build.
const BINARY: &str = "DIST_BINARY";

const SBOM: &str = "sbom.cdx.json";
const LICENSES: &str = "THIRD-PARTY-LICENSES.txt";
const CHECKSUMS: &str = "SHA256SUMS";

/// Writes the files of a release to a directory, relative to the root of the tree.
///
/// # Errors
/// A failed build, a missing tool (objcopy, readelf, Python), or a binary that is not static.
pub(crate) fn run(directory: &str) -> Result<(), Error> {
    let directory = root().join(directory);
    let binary = match std::env::var(BINARY) {
        Ok(path) if !path.is_empty() => PathBuf::from(path),
        _ => build()?,
    };
    std::fs::create_dir_all(&directory).map_err(Error::of(directory.display().to_string()))?;
    let name = format!("kube-apiserver-linux-{}", architecture(std::env::consts::ARCH)?);
    package(&binary, &directory, &name)?;
    output(Command::new("tools/sbom.py").args([SBOM, LICENSES].map(|file| directory.join(file))))?;
    let files = [name.clone(), format!("{name}.debug"), SBOM.to_owned(), LICENSES.to_owned()];
    write_checksums(&directory, &files)
}

/// Returns the name that Go and container images use for an architecture.
fn architecture(rust: &str) -> Result<&'static str, Error> {
    match rust {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => Err(Error::Architecture(other.to_owned())),
    }
}

/// Builds the static binary, and returns its path.
fn build() -> Result<PathBuf, Error> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let mut command = Command::new("tools/static-build.sh");
    command.arg(root().join(target));
    if let Ok(profile) = std::env::var(PROFILE)
        && !profile.is_empty()
    {
        command.arg(printed(Command::new("tools/profile-flags.sh").arg(profile))?);
    }
    printed(&mut command).map(PathBuf::from)
}

/// Splits the binary into a stripped one and its debug information, which debuggers find by the name in the binary.
fn package(binary: &Path, directory: &Path, name: &str) -> Result<(), Error> {
    let stripped = directory.join(name);
    let debug = directory.join(format!("{name}.debug"));
    output(Command::new("objcopy").arg("--only-keep-debug").args([binary, &debug]))?;
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    output(Command::new("objcopy").arg("--strip-all").arg(link).args([binary, &stripped]))?;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&stripped, executable).map_err(Error::of(name))?;
    // A binary that needs a loader does not start in an image without one.
    if printed(Command::new("readelf").arg("--program-headers").arg(&stripped))?.contains("INTERP") {
        return Err(Error::NotStatic(name.to_owned()));
    }
    Ok(())
}

/// Writes the checksums of files, in the format of sha256sum.
fn write_checksums(directory: &Path, files: &[String]) -> Result<(), Error> {
    let mut sums = String::new();
    for name in files {
        let bytes = std::fs::read(directory.join(name)).map_err(Error::of(name.as_str()))?;
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(sums, "{digest}  {name}");
        println!("{digest}  {name}");
    }
    std::fs::write(directory.join(CHECKSUMS), sums).map_err(Error::of(CHECKSUMS))
}

/// Runs a program, and returns its standard output without the last line break.
fn printed(command: &mut Command) -> Result<String, Error> {
    let bytes = output(command)?;
    let text = String::from_utf8(bytes).map_err(|_| Error::NotText(format!("{command:?}")))?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_have_the_format_of_sha256sum() {
        let directory = std::env::temp_dir().join(format!("mainstay-dist-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("a"), "abc").unwrap();
        write_checksums(&directory, &["a".to_owned()]).unwrap();
        let sums = std::fs::read_to_string(directory.join(CHECKSUMS)).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(sums, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n");
    }

    #[test]
    fn unknown_architecture_is_rejected() {
        assert_eq!(architecture("x86_64").unwrap(), "amd64");
        assert!(architecture("s390x").is_err());
    }
}
