//! Exec credential plugins of kubeconfigs (client-go's `plugin/pkg/client/auth/exec`): a program that writes
//! a token, or a certificate and its key, to its standard output.
//!
//! The program runs when a request needs credentials and there are none or only expired ones, and when the
//! server rejects the present ones. Concurrent requests share one run. A run is limited to [`RUN_MAX`] and
//! [`OUTPUT_BYTES_MAX`], which upstream does not bound.

mod credential;
mod metrics;

use std::fmt;
use std::io::IsTerminal;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use apimachinery::go_quote::quote;
use apimachinery::time::UnixTime;
use component_base::clock::Clock;
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

pub(crate) use credential::Cluster;
pub use metrics::ExecMetrics;
use metrics::{PluginRegistration, RunResult};

use crate::Error;
use crate::tls::Validity;

/// Timeout of a run.
const RUN_MAX: Duration = Duration::from_secs(60);
/// Maximum output in bytes.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// Environment variable with information about the target cluster.
const INFO: &str = "KUBERNETES_EXEC_INFO";

/// Plugin configuration in a kubeconfig.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Exec {
    api_version: String,
    command: String,
    args: Option<Vec<String>>,
    env: Option<Vec<Variable>>,
    interactive_mode: String,
    install_hint: String,
    provide_cluster_info: bool,
}

/// Environment variable of the program.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Variable {
    name: String,
    value: String,
}

impl Exec {
    /// Applies upstream's defaults and resolves a relative command path against a directory.
    pub(crate) fn resolved_in(mut self, directory: &Path) -> Self {
        if self.interactive_mode.is_empty() && self.api_version == credential::V1BETA1 {
            self.interactive_mode = "IfAvailable".to_owned();
        }
        if self.command.contains(MAIN_SEPARATOR) {
            let path: PathBuf = directory.join(&self.command).components().collect();
            self.command = path.to_string_lossy().into_owned();
        }
        self
    }

    /// Returns the configuration errors for a user, in upstream's words.
    pub(crate) fn errors(&self, user: &str) -> Vec<String> {
        let must =
            |member: &str| format!("{member} must be specified for {user} to use exec authentication plugin");
        let mut errors = Vec::new();
        for (member, text) in [("command", &self.command), ("apiVersion", &self.api_version)] {
            errors.extend(text.is_empty().then(|| must(member)));
        }
        let unnamed = self.env.iter().flatten().filter(|variable| variable.name.is_empty());
        errors.extend(unnamed.map(|_| must("env variable name")));
        match self.interactive_mode.as_str() {
            "" => errors.push(must("interactiveMode")),
            "Never" | "IfAvailable" | "Always" => {}
            mode => errors.push(format!("invalid interactiveMode for {user}: {}", quote(mode))),
        }
        errors
    }

    /// Returns true if it may prompt on the server's terminal.
    fn is_interactive(&self) -> Result<bool, Error> {
        match self.interactive_mode.as_str() {
            "Never" => Ok(false),
            "IfAvailable" => Ok(std::io::stdin().is_terminal()),
            "Always" if std::io::stdin().is_terminal() => Ok(true),
            "Always" => Err(Error::credentials("standard input is not a terminal".to_owned())),
            mode => Err(Error::credentials(format!("unknown interactiveMode: {}", quote(mode)))),
        }
    }
}

/// Credentials from one run.
#[derive(PartialEq, Eq)]
pub(crate) struct PluginCredentials {
    pub(crate) token: Option<String>,
    /// PEM of a certificate chain and its key.
    pub(crate) certificate: Option<(Vec<u8>, Vec<u8>)>,
    /// Validity of the certificate.
    validity: Option<Validity>,
    /// Expiry time; `None` if they never expire.
    until: Option<UnixTime>,
}

/// A plugin with its current credentials. Clones share them.
#[derive(Clone)]
pub struct ExecPlugin(Arc<Inner>);

struct Inner {
    exec: Exec,
    cluster: Option<Cluster>,
    clock: Arc<dyn Clock>,
    credentials: Arc<Mutex<Option<Arc<PluginCredentials>>>>,
    registration: OnceLock<PluginRegistration>,
}

/// Shows the command but no credentials.
impl fmt::Debug for ExecPlugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Plugin").field(&self.0.exec.command).finish()
    }
}

/// Plugins are equal if they share their credentials.
impl PartialEq for ExecPlugin {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ExecPlugin {}

impl ExecPlugin {
    /// Creates a plugin without running it. `clock` determines expiry.
    ///
    /// # Errors
    /// In upstream's words, for an unknown API version.
    pub(crate) fn new(exec: Exec, clock: Arc<dyn Clock>) -> Result<Self, Error> {
        if !credential::VERSIONS.contains(&exec.api_version.as_str()) {
            return Err(Error::credentials(format!(
                "exec plugin: invalid apiVersion {}",
                quote(&exec.api_version)
            )));
        }
        Ok(ExecPlugin(Arc::new(Inner::new(exec, None, clock))))
    }

    /// Returns the plugin for a cluster: a separate one if it needs cluster information, otherwise the same.
    pub(crate) fn of_cluster(self, cluster: impl FnOnce() -> Cluster) -> Self {
        if !self.0.exec.provide_cluster_info {
            return self;
        }
        let Inner { exec, clock, .. } = &*self.0;
        ExecPlugin(Arc::new(Inner::new(exec.clone(), Some(cluster()), Arc::clone(clock))))
    }

