//! `exec`, `attach` and `portforward` of client-go against a kubelet that only supports SPDY: builds the Go module in
//! `e2e/kubelet-streams` once, then runs its tests with the server's kubeconfig.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;
use std::time::Duration;

use e2e::{Server, Store, process, tools};

/// Timeout of the first build, which fetches and compiles all of client-go.
const BUILD_LIMIT: Duration = Duration::from_secs(900);
const RUN_LIMIT: Duration = Duration::from_secs(180);

#[test]
fn websockets_reach_spdy_kubelets() {
    let built = tools::target().join("e2e/kubelet-streams.test");
    let mut command = Command::new(tools::program("go"));
    command.args(["test", "-mod=mod", "-vet=off", "-c", "-o"]).arg(&built).arg(".");
    command.current_dir(tools::root().join("e2e/kubelet-streams"));
    let done = process::run(&mut command, "", BUILD_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    let server = Server::start(Store::Embedded);
    let mut command = Command::new(&built);
    command.env("KUBECONFIG", server.kubeconfig()).args(["-test.v", "-test.timeout=150s"]);
    let done = process::run(&mut command, "", RUN_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    let count = |prefix: &str| done.stdout.lines().filter(|line| line.starts_with(prefix)).count();
    // A program without tests succeeds too.
    assert!(count("--- PASS") > 0 && count("--- SKIP") == 0, "{}", done.stdout);
}
