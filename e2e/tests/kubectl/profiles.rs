//! Profiles of a server, fetched and read with standard tools.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use e2e::{Server, process, tools};
use serde_json::json;

/// Timeout that covers Go building its tool on first use.
const TOOL_LIMIT: Duration = Duration::from_secs(300);

/// Number of objects of one megabyte that stay in the server's memory.
const KEPT: usize = 30;

fn top(kubeconfig: &Path, path: &str) -> String {
    let profile = tempfile::NamedTempFile::new().unwrap();
    // Written by a shell, because a profile is binary.
    let kubectl = format!("{} --kubeconfig={}", tools::program("kubectl").display(), kubeconfig.display());
    let command = format!("{kubectl} get --raw '{path}' > {}", profile.path().display());
    let got = process::run(Command::new("sh").args(["-c", &command]), "", TOOL_LIMIT);
    assert!(got.status.success(), "{}", got.stderr);
    let mut tool = Command::new(tools::program("go"));
    tool.args(["tool", "pprof", "-top", "-nodecount=1000000"]).arg(profile.path());
    let read = process::run(&mut tool, "", TOOL_LIMIT);
    assert!(read.status.success(), "{}", read.stderr);
    read.stdout
}

#[test]
fn pprof_reads_cpu_and_heap_profiles() {
    let server = Server::start_flagged(&[]);
    let kubectl = server.kubectl();
    let kubeconfig = server.kubeconfig();
    std::thread::scope(|scope| {
        let profile = scope.spawn(|| top(&kubeconfig, "/debug/pprof/profile?seconds=3"));
        while !profile.is_finished() {
            kubectl.ok("get --raw /openapi/v2");
        }
        let profile = profile.join().unwrap();
        assert!(profile.contains("Type: cpu") && profile.contains("tokio::runtime"), "{profile}");
    });
    // One allocation per 2 MiB is sampled at random. With this many objects it is practically impossible that
    // none is sampled.
    for number in 0..KEPT {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("kept-{number}")},
            "data": {"text": "x".repeat(1_000_000)},
        });
        kubectl.ok_with("create -f -", &object.to_string());
    }
    let heap = top(&kubeconfig, "/debug/pprof/heap");
    assert!(heap.contains("Type: inuse_space") && heap.contains("registry::codec::encode"), "{heap}");
}
