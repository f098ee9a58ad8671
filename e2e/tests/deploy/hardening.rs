//! The flags and files of docs/hardening.md, checked by `tools/cis.py`.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use e2e::documents::{self, Block};
use e2e::process::{self, Finished};
use e2e::tools;

use super::host::SimulatedHost;
use super::manifests::kubeadm_flags;

const LIMIT: Duration = Duration::from_secs(60);

/// Runs the script for a process.
fn check(pid: u32) -> Finished {
    let mut command = Command::new(tools::root().join("tools/cis.py"));
    process::run(command.args(["--pid", &pid.to_string()]), "", LIMIT)
}

/// Returns the numbers of the checks with this status.
fn with_status<'t>(table: &'t str, status: &str) -> Vec<&'t str> {
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.filter(|row| row.get(1) == Some(&status)).map(|row| row[0]).collect()
}

/// Adds flags. A later flag replaces an earlier one of the same name.
fn with_flags(flags: Vec<String>, added: &str) -> Vec<String> {
    let all = flags.into_iter().chain(added.lines().map(str::to_owned));
    let named = all.map(|flag| (flag.split('=').next().unwrap_or_default().to_owned(), flag));
    named.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Writes the files of the page: YAML blocks whose first line is a path.
fn write_files(host: &SimulatedHost, blocks: &[Block]) -> usize {
    let files = blocks.iter().filter(|block| block.language() == "yaml").filter_map(|block| {
        let path = block.text.lines().next()?.strip_prefix("# ")?;
        Some((host.path(path), &block.text))
    });
    let mut count = 0;
    for (path, text) in files {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        count += 1;
    }
    count
}

#[test]
fn hardening_page_meets_every_check() {
    let page = std::fs::read_to_string(tools::root().join("docs/hardening.md")).unwrap();
    let blocks = documents::blocks(&page);
    let host = SimulatedHost::new();
    assert_eq!(write_files(&host, &blocks), 4);
    std::fs::create_dir_all(host.path("/var/log/kube-apiserver")).unwrap();
    let added = blocks.iter().find(|block| block.language() == "text").unwrap();
    let mut server = host.run(&with_flags(kubeadm_flags(), &added.text));
    let done = check(server.pid());
    assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
    assert_eq!(done.stdout.lines().last(), Some("32 checks: 28 met, 4 explained, 0 failed"));
    let table = page.lines().filter(|line| line.contains("| explained: "));
    let explained: Vec<&str> = table.map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(with_status(&done.stdout, "EXPLAIN"), explained);
    assert_eq!(server.probe("/livez"), "ok");
    let log = std::fs::read_to_string(host.path("/var/log/kube-apiserver/audit.log")).unwrap();
    assert!(log.contains("\"level\":\"Metadata\""));
}

#[test]
fn default_manifest_fails_checks() {
    let host = SimulatedHost::new();
    let mut server = host.run(&kubeadm_flags());
    std::fs::set_permissions(host.path("/etc/kubernetes/pki/sa.key"), std::fs::Permissions::from_mode(0o644))
        .unwrap();
    let done = check(server.pid());
    assert_eq!(done.status.code(), Some(1), "{}{}", done.stdout, done.stderr);
    let expected =
        ["1.2.1", "1.2.3", "1.2.6", "1.2.10", "1.2.12", "1.2.18", "1.2.19", "1.2.25", "1.2.30", "1.2.31"];
    assert_eq!(with_status(&done.stdout, "FAIL"), expected);
}
