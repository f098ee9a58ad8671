//! Starts servers, measures their time until ready, and stops them at the end.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::process::{Child, Command};

use crate::args::StartSpec;
use crate::client::{Call, Client, Windows};
use crate::error::{Error, Result};
use crate::process;
use crate::target::Target;

/// Polling interval of `/readyz`, which is the resolution of the result.
const POLL: Duration = Duration::from_millis(5);

/// Timeout for becoming ready.
const LIMIT: Duration = Duration::from_secs(120);

/// Timeout for exiting after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Result of a start. Part of the JSON output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Started {
    pub(crate) server: String,
    /// Time from process start to the first `/readyz` response with status 200, in milliseconds.
    pub(crate) ready_ms: f64,
    /// CPU used until ready, in milliseconds.
    pub(crate) cpu_ms: Option<f64>,
    /// Resident memory when ready, in KiB.
    pub(crate) rss_kib: Option<u64>,
}

/// A running server. If it is dropped without [`Server::stop`], the process is killed.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    name: String,
}

/// Starts `spec` and waits until `target` is ready.
pub(crate) async fn start(spec: &StartSpec, target: &Arc<Target>) -> Result<(Server, Started)> {
    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    let start = Instant::now();
    // The shell replaces itself, so that the child process is the server. The server's output is discarded;
    // the command can redirect it to a file.
    let child = Command::new("sh")
        .arg("-c")
        .arg(format!("exec {}", spec.command))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A separate process group, so that Ctrl-C reaches only apibench. It reports first and then stops the
        // server.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(Error::io(spec.command.as_str()))?;
    let mut server = Server { child, name: spec.name.clone() };
    while !ready(target).await {
        if let Some(status) = server.child.try_wait().map_err(Error::io(spec.command.as_str()))? {
            return Err(Error::Wrong(format!("{} ended before it was ready: {status}", spec.name)));
        }
        if start.elapsed() > LIMIT {
            return Err(Error::Wrong(format!("{} is not ready after {LIMIT:?}", spec.name)));
        }
        tokio::time::sleep(POLL).await;
    }
    let ready_ms = start.elapsed().as_secs_f64() * 1e3;
    let cpu_ms = server.pid().and_then(process::cpu_ms);
    let rss_kib = server.pid().and_then(process::rss_kib);
    Ok((server, Started { server: spec.name.clone(), ready_ms, cpu_ms, rss_kib }))
}

/// Polls once. A server that does not listen or respond yet is not ready.
async fn ready(target: &Arc<Target>) -> bool {
    let limit = Duration::from_secs(2);
    let Ok(client) = Client::connect(target, 1, Windows::LARGE, limit).await else { return false };
    client.call(0, Call::get("/readyz"), 0).await.is_ok_and(|answer| answer.status == 200)
}

impl Server {
    /// Returns the process id; `None` if the process has exited.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Terminates the process, and kills it after a timeout.
    pub(crate) async fn stop(mut self) {
        if let Some(pid) = self.child.id() {
            // The standard library can only kill; the Unix command sends SIGTERM.
            let signal_result = Command::new("kill").arg(pid.to_string()).status().await;
            let wait_result = tokio::time::timeout(STOP_LIMIT, self.child.wait()).await;
            if signal_result.is_err() || wait_result.is_err() {
                eprintln!("{}: killed, it did not end by itself", self.name);
                // It may have exited at this moment.
                let _ = self.child.kill().await;
            }
        }
    }
}
