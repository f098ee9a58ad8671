//! What a caller of the program sees: its output, and how it ends.
//!
//! That these tests run the program makes cargo build it with `cargo test --workspace`; the end-to-end tests take that one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// How often a run is looked at, and how many times before it is given up: half a minute.
const LOOK: (Duration, u32) = (Duration::from_millis(20), 1500);

/// A run of the program to its end. What it writes has to fit into a pipe.
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
fn the_version_is_printed_as_upstreams_program_prints_it() {
    let ended = run(&["--version"]);
    assert!(ended.status.success(), "{ended:?}");
    assert!(ended.stdout.starts_with(b"Kubernetes v1.36."), "{ended:?}");
}

#[test]
fn an_unknown_flag_ends_it_with_status_1_and_upstreams_words() {
    let ended = run(&["--no-such-flag"]);
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&ended.stderr), "Error: unknown flag: --no-such-flag\n");
}

#[test]
fn a_directory_that_another_store_has_open_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    // As the other store does it.
    let store = dir.path().join("store");
    std::fs::create_dir(&store).unwrap();
    let lock = std::fs::File::create(store.join("store.lock")).unwrap();
    lock.lock().unwrap();
    let ended = run(&["--embedded-data-dir", &dir.path().display().to_string(), "--secure-port", "1"]);
    assert_eq!(ended.status.code(), Some(1));
    let log = String::from_utf8_lossy(&ended.stderr);
    assert!(log.contains("the store is in use by another process"), "{log}");
}
