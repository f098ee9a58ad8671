//! A real three-member etcd; each member can be killed, paused and restarted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{process, tools};

const MEMBERS: usize = 3;
const READY_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// Three members with their data in a temporary directory. Killed, not stopped, when dropped.
pub struct EtcdCluster {
    ports: Vec<(u16, u16)>,
    dir: TempDir,
    children: Vec<Option<Child>>,
}

impl EtcdCluster {
    /// Starts an empty cluster and waits until it serves.
    ///
    /// # Panics
    /// It does not serve.
    pub fn start() -> Self {
        let ports = (0..MEMBERS).map(|_| (tools::free_port(), tools::free_port())).collect();
        let children = (0..MEMBERS).map(|_| None).collect();
        let mut cluster = Self { ports, dir: TempDir::new().unwrap(), children };
        (0..MEMBERS).for_each(|n| cluster.launch(n));
        cluster.wait();
        cluster
    }

    /// Returns the client URL of member `n`.
    pub fn url(&self, n: usize) -> String {
        format!("http://127.0.0.1:{}", self.ports[n].0)
    }

    /// Returns the client URLs of all members.
    pub fn urls(&self) -> Vec<String> {
        (0..MEMBERS).map(|n| self.url(n)).collect()
    }

    /// Returns the client ports of all members on 127.0.0.1.
    pub fn ports(&self) -> Vec<u16> {
        self.ports.iter().map(|(clients, _)| *clients).collect()
    }

    /// Kills member `n`; its data stays.
    pub fn kill(&mut self, n: usize) {
        if let Some(mut child) = self.children[n].take() {
            process::end(&mut child);
        }
    }

    /// Sends member `n` a signal: `STOP` or `CONT`.
    pub fn signal(&self, n: usize, signal: &str) {
        if let Some(child) = &self.children[n] {
            process::signal(child.id(), signal);
        }
    }

    /// Restarts member `n` and waits until all members serve.
    pub fn restart(&mut self, n: usize) {
        self.kill(n);
        self.launch(n);
        self.wait();
    }

    fn launch(&mut self, n: usize) {
        let peer = |n: usize| format!("http://127.0.0.1:{}", self.ports[n].1);
        let members: Vec<String> = (0..MEMBERS).map(|n| format!("m{n}={}", peer(n))).collect();
        let member_dir = self.dir.path().join(format!("m{n}"));
        std::fs::create_dir_all(&member_dir).unwrap();
        let log = std::fs::File::options().create(true).append(true).open(member_dir.join("log")).unwrap();
        let child = Command::new(tools::program("etcd"))
            .args(["--name", &format!("m{n}"), "--data-dir"])
            .arg(member_dir.join("data"))
            .args(["--listen-client-urls", &self.url(n), "--advertise-client-urls", &self.url(n)])
            .args(["--listen-peer-urls", &peer(n), "--initial-advertise-peer-urls", &peer(n)])
            .args(["--initial-cluster", &members.join(","), "--initial-cluster-state", "new"])
            .args(["--heartbeat-interval", "50", "--election-timeout", "500"])
            // Only processes are killed here, never the machine, so the page cache keeps the data.
            .args(["--unsafe-no-fsync", "--log-level", "warn", "--quota-backend-bytes", "8589934592"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("etcd starts");
        self.children[n] = Some(child);
    }

    /// Waits until every running member serves.
    ///
    /// # Panics
    /// A member does not serve.
    #[allow(clippy::disallowed_methods, reason = "a wait has a limit")]
    pub fn wait(&self) {
        let start = Instant::now();
        for n in (0..MEMBERS).filter(|n| self.children[*n].is_some()) {
            while !self.healthy(n) {
                assert!(start.elapsed() < READY_MAX, "etcd's member {n} does not serve");
                std::thread::sleep(POLL);
            }
        }
    }

    fn healthy(&self, n: usize) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.ports[n].0)) else { return false };
        let mut response = String::new();
        let result = stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .and_then(|()| stream.write_all(b"GET /health HTTP/1.0\r\n\r\n"))
            .and_then(|()| stream.read_to_string(&mut response));
        result.is_ok() && response.contains(r#""health":"true""#)
    }
}

impl Drop for EtcdCluster {
    fn drop(&mut self) {
        (0..MEMBERS).for_each(|n| self.kill(n));
    }
}
