//! controller-runtime against a real server, on each of the stores and in a fork of a test server: the Go module in `e2e/controller-runtime` is built
//! once, then its manager defaults, validates, converts and reconciles a kind of its own there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use e2e::testserver::TestServer;
use e2e::{Server, process, tools};

/// The first build fetches and compiles all of controller-runtime.
const BUILD_LIMIT: Duration = Duration::from_secs(900);
const RUN_LIMIT: Duration = Duration::from_secs(120);

e2e::on_both_stores!(controller_runtime_finds_what_it_expects);

fn controller_runtime_finds_what_it_expects(server: &Server) {
    // What cannot be converted is logged.
    server.allow_log("spec.size \\\"large\\\" is no size");
    // A manager that ends takes its hooks with it, also while the last status of a widget is on its way.
    server.allow_log("failed: Post \\\"https://127.0.0.1:");
    run("KUBECONFIG", server.kubeconfig().as_os_str());
}

#[test]
fn controller_runtime_finds_it_in_a_fork() {
    let server = TestServer::start(&[]);
    run("MAINSTAY_TESTSERVER", server.address.as_ref());
}

/// Runs the tests; a variable says where.
fn run(variable: &str, place: &OsStr) {
    let mut command = Command::new(tests());
    command.env(variable, place).args(["-test.v", "-test.timeout=90s"]);
    let done = process::run(&mut command, "", RUN_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("\n--- PASS"), "{}", done.stdout);
}

/// The built tests.
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
