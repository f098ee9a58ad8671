//! Where the programs are that the tests run, and free ports to run them on.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the kernel hands out to clients (32768 and up), so that no connection of
/// another test takes a port between being found free and being listened on.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// The directory of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("e2e is in the workspace").to_owned()
}

/// Where build products go.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The test of package `kube-apiserver` that runs its program.
const SERVERS_TEST: &str = "program";

/// A program by name: from the fetched tools (`tools/fetch-tools.sh`), else from PATH.
///
/// # Panics
/// When it is in neither.
pub fn program(name: &str) -> PathBuf {
    let fetched = target().join("tools/bin").join(name);
    if fetched.exists() {
        return fetched;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| panic!("these tests need {name}: run tools/fetch-tools.sh, or put it on PATH"))
}

/// The server under test: `KUBE_APISERVER`, else built in the profile that the tests were built in.
///
/// # Panics
/// When it does not build.
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
    // The one that `cargo test --workspace` builds for the server's own test: another choice of packages turns on other
    // features of what they depend on, and all of it would be compiled once more.
    let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--quiet", "--no-run", "--workspace", "--test", SERVERS_TEST, "--profile", profile])
        .current_dir(root())
        .status()
        .expect("cargo runs");
    assert!(built.success(), "kube-apiserver does not build");
    profile_dir.join("kube-apiserver")
}

/// A port that nobody listens on and that this process was not given before.
///
/// # Panics
/// When there is none.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let count = PORTS.end - PORTS.start;
    // Test programs that run side by side begin at different places.
    let first = u16::try_from(std::process::id() % u32::from(count)).unwrap_or_default();
    (0..count)
        .map(|_| PORTS.start + (first + NEXT.fetch_add(1, Ordering::Relaxed) % count) % count)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("some port is free")
}
