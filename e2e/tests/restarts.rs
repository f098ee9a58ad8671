//! Rolling restart of three replicas behind haproxy under client-go's requests and watches: no request fails,
//! and every watch continues. `RESTARTS_RATE` and `RESTARTS_WATCHES` set the load.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use e2e::{Balancer, Etcd, Server, process, tools};
use kube::config::Kubeconfig;
use serde_json::Value;
use tempfile::TempDir;

/// Timeout of the first build, which fetches and compiles client-go.
const BUILD_MAX: Duration = Duration::from_secs(900);
const READY_MAX: Duration = Duration::from_secs(90);
const STOP_MAX: Duration = Duration::from_secs(60);
const SERVERS: usize = 3;
const CHECK: Duration = Duration::from_millis(500);
const RATE: u64 = 100;
const WATCHES: u64 = 200;

fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn replicas(etcd: &Etcd, dir: &Path) -> Vec<Server> {
    let flags = [
        format!("--cert-dir={}", dir.display()),
        // The balancer's health checks are anonymous, which RBAC allows.
        "--authorization-mode=Node,RBAC".to_owned(),
        // Longer than two checks.
        "--shutdown-delay-duration=3s".to_owned(),
        "--shutdown-send-retry-after=true".to_owned(),
        "--shutdown-watch-termination-grace-period=5s".to_owned(),
    ];
    (0..SERVERS).map(|_| Server::start_on_flagged(&etcd.url(), &flags)).collect()
}

/// Writes an admin kubeconfig with the balancer's address.
fn kubeconfig(server: &Server, balancer: &Balancer, dir: &Path) -> PathBuf {
    let mut config = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let address = format!("https://127.0.0.1:{}", balancer.port());
    config.clusters[0].cluster.as_mut().unwrap().server = Some(address);
    let path = dir.join("balancer.kubeconfig");
    std::fs::write(&path, serde_json::to_string(&config).unwrap()).unwrap();
    path
}

/// The client program. Killed when dropped.
struct TestClients(Child, BufReader<ChildStdout>);

impl TestClients {
    /// Starts the clients and waits until all watches are open.
    fn start(kubeconfig: &Path) -> Self {
        let built = tools::target().join("e2e/restarts");
        let mut build = Command::new(tools::program("go"));
        build.args(["build", "-mod=mod", "-o"]).arg(&built).arg(".");
        let done = process::run(build.current_dir(tools::root().join("e2e/restarts")), "", BUILD_MAX);
        assert!(done.status.success(), "{}{}", done.stdout, done.stderr);
        let mut child = Command::new(built)
            .args(["-rate", &number("RESTARTS_RATE", RATE).to_string()])
            .args(["-watches", &number("RESTARTS_WATCHES", WATCHES).to_string()])
            .env("KUBECONFIG", kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        TestClients(child, output)
    }

    /// Stops the clients and returns their results.
    fn end(mut self) -> Value {
        drop(self.0.stdin.take());
        let mut text = String::new();
        self.1.read_to_string(&mut text).unwrap();
        println!("{text}");
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for TestClients {
    fn drop(&mut self) {
        process::end(&mut self.0);
    }
}

#[test]
fn rolling_restart_fails_no_request() {
    let etcd = Etcd::start();
    let dir = TempDir::new().unwrap();
    let mut servers = replicas(&etcd, dir.path());
    let balancer = Balancer::start(std::array::from_fn(|n| servers[n].port()), CHECK);
    balancer.all_ready(READY_MAX);
    let crowd = TestClients::start(&kubeconfig(&servers[0], &balancer, dir.path()));
    for server in &mut servers {
        let status = server.terminate(STOP_MAX);
        assert!(status.success(), "{status}");
        server.restart();
        balancer.all_ready(READY_MAX);
    }
    let summary = crowd.end();
    assert_eq!(summary["Failed"].as_u64(), Some(0), "{summary}");
    // The number of relists is reported but not checked. It depends on how much history a server with a new
    // cache has, and therefore on the machine's speed.
    assert_eq!(summary["Watches"], number("RESTARTS_WATCHES", WATCHES), "{summary}");
    assert!(summary["Requests"].as_u64() > Some(0) && summary["Ended"].as_u64() > Some(0), "{summary}");
}
