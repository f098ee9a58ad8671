//! Output and exit status of the program.
//!
//! Because these tests run the program, `cargo test --workspace` builds it; the end-to-end tests use that
//! build.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Polling interval, and the number of polls before giving up: half a minute in total.
const LOOK: (Duration, u32) = (Duration::from_millis(20), 1500);

/// Runs the program until it exits. Its output must fit into a pipe.
fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kube-apiserver"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let ended = (0..LOOK.1).any(|_| {
        std::thread::sleep(LOOK.0);
        child.try_wait().expect("a child can be waited for").is_some()
    });
    if !ended {
        let _ = child.kill();
    }
    let output = child.wait_with_output().expect("a child can be waited for");
    assert!(ended, "it does not end: {output:?}");
    output
}

#[test]
fn version_output_equals_upstreams() {
    let ended = run(&["--version"]);
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stdout.starts_with(b"Kubernetes v1.37."), "{ended:?}");
}

#[test]
fn unknown_flag_fails_with_upstreams_error() {
    let ended = run(&["--no-such-flag"]);
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "Error: unknown flag: --no-such-flag\n");
}

#[test]
fn locked_data_directory_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    // Take the lock like the other store.
    let store = dir.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let mut lock = std::fs::File::create(store.join("store.lock")).unwrap();
    lock.lock().unwrap();
    writeln!(lock, "{}", std::process::id()).unwrap();
    let ended = run(&["--embedded-data-dir", &dir.path().display().to_string(), "--secure-port", "1"]);
    assert_eq!(ended.status.code(), Some(1));
    let log = String::from_utf8_lossy(&ended.stderr);
    let holder = format!("store.lock: the store is in use by process {}", std::process::id());
    assert!(log.contains(&holder), "{log}");
    let remaining: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(remaining, ["store"], "the rejected start has written something");
}

/// Starts a server in memory and waits until its temporary directory exists.
fn start_in_memory(temporary: &std::path::Path) -> std::process::Child {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kube-apiserver"));
    command.args(["--embedded-in-memory", "--secure-port", &port]).env("TMPDIR", temporary);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until(|| !is_empty(temporary));
    child
}

fn is_empty(dir: &std::path::Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

fn wait_until(condition: impl Fn() -> bool) {
    let is_met = (0..LOOK.1).any(|_| {
        std::thread::sleep(LOOK.0);
        condition()
    });
    assert!(is_met, "nothing has changed in time");
}

#[test]
fn killed_server_in_memory_leaves_no_files() {
    let temporary = tempfile::tempdir().unwrap();
    let mut child = start_in_memory(temporary.path());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until(|| is_empty(temporary.path()));
}
