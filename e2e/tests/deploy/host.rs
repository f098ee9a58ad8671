//! A simulated deployment target: directories as in manifests, an etcd with TLS, and the server with a
//! manifest's flags.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use e2e::process::{self, Lines};
use e2e::{Kubectl, log, tools};
use tempfile::TempDir;

use super::pki;

const START_LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);
/// Directories of manifests that are relocated.
const PLACES: [&str; 3] = ["/etc/", "/run/", "/var/"];

/// The simulated machine.
pub(crate) struct SimulatedHost {
    root: TempDir,
    etcd: Child,
    etcd_port: u16,
    pub(crate) port: u16,
}

impl SimulatedHost {
    /// Creates certificates in kubeadm's layout and an etcd that uses them.
    pub(crate) fn new() -> Self {
        let root = TempDir::new().unwrap();
        pki::make(&root.path().join("etc/kubernetes/pki"));
        let etcd_port = tools::free_port();
        let etcd = etcd(root.path(), &root.path().join("etcd-data"), etcd_port);
        let host = SimulatedHost { root, etcd, etcd_port, port: tools::free_port() };
        host.until("etcd serves", || host.etcdctl(&["endpoint", "health"]));
        host
    }

    /// Relocates a path of a manifest.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    /// Adapts a flag of a manifest: relocated directories and other ports.
    fn placed(&self, flag: &str) -> String {
        let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
        match name {
            "--secure-port" => format!("{name}={}", self.port),
            "--etcd-servers" => format!("{name}=https://127.0.0.1:{}", self.etcd_port),
            _ if PLACES.iter().any(|place| value.starts_with(place)) => {
                format!("{name}={}", self.path(value).display())
            }
            _ => flag.to_owned(),
        }
    }

    /// Runs the server with a manifest's flags, which begin with `--`, and waits until it is ready.
    pub(crate) fn run(&self, flags: &[String]) -> RunningServer<'_> {
        let log = self.path("log");
        let mut command = Command::new(tools::apiserver());
        command
            .args(flags.iter().map(|flag| self.placed(flag)))
            // Without a port flag, the server would use upstream's port, which may be in use here.
            .args(
                (!flags.iter().any(|flag| flag.starts_with("--secure-port")))
                    .then(|| format!("--secure-port={}", self.port)),
            )
            .current_dir(self.root.path())
            .stderr(File::create(&log).unwrap());
        let process = Lines::start(&mut command);
        let deployed = RunningServer { host: self, process: Some(process), log, allowed: Vec::new() };
        self.until("the server is ready", || deployed.probe("/readyz") == "ok");
        deployed
    }

    /// Runs `etcdctl` with the server's client certificate. Returns true on success.
    pub(crate) fn etcdctl(&self, arguments: &[&str]) -> bool {
        let pki = self.path("/etc/kubernetes/pki");
        let mut command = Command::new(tools::program("etcdctl"));
        command
            .env("ETCDCTL_API", "3")
            .arg(format!("--endpoints=https://127.0.0.1:{}", self.etcd_port))
            .arg("--cacert")
            .arg(pki.join("etcd/ca.crt"))
            .arg("--cert")
            .arg(pki.join("apiserver-etcd-client.crt"))
            .arg("--key")
            .arg(pki.join("apiserver-etcd-client.key"))
            .args(arguments);
        process::run(&mut command, "", START_LIMIT).status.success()
    }

    /// Stops etcd and restarts it with other data.
    pub(crate) fn restart_etcd(&mut self, data: &Path) {
        process::end(&mut self.etcd);
        self.etcd = etcd(self.root.path(), data, self.etcd_port);
        self.until("etcd serves again", || self.etcdctl(&["endpoint", "health"]));
    }

    fn until(&self, condition: &str, done: impl Fn() -> bool) {
        if !waited(START_LIMIT, done) {
            panic!("not within {START_LIMIT:?}: {condition}\n{}", self.logs());
        }
    }

    fn logs(&self) -> String {
        let read = |name: &str| std::fs::read_to_string(self.path(name)).unwrap_or_default();
        format!("{}\n--- etcd\n{}", read("log"), log::tail(&read("etcd.log"), 20))
    }
}

