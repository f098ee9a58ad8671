//! Control planes for tests: forks of the one that `kube-apiserver testserver` keeps.
//!
//! ```no_run
//! let fork = mainstay_testserver::Fork::new()?;
//! // Any client takes the text, or a file with it; for kube: `Kubeconfig::from_yaml(fork.kubeconfig())`.
//! println!("{}", fork.kubeconfig());
//! // The control plane is gone when `fork` is dropped.
//! # Ok::<(), std::io::Error>(())
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// The environment variable that says where forks are to be had: what `kube-apiserver testserver` prints.
pub const ADDRESS_VARIABLE: &str = "MAINSTAY_TESTSERVER";

/// How long a fork may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// The longest answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// A control plane. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct Fork {
    kubeconfig: String,
    _connection: Connection,
}

/// Held for as long as the fork is wanted.
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
    /// Asks the test server that [`ADDRESS_VARIABLE`] names for a fork. Waits for at most 30 seconds.
    ///
    /// # Errors
    /// There is no test server, or it gives no fork; the text says why.
    pub fn new() -> io::Result<Self> {
        let address = std::env::var(ADDRESS_VARIABLE).map_err(|_| {
            io::Error::other(format!("{ADDRESS_VARIABLE} is not set: start `kube-apiserver testserver`"))
        })?;
        Fork::of(&address)
    }

    /// As [`new`](Self::new), of the test server at `unix:PATH` or `HOST:PORT`.
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

    /// The kubeconfig of an administrator: JSON, which is YAML.
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
