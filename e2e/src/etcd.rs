//! A real single-member etcd, with its data in a temporary directory.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::{log, process, tools};

const POLL: Duration = Duration::from_millis(20);
const POLLS_MAX: usize = 1500;
const TOOL_LIMIT: Duration = Duration::from_secs(30);

/// An etcd server. Killed, not stopped, when dropped.
pub struct Etcd {
    client_port: u16,
    peer_port: u16,
    dir: TempDir,
    child: Option<Child>,
}

impl Etcd {
    /// Starts an empty etcd and waits until it serves.
    ///
    /// # Panics
    /// It does not serve.
    pub fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let mut etcd =
            Self { client_port: tools::free_port(), peer_port: tools::free_port(), dir, child: None };
        etcd.restart();
        etcd
    }

    /// Returns the client URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.client_port)
    }

    /// Returns the client port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.client_port
    }

    /// Starts the process with existing data and waits until it serves.
    ///
    /// # Panics
    /// It does not serve.
    pub fn restart(&mut self) {
        let peer = format!("http://127.0.0.1:{}", self.peer_port);
        let log =
            std::fs::File::options().create(true).append(true).open(self.dir.path().join("log")).unwrap();
        let child = Command::new(tools::program("etcd"))
            .args(["--name", "m0", "--data-dir"])
            .arg(self.dir.path().join("data"))
            .args(["--listen-client-urls", &self.url(), "--advertise-client-urls", &self.url()])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("m0={peer}"), "--initial-cluster-state", "new"])
            .args(["--heartbeat-interval", "50", "--election-timeout", "500"])
            // Only processes are killed here, never the machine, so the page cache keeps the data.
            .args(["--unsafe-no-fsync", "--log-level", "warn"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("etcd starts");
        self.child = Some(child);
        self.wait();
    }

    fn wait(&mut self) {
        for _ in 0..POLLS_MAX {
            if self.healthy() {
                return;
            }
            let ended = self.child.as_mut().and_then(|child| child.try_wait().unwrap());
            assert!(ended.is_none(), "etcd ended with {ended:?}:\n{}", self.log());
            std::thread::sleep(POLL);
        }
        panic!("etcd does not serve:\n{}", self.log());
    }

    fn healthy(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.client_port)) else { return false };
        let mut response = String::new();
        let result = stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .and_then(|()| stream.write_all(b"GET /health HTTP/1.0\r\n\r\n"))
            .and_then(|()| stream.read_to_string(&mut response));
        result.is_ok() && response.contains(r#""health":"true""#)
    }

    /// Kills the process with SIGKILL; its data stays.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            process::end(&mut child);
        }
    }

    /// Stores a value directly in etcd, without the server.
    ///
    /// # Panics
    /// etcd rejects it.
    pub fn put(&self, key: &str, value: &str) {
        let mut command = Command::new(tools::program("etcdctl"));
        command.env("ETCDCTL_API", "3").args(["--endpoints", &self.url(), "put", key]);
        // Without a value argument, etcdctl reads it from its standard input.
        let done = process::run(&mut command, value, TOOL_LIMIT);
        assert!(done.status.success(), "{done:?}");
    }

    /// Returns the keys with a prefix, in order.
    ///
    /// # Panics
    /// etcd does not return them.
    pub fn keys(&self, prefix: &str) -> Vec<String> {
        let mut command = Command::new(tools::program("etcdctl"));
        command.env("ETCDCTL_API", "3").args([
            "--endpoints",
            &self.url(),
            "get",
            "--prefix",
            "--keys-only",
            prefix,
        ]);
        let done = process::run(&mut command, "", TOOL_LIMIT);
        assert!(done.status.success(), "{done:?}");
        done.stdout.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the end of the log.
    pub fn log(&self) -> String {
        log::tail(&std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default(), 40)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}
