//! haproxy with the configuration of `deploy/haproxy`, in front of local servers.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::process::Lines;
use crate::tools;

const POLL: Duration = Duration::from_millis(100);
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// Server and client addresses in the configuration file.
const PLACES: [&str; 3] = ["10.0.0.10:6443", "10.0.0.11:6443", "10.0.0.12:6443"];
const FRONT: &str = "bind :6443";
/// Prefix of server names in haproxy's statistics (second column), and the status column.
const SERVERS: &str = "apiserver-";
const STATUS: usize = 17;

/// Returns the configuration of `deploy/haproxy` with local ports: its own, and the servers' in order.
///
/// # Panics
/// The file does not contain the expected addresses.
pub fn configuration(port: u16, servers: [u16; 3]) -> String {
    let path = tools::root().join("deploy/haproxy/haproxy.cfg");
    let text = std::fs::read_to_string(path).expect("the configuration can be read");
    assert!(text.contains(FRONT), "{FRONT}");
    let text = text.replace(FRONT, &format!("bind 127.0.0.1:{port}"));
    PLACES.iter().zip(servers).fold(text, |text, (place, port)| {
        assert!(text.contains(place), "{place}");
        text.replace(place, &format!("127.0.0.1:{port}"))
    })
}

/// A load balancer on 127.0.0.1, until dropped.
pub struct Balancer {
    port: u16,
    control: PathBuf,
    _process: Lines,
    _dir: TempDir,
}

impl Balancer {
    /// Starts a balancer for servers on these ports, with health checks every `check`.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(servers: [u16; 3], check: Duration) -> Self {
        let dir = TempDir::new().expect("a directory");
        let port = tools::free_port();
        let file = dir.path().join("haproxy.cfg");
        let control = dir.path().join("control");
        let text = configuration(port, servers);
        let checks = format!("inter {}ms", check.as_millis());
        let stats = format!("global\n    stats socket {}\n", control.display());
        let text = text.replacen("inter 2s", &checks, 1).replacen("global\n", &stats, 1);
        std::fs::write(&file, text).expect("a configuration can be written");
        let mut command = Command::new(tools::program("haproxy"));
        let process = Lines::start(command.args(["-db", "-f"]).arg(&file).stderr(Stdio::null()));
        Balancer { port, control, _process: process, _dir: dir }
    }

    /// Returns the client port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until every server is healthy.
    ///
    /// # Panics
    /// This takes longer than `limit`.
    #[allow(clippy::disallowed_methods, reason = "a wait has a limit")]
    pub fn all_ready(&self, limit: Duration) {
        let start = Instant::now();
        loop {
            let statuses = self.statuses().unwrap_or_default();
            if statuses.len() == PLACES.len() && statuses.iter().all(|status| status == "UP") {
                return;
            }
            assert!(start.elapsed() < limit, "the balancer does not find every server ready: {statuses:?}");
            std::thread::sleep(POLL);
        }
    }

    /// Returns the status of each server: `UP`, or `UP 1/2` if the last check failed.
    fn statuses(&self) -> std::io::Result<Vec<String>> {
        let mut control = UnixStream::connect(&self.control)?;
        control.set_read_timeout(Some(ANSWER_MAX))?;
        control.write_all(b"show stat\n")?;
        let mut response = String::new();
        control.read_to_string(&mut response)?;
        let rows = response.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let servers = rows.filter(|row| row.get(1).is_some_and(|name| name.starts_with(SERVERS)));
        Ok(servers.filter_map(|row| row.get(STATUS).map(|status| (*status).to_owned())).collect())
    }
}
