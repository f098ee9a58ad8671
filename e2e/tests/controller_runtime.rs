//! controller-runtime against a server on each store and a fork of a test server. Builds the Go module in
//! `e2e/controller-runtime` once; its manager then defaults, validates, converts and reconciles a custom
//! kind.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use e2e::testserver::TestServer;
use e2e::{Server, process, tools};

/// Timeout of the first build, which fetches and compiles all of controller-runtime.
const BUILD_LIMIT: Duration = Duration::from_secs(900);
const RUN_LIMIT: Duration = Duration::from_secs(120);

e2e::on_both_stores!(controller_runtime_tests_pass);

fn controller_runtime_tests_pass(server: &Server) {
    // Failed conversions are logged.
    server.allow_log("spec.size \\\"large\\\" is no size");
    // An exiting manager takes its webhooks down, possibly while the last status update of a widget is in
    // flight.
    server.allow_log("failed: Post \\\"https://127.0.0.1:");
    run("KUBECONFIG", server.kubeconfig().as_os_str());
}

#[test]
fn controller_runtime_tests_pass_on_fork() {
    let server = TestServer::start(&[]);
    run("MAINSTAY_TESTSERVER", server.address.as_ref());
}

/// Runs the tests with the server address in an environment variable.
fn run(variable: &str, place: &OsStr) {
    let mut command = Command::new(tests());
    command.env(variable, place).args(["-test.v", "-test.timeout=90s"]);
    let done = process::run(&mut command, "", RUN_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("\n--- PASS"), "{}", done.stdout);
}

/// Returns the built test program.
fn tests() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = tools::target().join("e2e/controller-runtime.test");
        let mut command = Command::new(tools::program("go"));
        command.args(["test", "-mod=mod", "-vet=off", "-c", "-o"]).arg(&built).arg(".");
        command.current_dir(tools::root().join("e2e/controller-runtime"));
        let done = process::run(&mut command, "", BUILD_LIMIT);
        assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
        built
    })
}
