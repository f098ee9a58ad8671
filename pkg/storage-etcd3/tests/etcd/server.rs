//! Real etcd processes on free ports, with their data in a temporary directory; killed and removed when
//! dropped.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use storage::Storage;
use storage_etcd3::{Etcd, Options};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::proxy::Proxy;

/// Result of a start. The error is the logs of the cluster.
type Served = Result<(), String>;

const START_TIMEOUT: Duration = Duration::from_secs(30);
/// A port may be taken between its choice and its use, and a member that failed leaves the others without a
/// quorum.
const START_ATTEMPTS: usize = 3;

/// The etcd executable: the environment variable `ETCD`, otherwise from the fetched tools, otherwise from PATH.
fn program() -> PathBuf {
    if let Some(program) = std::env::var_os("ETCD") {
        return program.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")), PathBuf::from);
    let fetched = target.join("tools/bin/etcd");
    if fetched.exists() {
        return fetched;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join("etcd"))
        .find(|program| program.is_file())
        .expect("these tests need etcd: run tools/fetch-tools.sh (make test does), or put etcd on PATH")
}

/// A free port that is not assigned by chance: it is below the system's range for outgoing connections, and
/// this process never chooses a port twice.
pub(crate) fn free_port() -> u16 {
    const FIRST: u32 = 10_000;
    const COUNT: u32 = 20_000;
    static CHOSEN: AtomicU32 = AtomicU32::new(0);
    // Concurrent test processes start at different ports.
    let begin = std::process::id().wrapping_mul(97);
    let next = || {
        let port = FIRST + begin.wrapping_add(CHOSEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
        u16::try_from(port).unwrap()
    };
    std::iter::repeat_with(next).find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// An etcd server. Killed, not stopped, when dropped.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) client_port: u16,
    pub(crate) peer_port: u16,
    /// Peer URL for the other members.
    peer_url: String,
    dir: PathBuf,
    args: Vec<String>,
    scheme: &'static str,
    child: Option<Child>,
}

impl Server {
    fn new(name: &str, dir: PathBuf, scheme: &'static str, args: &[String]) -> Self {
        let client_port = free_port();
        let peer_port = free_port();
        let peer_url = format!("http://127.0.0.1:{peer_port}");
        let name = name.to_owned();
        Self { name, client_port, peer_port, peer_url, dir, args: args.to_vec(), scheme, child: None }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.client_port)
    }

    /// Starts the process, with the data of an earlier one.
    pub(crate) fn start(&mut self, cluster: &str) {
        let log = std::fs::File::options().create(true).append(true).open(self.dir.join("log")).unwrap();
        let child = Command::new(program())
            .args(["--name", &self.name, "--data-dir"])
            .arg(self.dir.join("data"))
            .args(["--listen-client-urls", &self.url(), "--advertise-client-urls", &self.url()])
            .args(["--listen-peer-urls", &format!("http://127.0.0.1:{}", self.peer_port)])
            .args(["--initial-advertise-peer-urls", &self.peer_url])
            .args(["--initial-cluster", cluster, "--initial-cluster-state", "new"])
            .args(["--heartbeat-interval", "50", "--election-timeout", "500"])
            // Clients of these tests ping often, to detect a frozen connection quickly.
            .args(["--grpc-keepalive-min-time", "100ms"])
            // Only processes are killed here, never the machine, so the page cache keeps the data.
            .args(["--unsafe-no-fsync", "--log-level", "warn"])
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("etcd starts");
        self.child = Some(child);
    }

    /// Pauses (`STOP`) or resumes (`CONT`) the process.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    }

    /// True if it has exited by itself.
    fn ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().unwrap().is_some())
    }

    /// Its exit status, if any, and its log.
    fn state(&mut self) -> String {
        let ended = self.child.as_mut().map(|child| child.try_wait());
        let log = std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        format!("{} {}: {ended:?}\n{log}", self.name, self.url())
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Members and their directory.
pub(crate) struct Cluster {
    pub(crate) members: Vec<Server>,
    /// Options for a direct connection.
    pub(crate) options: Options,
    _dir: TempDir,
}

impl Cluster {
    /// A running cluster of one member.
    pub(crate) async fn single() -> Self {
        Self::start(1, "http", &[], |options| options).await
    }

    /// A running cluster of three members.
    pub(crate) async fn three() -> Self {
        Self::start(3, "http", &[], |options| options).await
    }

    /// A cluster of this size with further arguments; `options` completes the client's options.
    pub(crate) async fn start(
        size: usize,
        scheme: &'static str,
        args: &[String],
        options: impl Fn(Options) -> Options,
    ) -> Self {
        let mut attempts = START_ATTEMPTS;
        loop {
            let mut cluster = Self::stopped(size, scheme, args);
            cluster.options = options(cluster.options);
            attempts -= 1;
            match cluster.start_all().await {
                Ok(()) => return cluster,
                Err(why) => assert!(attempts > 0, "{why}"),
            }
        }
    }

    /// A running cluster of three members that are connected through proxies.
    pub(crate) async fn three_behind_peer_proxies() -> (Self, Vec<Proxy>) {
        let mut attempts = START_ATTEMPTS;
        loop {
            let mut cluster = Self::stopped(3, "http", &[]);
            let mut proxies = Vec::new();
            for member in &mut cluster.members {
                let proxy = Proxy::to(member.peer_port).await;
                member.peer_url = proxy.url();
                proxies.push(proxy);
            }
            attempts -= 1;
            match cluster.start_all().await {
                Ok(()) => return (cluster, proxies),
                Err(why) => assert!(attempts > 0, "{why}"),
            }
        }
    }

    fn stopped(size: usize, scheme: &'static str, args: &[String]) -> Self {
        let dir = TempDir::new().unwrap();
        let member = |n| {
            let member_dir = dir.path().join(format!("m{n}"));
            std::fs::create_dir(&member_dir).unwrap();
            Server::new(&format!("m{n}"), member_dir, scheme, args)
        };
        let members: Vec<Server> = (0..size).map(member).collect();
        let options = Options::new(members.iter().map(Server::url));
        Self { members, options, _dir: dir }
    }

    /// Starts every member. An error contains their logs.
    async fn start_all(&mut self) -> Served {
        for n in 0..self.members.len() {
            self.restart(n);
        }
        self.serving().await
    }

    /// Starts or restarts member `n`.
    pub(crate) fn restart(&mut self, n: usize) {
        let peers: Vec<String> = self.members.iter().map(|m| format!("{}={}", m.name, m.peer_url)).collect();
        self.members[n].start(&peers.join(","));
    }

    /// Waits until every running member serves linearizable reads.
    pub(crate) async fn ready(&mut self) {
        self.serving().await.unwrap();
    }

    async fn serving(&mut self) -> Served {
        let mut options = self.options.clone();
        for n in 0..self.members.len() {
            if self.members[n].child.is_none() {
                continue;
            }
            options.endpoints = vec![self.members[n].url()];
            let store = Etcd::new(options.clone()).await.unwrap();
            let deadline = Instant::now() + START_TIMEOUT;
            while store.healthy().await.is_err() {
                // A member cannot become ready if another one has exited.
                if self.members.iter_mut().any(Server::ended) || Instant::now() > deadline {
                    let logs: Vec<String> = self.members.iter_mut().map(Server::state).collect();
                    return Err(format!("etcd m{n} does not serve:\n{}", logs.join("\n")));
                }
                sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(())
    }

    pub(crate) async fn store(&self) -> Arc<Etcd> {
        Arc::new(Etcd::new(self.options.clone()).await.unwrap())
    }

    pub(crate) async fn leader(&self) -> usize {
        for n in 0..self.members.len() {
            let Ok(mut client) = etcd_client::Client::connect([self.members[n].url()], None).await else {
                continue;
            };
            let Ok(status) = client.status().await else { continue };
            if status.header().is_some_and(|header| header.member_id() == status.leader()) {
                return n;
            }
        }
        panic!("no member leads");
    }

    pub(crate) async fn id(&self, n: usize) -> u64 {
        let mut client = etcd_client::Client::connect([self.members[n].url()], None).await.unwrap();
        client.status().await.unwrap().header().unwrap().member_id()
    }
}

/// A single server, shared by all concurrent tests.
pub(crate) async fn shared() -> Arc<Cluster> {
    static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
    static STARTING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let _one_starts = STARTING.lock().await;
    let running = SHARED.lock().unwrap().upgrade();
    match running {
        Some(cluster) => cluster,
        None => {
            let cluster = Arc::new(Cluster::single().await);
            *SHARED.lock().unwrap() = Arc::downgrade(&cluster);
            cluster
        }
    }
}