    /// Registers metrics of its runs, unless some are registered already.
    pub(crate) fn count(&self, metrics: &Arc<ExecMetrics>) {
        self.0.registration.get_or_init(|| PluginRegistration::new(metrics));
    }

    /// Returns valid credentials. If the program must run, the run continues when this future is dropped.
    ///
    /// # Errors
    /// In upstream's words.
    pub(crate) async fn credentials(&self) -> Result<Arc<PluginCredentials>, Error> {
        self.refresh(|issued, now| issued.until.is_some_and(|until| now > until)).await
    }

    /// Handles a rejection by the server: runs the program again unless a newer run has finished already.
    ///
    /// # Errors
    /// As [`credentials`](Self::credentials).
    pub(crate) async fn handle_rejection(&self, shown: &Arc<PluginCredentials>) -> Result<(), Error> {
        self.refresh(|issued, _| std::ptr::eq(issued, Arc::as_ptr(shown))).await.map(drop)
    }

    async fn refresh(
        &self,
        is_over: impl Fn(&PluginCredentials, UnixTime) -> bool,
    ) -> Result<Arc<PluginCredentials>, Error> {
        let mut slot = Arc::clone(&self.0.credentials).lock_owned().await;
        if let Some(issued) = slot.as_ref().filter(|issued| !is_over(issued, self.0.clock.now())) {
            return Ok(Arc::clone(issued));
        }
        let inner = Arc::clone(&self.0);
        let run = tokio::spawn(async move {
            let issued = Arc::new(inner.run().await?);
            let old = slot.replace(Arc::clone(&issued));
            if let Some(registration) = inner.registration.get() {
                registration.record_credentials(&issued, old.as_deref(), inner.clock.now());
            }
            Ok::<_, Error>(issued)
        });
        run.await.map_err(|error| Error::credentials(error.to_string()))?
    }
}

impl Inner {
    fn new(exec: Exec, cluster: Option<Cluster>, clock: Arc<dyn Clock>) -> Self {
        Inner { exec, cluster, clock, credentials: Arc::default(), registration: OnceLock::new() }
    }

    async fn run(&self) -> Result<PluginCredentials, Error> {
        let Exec { api_version, command, args, env, install_hint, .. } = &self.exec;
        let interactive = self.exec.is_interactive();
        let interactive = interactive.map_err(|cause| {
            Error::credentials(format!("exec plugin cannot support interactive mode: {cause}"))
        })?;
        let info = credential::info(api_version, self.cluster.as_ref(), interactive);
        let mut program = Command::new(command);
        program
            .args(args.iter().flatten())
            .envs(env.iter().flatten().map(|variable| (&variable.name, &variable.value)))
            .env(INFO, info)
            .stdin(if interactive { Stdio::inherit() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let failed = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound && !install_hint.is_empty() {
                tracing::warn!(
                    command,
                    hint = install_hint,
                    "a program that gives credentials is not installed"
                );
            }
            go_exec_error_text(command, &error)
        };
        let output = timeout(RUN_MAX, output(program)).await;
        if let Some(registration) = self.registration.get() {
            registration.record_run(match &output {
                Ok(Ok((code, _))) => RunResult::Exited(code.unwrap_or(-1)),
                Ok(Err(_)) => RunResult::NotFound,
                Err(_elapsed) => RunResult::Failed,
            });
        }
        let late = || format!("exec: executable {command} did not end within {} s", RUN_MAX.as_secs());
        let (code, output) = output
            .map_err(|_elapsed| late())
            .map_err(Error::credentials)?
            .map_err(failed)
            .map_err(Error::credentials)?;
        if code != Some(0) {
            let code = code.unwrap_or(-1);
            return Err(Error::credentials(format!(
                "exec: executable {command} failed with exit code {code}"
            )));
        }
        if output.len() as u64 > OUTPUT_BYTES_MAX {
            return Err(Error::credentials(format!("decoding stdout: larger than {OUTPUT_BYTES_MAX} bytes")));
        }
        credential::read(&output, api_version)
    }
}

/// Runs a program. Returns its exit code (`None` after a signal) and its output, with at most one byte more
/// than the limit.
async fn output(mut program: Command) -> std::io::Result<(Option<i32>, Vec<u8>)> {
    let mut child = program.spawn()?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // Unread output would block the program; with the pipe closed, its write fails instead.
        stdout.take(OUTPUT_BYTES_MAX.saturating_add(1)).read_to_end(&mut output).await?;
    }
    if output.len() as u64 > OUTPUT_BYTES_MAX {
        return Ok((Some(0), output));
    }
    Ok((child.wait().await?.code(), output))
}

/// Formats an error like Go's `os/exec`.
fn go_exec_error_text(command: &str, error: &std::io::Error) -> String {
    let is_path = command.contains(MAIN_SEPARATOR);
    match error.kind() {
        std::io::ErrorKind::NotFound if !is_path => format!("exec: executable {command} not found"),
        std::io::ErrorKind::NotFound => format!("exec: fork/exec {command}: no such file or directory"),
        std::io::ErrorKind::PermissionDenied => format!("exec: fork/exec {command}: permission denied"),
        _ => format!("exec: {error}"),
    }
}

#[cfg(test)]
mod tests;
