//! Paths of the programs that tests run, and free ports for them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Port range below the kernel's ephemeral ports (32768 and up). No connection of another test can therefore
/// take a port between the check and the listen.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Returns the workspace directory.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("e2e is in the workspace").to_owned()
}

/// Returns the build output directory.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The test of package `kube-apiserver` that runs its program.
const SERVERS_TEST: &str = "program";

/// Finds a program: among the fetched tools (`tools/fetch-tools.sh`), otherwise in PATH.
///
/// # Panics
/// It is in neither.
pub fn program(name: &str) -> PathBuf {
    let fetched = target().join("tools/bin").join(name);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = std::env::split_paths(&path).map(|dir| dir.join(name)).collect();
    std::iter::once(fetched)
        .chain(in_path)
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("these tests need {name}: run tools/fetch-tools.sh, or put it on PATH"))
}

/// Returns the server under test: `KUBE_APISERVER`, or built with the profile of the tests.
///
/// # Panics
/// It does not build.
pub fn apiserver() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| std::env::var_os("KUBE_APISERVER").map_or_else(build_apiserver, PathBuf::from))
}

fn build_apiserver() -> PathBuf {
    // target/PROFILE/deps/TEST
    let test = std::env::current_exe().expect("a test knows its program");
    let profile_dir = test.ancestors().nth(2).expect("a test is built into target/PROFILE/deps");
    let profile = match profile_dir.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    // The build that `cargo test --workspace` makes for the server's own test. Another package selection
    // would enable other features of dependencies and recompile everything.
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--quiet", "--no-run", "--workspace", "--test", SERVERS_TEST, "--profile", profile])
        .current_dir(root())
        .status()
        .expect("cargo runs");
    assert!(built.success(), "kube-apiserver does not build");
    profile_dir.join("kube-apiserver")
}

/// Returns a port that is not in use and that this process was not given before.
///
/// # Panics
/// There is none.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    // Test programs that run in parallel start at different ports.
    let first = u16::try_from(std::process::id() % u32::from(count)).unwrap_or_default();
    (0..count)
        .map(|_| PORTS.start + (first + NEXT.fetch_add(1, Ordering::Relaxed) % count) % count)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("some port is free")
}
