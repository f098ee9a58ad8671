//! The quick starts (`e2e/quickstarts`): plays that of kubectl with this build. `make quickstarts` plays those of all audiences
//! with the files of `make dist`.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::process::Command;
use std::time::Duration;

use e2e::{process, tools};
use tempfile::TempDir;

const LIMIT: Duration = Duration::from_secs(300);
/// File of `make dist` in the pages.
const PROGRAM: &str = "kube-apiserver-linux-amd64";

#[test]
fn kubectl_quick_start_passes() {
    if !can_isolate() {
        println!("skipped: this user cannot create network namespaces");
        return;
    }
    let dist = TempDir::new().unwrap();
    std::os::unix::fs::symlink(tools::apiserver(), dist.path().join(PROGRAM)).unwrap();
    tools::program("kubectl");
    let mut command = Command::new(tools::program("python3"));
    command.arg("e2e/quickstarts").arg(dist.path()).args(["--here", "kubectl"]);
    let done = process::run(command.current_dir(tools::root()), "", LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
}

#[test]
fn scripts_pass_their_tests() {
    let mut command = Command::new(tools::program("python3"));
    let done = process::run(command.arg("e2e/quickstarts/tests.py").current_dir(tools::root()), "", LIMIT);
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
}

fn can_isolate() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "--pid", "--fork", "true"]);
    command.output().is_ok_and(|done| done.status.success())
}
