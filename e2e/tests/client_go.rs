//! client-go against a fork and a server on etcd: builds the Go module in `e2e/client-go` once, then runs its
//! tests with the server's kubeconfig.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use e2e::{Server, process, tools};

/// Timeout of the first build, which fetches and compiles all of client-go.
const BUILD_LIMIT: Duration = Duration::from_secs(900);
const RUN_LIMIT: Duration = Duration::from_secs(180);

e2e::on_forks_and_etcd!(client_go_tests_pass);

fn client_go_tests_pass(server: &Server) {
    let mut command = Command::new(tests());
    command.env("KUBECONFIG", server.kubeconfig()).args(["-test.v", "-test.timeout=150s"]);
    let done = process::run(&mut command, "", RUN_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    let count = |prefix: &str| done.stdout.lines().filter(|line| line.starts_with(prefix)).count();
    // A program without tests succeeds too.
    assert!(count("--- PASS") > 0 && count("--- SKIP") == 0, "{}", done.stdout);
}

/// Returns the built test program.
fn tests() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let built = tools::target().join("e2e/client-go.test");
        let mut command = Command::new(tools::program("go"));
        command.args(["test", "-mod=mod", "-vet=off", "-c", "-o"]).arg(&built).arg(".");
        command.current_dir(tools::root().join("e2e/client-go"));
        let done = process::run(&mut command, "", BUILD_LIMIT);
        assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
        built
    })
}
