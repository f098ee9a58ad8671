//! A server that provides forks: the binary's `testserver` subcommand.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::kubectl::Kubectl;
use crate::process::Lines;
use crate::tools;

/// Startup timeout.
pub const START_LIMIT: Duration = Duration::from_secs(60);
/// Output line when forks are available, before the address.
const READY: &str = "export MAINSTAY_TESTSERVER=";

/// A test server; killed when dropped.
pub struct TestServer {
    /// Directory of its socket and temporary files.
    pub dir: TempDir,
    pub process: Lines,
    /// Address for requesting forks, as printed for clients.
    pub address: String,
}

impl TestServer {
    /// Starts a test server and waits until forks are available.
    pub fn start(flags: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let mut command = Command::new(tools::apiserver());
        let listen = format!("--listen=unix:{}", dir.path().join("socket").display());
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        command.arg("testserver").arg(listen).args(flags).env("TMPDIR", dir.path()).stderr(log);
        let process = Lines::start(&mut command);
        let ready = process.find(START_LIMIT, |line| line.starts_with(READY));
        let ready = ready.expect("the test server does not become ready");
        TestServer { address: ready.trim_start_matches(READY).to_owned(), dir, process }
    }

    /// Sends a command; returns the connection and the kubeconfig.
    pub fn ask(&self, word: &str) -> (BufReader<UnixStream>, serde_json::Value) {
        let mut stream = UnixStream::connect(self.address.strip_prefix("unix:").unwrap()).unwrap();
        stream.write_all(format!("{word}\n").as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        let response: serde_json::Value = serde_json::from_str(&line).unwrap();
        let kubeconfig = response["kubeconfig"].as_str().unwrap_or_else(|| panic!("{response}"));
        (stream, serde_json::from_str(kubeconfig).unwrap())
    }

    pub fn kubectl(&self, kubeconfig: &serde_json::Value, name: &str) -> Kubectl {
        let path = self.dir.path().join(name);
        std::fs::write(&path, kubeconfig.to_string()).unwrap();
        Kubectl::new(&path, self.dir.path())
    }
}
