//! Starts servers, measures how long they take until they are ready, and stops them at the end.

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

/// Between two looks whether the server is ready: the resolution of the figure.
const POLL: Duration = Duration::from_millis(5);

/// A server that is not ready by then will not be.
const LIMIT: Duration = Duration::from_secs(120);

/// Time that a server has to end by itself after SIGTERM.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// How a start went. Part of the JSON output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Started {
    /// The server's name.
    pub(crate) server: String,
    /// From the start of the process to the first `/readyz` that answered 200, in milliseconds.
    pub(crate) ready_ms: f64,
    /// CPU used until then, in milliseconds.
    pub(crate) cpu_ms: Option<f64>,
    /// Resident memory then.
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
    let begun = Instant::now();
    // The shell replaces itself, so that the process is the server. Its output would only disturb ours;
    // the command may redirect it to a file.
    let child = Command::new("sh")
        .arg("-c")
        .arg(format!("exec {}", spec.command))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A process group of its own: Ctrl-C is for us, who report first and then stop the server.
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(Error::io(spec.command.as_str()))?;
    let mut server = Server { child, name: spec.name.clone() };
    while !ready(target).await {
        if let Some(status) = server.child.try_wait().map_err(Error::io(spec.command.as_str()))? {
            return Err(Error::Wrong(format!("{} ended before it was ready: {status}", spec.name)));
        }
        if begun.elapsed() > LIMIT {
            return Err(Error::Wrong(format!("{} is not ready after {LIMIT:?}", spec.name)));
        }
        tokio::time::sleep(POLL).await;
    }
    let ready_ms = begun.elapsed().as_secs_f64() * 1e3;
    let (cpu_ms, rss_kib) = (server.pid().and_then(process::cpu_ms), server.pid().and_then(process::rss_kib));
    Ok((server, Started { server: spec.name.clone(), ready_ms, cpu_ms, rss_kib }))
}

/// One look. A server that does not listen yet is not ready, and neither is one that does not answer.
async fn ready(target: &Arc<Target>) -> bool {
    let limit = Duration::from_secs(2);
    let Ok(client) = Client::connect(target, 1, Windows::LARGE, limit).await else { return false };
    client.call(0, Call::get("/readyz"), 0).await.is_ok_and(|answer| answer.status == 200)
}

impl Server {
    /// The process; none if it has ended.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Asks the process to end, and kills it if it does not.
    pub(crate) async fn stop(mut self) {
        if let Some(pid) = self.child.id() {
            // The standard library can only kill; the command of every Unix sends SIGTERM.
            let asked = Command::new("kill").arg(pid.to_string()).status().await;
            let waited = tokio::time::timeout(STOP_LIMIT, self.child.wait()).await;
            if asked.is_err() || waited.is_err() {
                eprintln!("{}: killed, it did not end by itself", self.name);
                // It may have ended in this instant.
                let _ = self.child.kill().await;
            }
        }
    }
}