/// Waits until `done` returns true.
pub(crate) fn until(limit: Duration, condition: &str, done: impl Fn() -> bool) {
    assert!(waited(limit, done), "not within {limit:?}: {condition}");
}

fn waited(limit: Duration, done: impl Fn() -> bool) -> bool {
    let polls = limit.as_millis() / POLL.as_millis();
    (0..polls).any(|_| {
        done() || {
            std::thread::sleep(POLL);
            false
        }
    })
}

impl Drop for SimulatedHost {
    fn drop(&mut self) {
        process::end(&mut self.etcd);
    }
}

fn etcd(root: &Path, data: &Path, port: u16) -> Child {
    let pki = root.join("etc/kubernetes/pki/etcd");
    let log = File::options().create(true).append(true).open(root.join("etcd.log")).unwrap();
    let url = format!("https://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{}", tools::free_port());
    Command::new(tools::program("etcd"))
        .args(["--name", "m0", "--data-dir"])
        .arg(data)
        .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
        .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
        .args(["--initial-cluster", &format!("m0={peer}"), "--client-cert-auth", "--trusted-ca-file"])
        .arg(pki.join("ca.crt"))
        .arg("--cert-file")
        .arg(pki.join("server.crt"))
        .arg("--key-file")
        .arg(pki.join("server.key"))
        .args(["--unsafe-no-fsync", "--log-level", "warn"])
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .expect("etcd starts")
}

/// A running server. On drop its log must be quiet: no ignored flag, no error.
pub(crate) struct RunningServer<'h> {
    host: &'h SimulatedHost,
    process: Option<Lines>,
    log: PathBuf,
    allowed: Vec<String>,
}

impl RunningServer<'_> {
    /// Returns the administrator's `kubectl`.
    pub(crate) fn kubectl(&self) -> Kubectl {
        self.kubectl_at(self.host.port)
    }

    /// Returns the administrator's `kubectl` for another local port.
    pub(crate) fn kubectl_at(&self, port: u16) -> Kubectl {
        let pki = self.host.path("/etc/kubernetes/pki");
        let file = |name: &str| pki.join(name).display().to_string();
        let server = format!("https://127.0.0.1:{port}");
        let user = serde_json::json!({
            "client-certificate": file("admin.crt"), "client-key": file("admin.key"),
        });
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": server, "certificate-authority": file("ca.crt")}}],
            "users": [{"name": "me", "user": user}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        });
        let path = self.host.path(&format!("{port}.kubeconfig"));
        std::fs::write(&path, config.to_string()).unwrap();
        Kubectl::new(&path, self.host.root.path())
    }

    /// Returns the process ID.
    pub(crate) fn pid(&mut self) -> u32 {
        self.process.as_mut().expect("the server runs").child().id()
    }

    /// Requests a path anonymously, like the kubelet's probes.
    pub(crate) fn probe(&self, path: &str) -> String {
        let nobody = "--as=system:anonymous --as-group=system:unauthenticated";
        self.kubectl().run(&format!("get --raw {path} {nobody}"), "").stdout
    }

    /// Allows log lines that contain `pattern`.
    pub(crate) fn allow_log(&mut self, pattern: &str) {
        self.allowed.push(pattern.to_owned());
    }

    /// Stops the server like a service manager.
    pub(crate) fn stop(mut self, limit: Duration) {
        let mut process = self.process.take().unwrap();
        let id = process.child().id().to_string();
        process::run(Command::new("kill").args(["-TERM", &id]), "", limit);
        let ended = process.ended(limit).expect("it ends in time");
        assert_eq!(ended.code(), Some(0), "{ended}");
    }
}

impl Drop for RunningServer<'_> {
    fn drop(&mut self) {
        self.process = None;
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        if std::thread::panicking() {
            eprintln!("{}", self.host.logs());
            return;
        }
        let unexpected = log::unexpected(&log, &self.allowed);
        assert!(unexpected.is_empty(), "the server logged:\n{}", unexpected.join("\n"));
    }
}
