//! Control planes for tests: forks of the control plane that `kube-apiserver testserver` runs.
//!
//! ```no_run
//! let fork = mainstay_testserver::Fork::new()?;
//! // Clients accept the kubeconfig as text or in a file. For kube: `Kubeconfig::from_yaml(fork.kubeconfig())`.
//! println!("{}", fork.kubeconfig());
//! // Dropping `fork` ends the control plane.
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Environment variable with the address of the test server, as printed by `kube-apiserver testserver`.
pub const ADDRESS_VARIABLE: &str = "MAINSTAY_TESTSERVER";

/// Timeout for creating a fork.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// Maximum length of the server's answer in bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// A forked control plane. It ends when this value is dropped, or with the process.
#[derive(Debug)]
pub struct Fork {
    kubeconfig: String,
    _connection: Connection,
}

/// The open connection keeps the fork alive.
#[derive(Debug)]
enum Connection {
    Unix(#[allow(dead_code, reason = "it is open while it is held")] UnixStream),
    Tcp(#[allow(dead_code, reason = "it is open while it is held")] TcpStream),
}

#[derive(serde::Deserialize)]
struct Answer {
    kubeconfig: Option<String>,
    error: Option<String>,
}

impl Fork {
    /// Creates a fork on the test server at [`ADDRESS_VARIABLE`]. Waits for at most 30 seconds.
    ///
    /// # Errors
    /// The variable is unset, there is no test server, or the server refuses. The error contains the reason.
    pub fn new() -> io::Result<Self> {
        let address = std::env::var(ADDRESS_VARIABLE).map_err(|_| {
            io::Error::other(format!("{ADDRESS_VARIABLE} is not set: start `kube-apiserver testserver`"))
        })?;
        Fork::of(&address)
    }

    /// Like [`new`](Self::new), on the test server at `unix:PATH` or `HOST:PORT`.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn of(address: &str) -> io::Result<Self> {
        let (kubeconfig, connection) = match address.strip_prefix("unix:") {
            Some(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                (ask(&stream)?, Connection::Unix(stream))
            }
            None => {
                let stream = TcpStream::connect(address)?;
                stream.set_read_timeout(Some(ANSWER_MAX))?;
                (ask(&stream)?, Connection::Tcp(stream))
            }
        };
        Ok(Fork { kubeconfig, _connection: connection })
    }

    /// The administrator's kubeconfig as JSON, which is also YAML.
    pub fn kubeconfig(&self) -> &str {
        &self.kubeconfig
    }
}

fn ask<S>(mut stream: S) -> io::Result<String>
where
    S: Read + Write,
{
    stream.write_all(b"fork\n")?;
    let mut line = String::new();
    BufReader::new(stream.take(ANSWER_BYTES_MAX)).read_line(&mut line)?;
    let answer: Answer = serde_json::from_str(&line)?;
    let why = || io::Error::other(format!("no fork: {}", answer.error.unwrap_or_default()));
    answer.kubeconfig.ok_or_else(why)
}
