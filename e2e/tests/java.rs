//! The Java clients, fabric8 and the official one, against a fork and a server on etcd: builds `e2e/java` once, then runs
//! its tests with the server's kubeconfig. fabric8 watches over WebSockets.
//!
//! Without Java, Maven and a Maven repository the tests are skipped with a message.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use e2e::{Server, process, tools};

/// Time for Maven to fetch the clients.
const FETCH_SECONDS: &str = "240";
const BUILD_LIMIT: Duration = Duration::from_secs(300);
const RUN_LIMIT: Duration = Duration::from_secs(240);

e2e::on_forks_and_etcd!(java_tests_pass);

fn java_tests_pass(server: &Server) {
    if !["java", "javac", "mvn"].into_iter().all(tools::has_program) {
        println!("skipped: needs java, javac and mvn on PATH");
        return;
    }
    let mut command = Command::new(tools::program("java"));
    let Some(classes) = classes() else {
        println!("skipped: Maven could not fetch the clients");
        return;
    };
    let class_path = std::env::join_paths([classes.join("classes"), classes.join("dependency/*")]).unwrap();
    command.arg("-cp").arg(class_path).arg("Tests").arg(server.kubeconfig());
    let done = process::run(&mut command, "", RUN_LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    // A program without tests succeeds too.
    let passed = done.stdout.lines().filter(|line| line.starts_with("PASS")).count();
    assert!(passed >= 5, "{}", done.stdout);
}

/// Returns the directory with the classes and their dependencies; `None` if Maven cannot fetch these.
fn classes() -> Option<&'static PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build).as_ref()
}

fn build() -> Option<PathBuf> {
    let built = tools::target().join("e2e/java");
    let sources = tools::root().join("e2e/java");
    let mut fetch = Command::new(tools::program("timeout"));
    fetch.arg(FETCH_SECONDS).arg(tools::program("mvn")).args([
        "--batch-mode",
        "--quiet",
        "dependency:copy-dependencies",
    ]);
    fetch.arg(format!("-DoutputDirectory={}", built.join("dependency").display())).current_dir(&sources);
    let fetched = process::run(&mut fetch, "", BUILD_LIMIT);
    if !fetched.status.success() {
        println!("{}{}", fetched.stdout, fetched.stderr);
        return None;
    }
    let mut compile = Command::new(tools::program("javac"));
    compile.arg("-d").arg(built.join("classes")).arg("-cp").arg(built.join("dependency/*"));
    compile.args(["Tests", "Fabric8", "Official"].map(|class| format!("src/main/java/{class}.java")));
    let compiled = process::run(compile.current_dir(&sources), "", BUILD_LIMIT);
    assert!(compiled.status.success(), "{}{}", compiled.stdout, compiled.stderr);
    Some(built)
}
