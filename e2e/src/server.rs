//! The server process under test.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use rcgen::KeyPair;
use tempfile::TempDir;

use crate::etcd::Etcd;
use crate::forks::Fork;
use crate::kubectl::Kubectl;
use crate::process::{self, Lines};
use crate::{log, tools};

/// Startup timeout.
const START_LIMIT: Duration = Duration::from_secs(60);
/// Output line of a ready server, before the path of the kubeconfig.
const READY: &str = "export KUBECONFIG=";
/// Number of log lines shown with a failure.
const TAIL_LINES: usize = 60;

/// Private key of service account tokens. All servers of a program share it, like the replicas of a cluster.
static TOKEN_KEY: LazyLock<String> = LazyLock::new(|| KeyPair::generate().unwrap().serialize_pem());
/// Issuer of service account tokens.
const TOKEN_ISSUER: &str = "https://kubernetes.default.svc";

/// A disabled admission plugin: no controller here creates the service accounts that pods need.
const PLUGIN_OFF: &str = "ServiceAccount";

/// Flag for the controllers in the server.
const CONTROLLERS: &str = "--embedded-controllers";

/// Store of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// The embedded store.
    Embedded,
    /// A dedicated etcd.
    Etcd,
}

/// A server with its store. On drop all processes are killed. The test fails if the log contains a line that
/// is neither informational nor allowed by [`Server::allow_log`].
pub struct Server {
    /// The etcd; `None` with the embedded store.
    pub etcd: Option<Etcd>,
    /// URL of the etcd; `None` with the embedded store.
    etcd_url: Option<String>,
    /// Additional flags of the server.
    flags: Vec<String>,
    port: u16,
    kubeconfig: PathBuf,
    dir: TempDir,
    process: Option<Lines>,
    /// Keeps a fork alive.
    fork: Option<Fork>,
    allowed: Mutex<Vec<String>>,
}

impl Server {
    /// Starts a server with an empty store and waits until it is ready.
    ///
    /// # Panics
    /// It does not become ready.
    pub fn start(store: Store) -> Self {
        let etcd = (store == Store::Etcd).then(Etcd::start);
        let url = etcd.as_ref().map(Etcd::url);
        Self::start_with(etcd, url)
    }

    /// Starts a server on an etcd of the caller and waits until it is ready.
    ///
    /// # Panics
    /// It does not become ready.
    pub fn start_on(etcd_url: &str) -> Self {
        Self::start_with(None, Some(etcd_url.to_owned()))
    }

    /// Starts a server with an empty embedded store and these flags, and waits until it is ready.
    ///
    /// # Panics
    /// It does not become ready.
    pub fn start_flagged(flags: &[&str]) -> Self {
        let mut server = Self::prepare(None, None);
        server.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        server.restart();
        server
    }

    /// Returns a fork of the test server that all forks of this program share. It has no log, store, process
    /// or port of its own.
    ///
    /// # Panics
    /// There is none.
    pub fn fork() -> Self {
        let mut server = Self::prepare(None, None);
        let (fork, kubeconfig) = Fork::new(&[
            &format!("--disable-admission-plugins={PLUGIN_OFF}"),
            &format!("{CONTROLLERS}=false"),
        ]);
        server.kubeconfig = server.dir.path().join("kubeconfig");
        std::fs::write(&server.kubeconfig, kubeconfig.to_string()).unwrap();
        server.fork = Some(fork);
        server
    }

    /// Like [`start_on`](Self::start_on), with these flags.
    ///
    /// # Panics
    /// It does not become ready.
    pub fn start_on_flagged(etcd_url: &str, flags: &[String]) -> Self {
        let mut server = Self::prepare(None, Some(etcd_url.to_owned()));
        server.flags = flags.to_vec();
        server.restart();
        server
    }

    fn start_with(etcd: Option<Etcd>, etcd_url: Option<String>) -> Self {
        let mut server = Self::prepare(etcd, etcd_url);
        server.restart();
        server
    }

    fn prepare(etcd: Option<Etcd>, etcd_url: Option<String>) -> Self {
        let server = Self {
            etcd,
            etcd_url,
            flags: Vec::new(),
            port: tools::free_port(),
            kubeconfig: PathBuf::new(),
            dir: TempDir::new().unwrap(),
            process: None,
            fork: None,
            allowed: Mutex::default(),
        };
        std::fs::create_dir(server.dir.path().join("home")).unwrap();
        server
    }

