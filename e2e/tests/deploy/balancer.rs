//! The balancer configuration, with one running replica and two missing ones.

use std::process::{Command, Stdio};
use std::time::Duration;

use e2e::balancer::configuration;
use e2e::process::{self, Lines};
use e2e::tools;

use super::host::{SimulatedHost, until};
use super::manifests::kubeadm_flags;

const LIMIT: Duration = Duration::from_secs(30);
const REQUESTS: usize = 20;

#[test]
fn haproxy_routes_to_ready_replicas() {
    let host = SimulatedHost::new();
    let server = host.run(&kubeadm_flags());
    let port = tools::free_port();
    let file = host.path("haproxy.cfg");
    std::fs::write(&file, configuration(port, [tools::free_port(), host.port, tools::free_port()])).unwrap();
    let program = tools::program("haproxy");
    let checked = process::run(Command::new(&program).args(["-c", "-f"]).arg(&file), "", LIMIT);
    assert!(checked.status.success(), "{checked:?}");
    assert!(!checked.stderr.contains("WARNING"), "{}", checked.stderr);

    let _haproxy = Lines::start(Command::new(&program).args(["-db", "-f"]).arg(&file).stderr(Stdio::null()));
    let kubectl = server.kubectl_at(port);
    until(LIMIT, "the balancer passes requests on", || kubectl.run("get --raw /readyz", "").stdout == "ok");
    // Checks need two failures; until then a failed connection is retried on another server.
    for _ in 0..REQUESTS {
        assert_eq!(kubectl.ok("get --raw /readyz"), "ok");
    }
}
