//! The Java clients, fabric8 and the official one, against a fork and a server on etcd: builds `e2e/java` once, then runs
//! its tests with the server's kubeconfig. fabric8 watches over WebSockets.
//!
//! If `tools/fetch-tools.sh` could not fetch the clients, the tests are skipped with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use e2e::{Server, process, tools};

const LIMIT: Duration = Duration::from_secs(240);

e2e::on_forks_and_etcd!(java_tests_pass);

fn java_tests_pass(server: &Server) {
    let clients = tools::target().join("tools/java");
    if !clients.is_dir() {
        println!(
            "skipped: needs java, javac, and the clients that tools/fetch-tools.sh java fetches with mvn"
        );
        return;
    }
    let class_path = std::env::join_paths([classes(&clients), &clients.join("*")]).unwrap();
    let mut command = Command::new(tools::program("java"));
    command.arg("-cp").arg(class_path).arg("Tests").arg(server.kubeconfig());
    let done = process::run(&mut command, "", LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    // A program without tests succeeds too.
    let passed = done.stdout.lines().filter(|line| line.starts_with("PASS")).count();
    assert!(passed >= 5, "{}", done.stdout);
}

/// Returns the directory with the compiled test classes.
fn classes(clients: &Path) -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let classes = tools::target().join("e2e/java");
        let mut compile = Command::new(tools::program("javac"));
        compile.arg("-d").arg(&classes).arg("-cp").arg(clients.join("*"));
        compile.args(["Tests", "Fabric8", "Official"].map(|class| format!("src/main/java/{class}.java")));
        let compiled = process::run(compile.current_dir(tools::root().join("e2e/java")), "", LIMIT);
        assert!(compiled.status.success(), "{}{}", compiled.stdout, compiled.stderr);
        classes
    })
}
