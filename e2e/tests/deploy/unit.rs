//! The systemd unit.

use std::process::Command;
use std::time::Duration;

use e2e::{process, tools};

use super::host::SimulatedHost;

const LIMIT: Duration = Duration::from_secs(60);

fn text(name: &str) -> String {
    std::fs::read_to_string(tools::root().join("deploy/systemd").join(name)).unwrap()
}

/// Returns the value of a setting.
fn setting<'u>(unit: &'u str, name: &str) -> &'u str {
    let value = |line: &'u str| line.strip_prefix(name)?.strip_prefix('=');
    unit.lines().find_map(value).unwrap_or_else(|| panic!("the unit has {name}"))
}

#[test]
fn unit_command_runs_and_stops_in_time() {
    let unit = text("kube-apiserver.service");
    let env_file = text("kube-apiserver.env");
    assert_eq!(setting(&unit, "ExecStart"), "/usr/local/bin/kube-apiserver $FLAGS");
    let flags: Vec<String> = setting(&env_file, "FLAGS").split_whitespace().map(str::to_owned).collect();
    let host = SimulatedHost::new();
    let server = host.run(&flags);
    assert_eq!(server.probe("/livez"), "ok");
    let limit: u64 = setting(&unit, "TimeoutStopSec").parse().unwrap();
    server.stop(Duration::from_secs(limit));
}

#[test]
fn unit_passes_systemd_analyze() {
    let Ok(version) = Command::new("systemd-analyze").arg("--version").output() else { return };
    assert!(version.status.success());
    let dir = tempfile::TempDir::new().unwrap();
    let copy = dir.path().join("kube-apiserver.service");
    // systemd-analyze checks that the program exists.
    let program = tools::apiserver().display().to_string();
    std::fs::write(&copy, text("kube-apiserver.service").replace("/usr/local/bin/kube-apiserver", &program))
        .unwrap();
    let output = process::run(Command::new("systemd-analyze").arg("verify").arg(&copy), "", LIMIT);
    assert!(output.status.success(), "{output:?}");
    let warnings: Vec<&str> = output.stderr.lines().filter(|line| line.contains("kube-apiserver")).collect();
    assert!(warnings.is_empty(), "{warnings:?}");
}
