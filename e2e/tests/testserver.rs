//! A control plane per test: the binary's `testserver`, store snapshots, and the client libraries in
//! `clients/`, each with its ecosystem's test tool.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use e2e::testserver::{START_LIMIT, TestServer};
use e2e::{Server, process, tools};
use tempfile::TempDir;

/// Timeout for a client library, which fetches and compiles its dependencies.
const CLIENT_LIMIT: Duration = Duration::from_secs(900);

#[test]
fn fork_inherits_state_and_ends_with_connection() {
    let mut server = TestServer::start(&[]);
    let parent = server.kubectl(&server.ask("parent").1, "parent");
    parent.ok("create configmap seed --from-literal=a=b");
    let (connection, kubeconfig) = server.ask("fork");
    let fork = server.kubectl(&kubeconfig, "fork");
    assert_eq!(fork.ok("get configmap seed -o jsonpath={.data.a}"), "b");
    fork.ok("create configmap own");
    assert!(parent.fails("get configmap own").contains("NotFound"));
    let url = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap();
    let address = url.strip_prefix("https://").unwrap();
    drop(connection);
    let refused = (0..3_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        TcpStream::connect(address).is_err()
    });
    assert!(refused, "the fork is still there");
    process::signal(server.process.child().id(), "TERM");
    assert!(server.process.ended(START_LIMIT).is_some_and(|status| status.success()));
    // The socket, the certificates and the kubeconfig are gone with it.
    let remaining: Vec<_> =
        std::fs::read_dir(server.dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    let is_leftover = |name: &str| name.starts_with("mainstay-") || name == "socket";
    assert!(!remaining.iter().any(|name| is_leftover(&name.to_string_lossy())), "{remaining:?}");
}

#[test]
fn server_starts_from_snapshot() {
    let dir = TempDir::new().unwrap();
    let seed = dir.path().join("seed");
    let flags = ["--embedded-snapshot-endpoint", "--embedded-snapshot", seed.to_str().unwrap()];
    let mut first = Server::start_flagged(&flags);
    first.kubectl().ok("create configmap seed --from-literal=a=b");
    // The endpoint requires authorization.
    let page = first.kubectl().ok("get --raw /embedded/snapshot").len();
    assert!(page > 1_000, "{page}");
    let refused = first.kubectl().fails("get --raw /embedded/snapshot --as=nobody");
    assert!(refused.contains("forbidden"), "{refused}");
    assert!(first.terminate(START_LIMIT).success());
    let second = Server::start_flagged(&["--embedded-from", seed.to_str().unwrap()]);
    assert_eq!(second.kubectl().ok("get configmap seed -o jsonpath={.data.a}"), "b");
    second.kubectl().ok("create configmap other");
    let forks = TestServer::start(&["--embedded-from", seed.to_str().unwrap()]);
    let (_connection, kubeconfig) = forks.ask("fork");
    assert_eq!(forks.kubectl(&kubeconfig, "fork").ok("get configmap seed -o jsonpath={.data.a}"), "b");
}

#[test]
fn in_memory_server_fills_caches_on_list() {
    let dir = TempDir::new().unwrap();
    let seed = dir.path().join("seed");
    let mut first = Server::start_flagged(&["--embedded-snapshot", seed.to_str().unwrap()]);
    first.kubectl().ok("create configmap seed --from-literal=a=b");
    assert!(first.terminate(START_LIMIT).success());
    let flags = ["--embedded-in-memory", "--embedded-from", seed.to_str().unwrap()];
    let second = Server::start_flagged(&flags);
    let filled = r#"apiserver_watch_cache_initializations_total{group="",resource="configmaps"} 1"#;
    let is_filled = || second.kubectl().ok("get --raw /metrics").contains(filled);
    assert_eq!(second.kubectl().ok("get configmap seed -o jsonpath={.data.a}"), "b");
    second.kubectl().ok("create configmap other");
    assert!(!is_filled());
    let names = second.kubectl().ok("get configmaps -o name");
    assert!(["configmap/other", "configmap/seed"].iter().all(|name| names.contains(name)), "{names}");
    assert!(is_filled());
}

#[test]
fn invalid_snapshot_is_reported() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("cut");
    std::fs::write(&path, b"MAINSTAY").unwrap();
    let mut command = Command::new(tools::apiserver());
    command.args(["--embedded-in-memory", "--secure-port=1", "--embedded-from"]).arg(&path);
    let done = process::run(&mut command, "", START_LIMIT);
    assert!(!done.status.success());
    let expected = "cut: the snapshot is cut off";
    assert!(done.stderr.contains(expected), "{}", done.stderr);
}

fn client(name: &str) -> PathBuf {
    tools::root().join("clients").join(name)
}

fn passes(server: &TestServer, command: &mut Command, dir: &Path) {
    let done =
        process::run(command.env("MAINSTAY_TESTSERVER", &server.address).current_dir(dir), "", CLIENT_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
}

#[test]
fn go_client_library_passes() {
    let server = TestServer::start(&[]);
    let mut command = Command::new(tools::program("go"));
    passes(&server, command.args(["test", "-count=1", "-mod=mod", "./..."]), &client("go"));
}

#[test]
fn python_client_library_passes() {
    let server = TestServer::start(&[]);
    let mut command = Command::new(tools::program("python3"));
    command.args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "mainstay_testserver.plugin",
        "-p",
        "no:cacheprovider",
        "tests",
    ]);
    passes(&server, command.env("PYTHONPATH", "src").env("PYTHONDONTWRITEBYTECODE", "1"), &client("python"));
}

#[test]
fn rust_client_library_passes() {
    let server = TestServer::start(&[]);
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let target = tools::target().join("e2e/client-rust");
    passes(&server, command.args(["test", "--quiet"]).env("CARGO_TARGET_DIR", target), &client("rust"));
}