    /// Starts the process with the data and the port of the previous one, and waits until it is ready.
    ///
    /// # Panics
    /// It does not become ready.
    pub fn restart(&mut self) {
        self.kill();
        let dir = self.dir.path();
        let log = std::fs::File::options().create(true).append(true).open(dir.join("log")).unwrap();
        let mut command = Command::new(tools::apiserver());
        command
            .args(["--bind-address", "127.0.0.1", "--secure-port", &self.port.to_string(), "--cert-dir"])
            .arg(dir.join("pki"))
            .arg(format!("--disable-admission-plugins={}", PLUGIN_OFF))
            .args(&self.flags)
            .stderr(log);
        match &self.etcd_url {
            Some(url) => {
                let key = dir.join("sa.key");
                std::fs::write(&key, &*TOKEN_KEY).unwrap();
                command.args(["--etcd-servers", url, "--service-account-issuer", TOKEN_ISSUER]);
                for flag in ["--service-account-key-file", "--service-account-signing-key-file"] {
                    command.arg(flag).arg(&key);
                }
            }
            None => _ = command.arg("--embedded-data-dir").arg(self.store_dir()),
        }
        // Most tests compare with upstream's API server alone.
        if self.etcd_url.is_none() && !self.flags.iter().any(|flag| flag.starts_with(CONTROLLERS)) {
            command.arg(format!("{CONTROLLERS}=false"));
        }
        let process = Lines::start(&mut command);
        let ready = process.find(START_LIMIT, |line| line.starts_with(READY));
        self.process = Some(process);
        let ready = ready.unwrap_or_else(|| panic!("the server does not become ready"));
        self.kubeconfig = ready.trim_start_matches(READY).into();
    }

    /// Returns the port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the directory of the embedded store. The process must not run while another one opens it.
    pub fn store_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Returns the path of the admin kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig.clone()
    }

    /// Returns `kubectl` for this server.
    pub fn kubectl(&self) -> Kubectl {
        Kubectl { kubeconfig: self.kubeconfig.clone(), home: self.dir.path().join("home"), env: Vec::new() }
    }

    /// Returns an admin client.
    ///
    /// # Panics
    /// The kubeconfig is unusable.
    pub async fn client(&self) -> kube::Client {
        kube::Client::try_from(self.client_config().await).expect("a kubeconfig that can be used")
    }

    /// Returns an admin client configuration.
    ///
    /// # Panics
    /// The kubeconfig is unusable.
    pub async fn client_config(&self) -> kube::Config {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).expect("a kubeconfig that can be read");
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .expect("a kubeconfig that can be used")
    }

    /// Returns the whole log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Allows log lines that contain `pattern`.
    pub fn allow_log(&self, pattern: &str) {
        self.allowed.lock().unwrap().push(pattern.to_owned());
    }

    /// Returns true while the process runs.
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| matches!(process.child().try_wait(), Ok(None)))
    }

    /// Returns the process id.
    ///
    /// # Panics
    /// It does not run.
    pub fn pid(&mut self) -> u32 {
        self.process.as_mut().expect("the server runs").child().id()
    }

    /// Returns the resident memory of the process in bytes.
    ///
    /// # Panics
    /// It does not run.
    pub fn memory_bytes(&mut self) -> u64 {
        self.memory_status("VmRSS:")
    }

    /// Returns the peak of the resident memory of the process in bytes.
    ///
    /// # Panics
    /// It does not run.
    pub fn memory_peak_bytes(&mut self) -> u64 {
        self.memory_status("VmHWM:")
    }

    fn memory_status(&mut self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a process has memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Kills the process with SIGKILL; its data stays.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Terminates the process and waits at most `limit` until it has exited.
    ///
    /// # Panics
    /// It does not exit.
    pub fn terminate(&mut self, limit: Duration) -> ExitStatus {
        let process = self.process.as_mut().expect("the server runs");
        let id = process.child().id().to_string();
        let sent = process::run(Command::new("kill").args(["-TERM", &id]), "", limit);
        assert!(sent.status.success(), "{sent:?}");
        process.ended(limit).unwrap_or_else(|| panic!("the server goes on {limit:?} after SIGTERM"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let log = self.log();
        if std::thread::panicking() {
            eprintln!("--- the server's log ends with\n{}", log::tail(&log, TAIL_LINES));
            if let Some(etcd) = &self.etcd {
                eprintln!("--- etcd's log ends with\n{}", etcd.log());
            }
            return;
        }
        let unexpected = log::unexpected(&log, &self.allowed.lock().unwrap());
        assert!(unexpected.is_empty(), "the server logged:\n{}", unexpected.join("\n"));
    }
}
