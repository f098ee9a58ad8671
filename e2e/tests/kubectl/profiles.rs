//! Profiles of a server, as people take and read them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use e2e::{Server, process, tools};
use serde_json::json;

/// Go builds its tool when it is asked for the first time.
const TOOL_LIMIT: Duration = Duration::from_secs(300);

/// Objects of a megabyte that the server has to keep.
const KEPT: usize = 30;

fn top(kubeconfig: &Path, path: &str) -> String {
    let profile = tempfile::NamedTempFile::new().unwrap();
    // The file is written by a shell, for a profile is no text.
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
fn go_s_tool_reads_what_the_server_does_and_keeps() {
    let server = Server::start_flagged(&[]);
    let (kubectl, kubeconfig) = (server.kubectl(), server.kubeconfig());
    std::thread::scope(|scope| {
        let profile = scope.spawn(|| top(&kubeconfig, "/debug/pprof/profile?seconds=3"));
        while !profile.is_finished() {
            kubectl.ok("get --raw /openapi/v2");
        }
        let profile = profile.join().unwrap();
        assert!(profile.contains("Type: cpu") && profile.contains("tokio::runtime"), "{profile}");
    });
    // Of every 2 MiB one allocation is noted, by chance: with these it would take a miracle that none of them is.
    for number in 0..KEPT {
        let kept = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("kept-{number}")},
            "data": {"text": "x".repeat(1_000_000)},
        });
        kubectl.ok_with("create -f -", &kept.to_string());
    }
    let heap = top(&kubeconfig, "/debug/pprof/heap");
    assert!(heap.contains("Type: inuse_space") && heap.contains("registry::codec::encode"), "{heap}");
}
