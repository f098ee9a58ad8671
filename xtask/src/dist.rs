//! Files of a release: static programs, their debug information, bills of materials, licences, packages and checksums.
//!
//! The files depend on the commit, the toolchain and `DIST_URL` only (`tools/package`, `tools/static-build.sh`).

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::tree::{output, root};

/// Environment variable with a profile of `make profile`, for profile-guided optimization.
const PROFILE: &str = "PROFILE";
/// Environment variable with the output directory of [`programs`] for one or more architectures, instead of a new build.
const PROGRAMS_DIRECTORY: &str = "DIST_PROGRAMS";
/// Environment variable with an architecture other than this machine's, such as `aarch64`, for a cross-compiler
/// (`tools/static-build.sh`).
const ARCHITECTURE: &str = "ARCHITECTURE";

const PROGRAMS: [&str; 2] = ["kube-apiserver", "apibench"];
const SBOMS: [&str; 2] = ["sbom.cdx.json", "sbom.spdx.json"];
const LICENSES: &str = "THIRD-PARTY-LICENSES.txt";
const CHECKSUMS: &str = "SHA256SUMS";

/// Writes the files of a release to a directory, relative to the root of the tree. Files of an earlier run must not be
/// there, because every file gets a checksum.
///
/// # Errors
/// A directory with files, a failed build, a missing tool (objcopy, readelf, Python), or a program that is not static.
pub(crate) fn run(directory: &str) -> Result<(), Error> {
    let directory = empty(directory)?;
    match std::env::var_os(PROGRAMS_DIRECTORY) {
        Some(from) if !from.is_empty() => copy_files(Path::new(&from), &directory)?,
        _ => build_programs(&directory)?,
    }
    let texts = SBOMS.into_iter().chain([LICENSES]).map(|file| directory.join(file));
    output(Command::new("tools/sbom.py").args(texts))?;
    let packages = printed(Command::new("python3").arg("tools/package").arg(&directory))?;
    println!("{packages}");
    write_checksums(&directory)?;
    println!("{}", printed(Command::new("tools/sign.sh").arg(&directory))?);
    Ok(())
}

/// Builds the programs for this machine's architecture, or for that of `ARCHITECTURE`, into a directory, relative to the root
/// of the tree.
///
/// # Errors
/// As [`run`].
pub(crate) fn programs(directory: &str) -> Result<(), Error> {
    build_programs(&empty(directory)?)
}

fn build_programs(directory: &Path) -> Result<(), Error> {
    let machine = machine();
    let architecture = architecture(&machine)?;
    let built = build()?;
    for program in PROGRAMS {
        package(
            &built.join(program),
            directory,
            &format!("{program}-linux-{architecture}"),
            &objcopy(&machine),
        )?;
    }
    // The same build needs the same profile.
    if let Some(profile) = profile() {
        let copy = directory.join(format!("profile-linux-{architecture}.profdata"));
        std::fs::copy(&profile, copy).map_err(Error::of(profile))?;
    }
    Ok(())
}

/// Returns Rust's name of the architecture of the programs.
fn machine() -> String {
    let other = std::env::var(ARCHITECTURE).ok().filter(|name| !name.is_empty());
    other.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Returns the name of the objcopy for an architecture.
fn objcopy(machine: &str) -> String {
    if machine == std::env::consts::ARCH {
        "objcopy".to_owned()
    } else {
        format!("{machine}-linux-gnu-objcopy")
    }
}

/// Returns the path of the profile, if there is one.
fn profile() -> Option<String> {
    std::env::var(PROFILE).ok().filter(|path| !path.is_empty())
}

/// Creates a directory, or returns an existing one without files.
fn empty(directory: &str) -> Result<PathBuf, Error> {
    let directory = root().join(directory);
    std::fs::create_dir_all(&directory).map_err(Error::of(directory.display().to_string()))?;
    if file_names(&directory)?.is_empty() { Ok(directory) } else { Err(Error::NotEmpty(directory)) }
}

fn copy_files(from: &Path, to: &Path) -> Result<(), Error> {
    for name in file_names(from)? {
        std::fs::copy(from.join(&name), to.join(&name)).map_err(Error::of(name))?;
    }
    Ok(())
}

/// Returns the names of a directory's entries, sorted.
fn file_names(directory: &Path) -> Result<Vec<String>, Error> {
    let path = directory.display().to_string();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(Error::of(path.as_str()))? {
        let entry = entry.map_err(Error::of(path.as_str()))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// Returns the name that Go and container images use for an architecture.
fn architecture(rust: &str) -> Result<&'static str, Error> {
    match rust {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => Err(Error::Architecture(other.to_owned())),
    }
}

/// Builds the static programs, and returns their directory.
fn build() -> Result<PathBuf, Error> {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    let mut command = Command::new("tools/static-build.sh");
    command.arg(root().join(target));
    if let Some(profile) = profile() {
        command.arg(printed(Command::new("tools/profile-flags.sh").arg(profile))?);
    }
    printed(&mut command).map(PathBuf::from)
}

/// Splits the binary into a stripped one and its debug information, which debuggers find by the name in the binary.
fn package(binary: &Path, directory: &Path, name: &str, objcopy: &str) -> Result<(), Error> {
    let stripped = directory.join(name);
    let debug = directory.join(format!("{name}.debug"));
    output(Command::new(objcopy).arg("--only-keep-debug").args([binary, &debug]))?;
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    output(Command::new(objcopy).arg("--strip-all").arg(link).args([binary, &stripped]))?;
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&stripped, executable).map_err(Error::of(name))?;
    // A binary that needs a loader does not start in an image without one.
    if printed(Command::new("readelf").arg("--program-headers").arg(&stripped))?.contains("INTERP") {
        return Err(Error::NotStatic(name.to_owned()));
    }
    Ok(())
}

/// Writes the checksums of a directory's files, in the format of sha256sum.
fn write_checksums(directory: &Path) -> Result<(), Error> {
    let mut sums = String::new();
    for name in file_names(directory)? {
        let bytes = std::fs::read(directory.join(&name)).map_err(Error::of(name.as_str()))?;
        let digest: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(sums, "{digest}  {name}");
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

    /// Returns an empty directory.
    fn scratch(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("mainstay-dist-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        directory
    }

    #[test]
    fn checksums_have_the_format_of_sha256sum() {
        let directory = scratch("checksums");
        std::fs::write(directory.join("a"), "abc").unwrap();
        write_checksums(&directory).unwrap();
        let sums = std::fs::read_to_string(directory.join(CHECKSUMS)).unwrap();
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(sums, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n");
    }

    #[test]
    fn directory_with_files_is_rejected() {
        let directory = scratch("files");
        assert!(empty(directory.to_str().unwrap()).is_ok());
        std::fs::write(directory.join("a"), "").unwrap();
        assert!(matches!(empty(directory.to_str().unwrap()), Err(Error::NotEmpty(_))));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn programs_of_another_architecture_need_its_objcopy() {
        assert_eq!(objcopy(std::env::consts::ARCH), "objcopy");
        assert_eq!(objcopy("riscv64"), "riscv64-linux-gnu-objcopy");
    }

    #[test]
    fn unknown_architecture_is_rejected() {
        assert_eq!(architecture("x86_64").unwrap(), "amd64");
        assert!(architecture("s390x").is_err());
    }
}
