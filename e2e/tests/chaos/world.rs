//! Test environment: the servers, their store, the balancer, and the networks between them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use e2e::{Balancer, EtcdCluster, Network, Proxy, Server, process};
use kube::config::Kubeconfig;
use kube::{Client, Config};
use tempfile::TempDir;
use tokio::task::block_in_place;

pub(super) const SERVERS: usize = 3;
const READY_MAX: Duration = Duration::from_secs(90);
const STOP_MAX: Duration = Duration::from_secs(60);
/// Interval of the balancer's health checks. Two failures mark a server as down.
const CHECK: Duration = Duration::from_millis(500);

pub(super) struct World {
    pub(super) servers: Vec<Server>,
    pub(super) etcd: EtcdCluster,
    balancer: Balancer,
    links: Vec<Links>,
    config: Config,
    dir: TempDir,
}

/// The networks of a server, each a proxy.
struct Links {
    /// From the balancer.
    front: Proxy,
    /// To each etcd member.
    etcd: Vec<Proxy>,
}

impl World {
    pub(super) async fn start() -> Self {
        let etcd = block_in_place(EtcdCluster::start);
        let dir = TempDir::new().unwrap();
        // All servers share one CA and one administrator.
        let flags = [
            format!("--cert-dir={}", dir.path().display()),
            // The balancer's health checks are anonymous, which RBAC allows.
            "--authorization-mode=Node,RBAC".to_owned(),
            "--etcd-compaction-interval=0".to_owned(),
            // Longer than two checks.
            "--shutdown-delay-duration=3s".to_owned(),
            "--shutdown-send-retry-after=true".to_owned(),
            "--shutdown-watch-termination-grace-period=5s".to_owned(),
        ];
        let mut servers: Vec<Server> = Vec::new();
        let mut links: Vec<Links> = Vec::new();
        for _ in 0..SERVERS {
            let mut to_etcd = Vec::new();
            for port in etcd.ports() {
                to_etcd.push(Proxy::start(port).await);
            }
            let urls = to_etcd.iter().map(Proxy::url).collect::<Vec<_>>().join(",");
            let server = block_in_place(|| Server::start_on_flagged(&urls, &flags));
            links.push(Links { front: Proxy::start(server.port()).await, etcd: to_etcd });
            servers.push(server);
        }
        for server in &servers {
            // Log lines are expected when the store or other servers fail; panics are not.
            server.allow_log("] \"");
        }
        let mut config = servers[0].client_config().await;
        let ports = std::array::from_fn(|n| links[n].front.port());
        let balancer = Balancer::start(ports, CHECK);
        block_in_place(|| balancer.all_ready(READY_MAX));
        config.cluster_url = address(&balancer).parse().unwrap();
        World { servers, etcd, balancer, links, config, dir }
    }

    /// Returns a client with its own connection through the balancer.
    pub(super) fn client(&self) -> Client {
        Client::try_from(self.config.clone()).unwrap()
    }

    /// Writes an admin kubeconfig with the balancer's address.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        let mut config = Kubeconfig::read_from(self.servers[0].kubeconfig()).unwrap();
        config.clusters[0].cluster.as_mut().unwrap().server = Some(address(&self.balancer));
        let path = self.path("balancer.kubeconfig");
        std::fs::write(&path, serde_json::to_string(&config).unwrap()).unwrap();
        path
    }

    /// Returns the path of a file of this run.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        Path::join(self.dir.path(), name)
    }

    /// Waits until every server is ready.
    pub(super) fn settle(&self) {
        block_in_place(|| {
            self.etcd.wait();
            self.balancer.all_ready(READY_MAX);
        });
    }

    /// Terminates a server gracefully and restarts it.
    pub(super) fn restart(&mut self, n: usize) {
        block_in_place(|| {
            let status = self.servers[n].terminate(STOP_MAX);
            assert!(status.success(), "{status}");
            self.servers[n].restart();
        });
    }

    pub(super) fn kill(&mut self, n: usize) {
        block_in_place(|| self.servers[n].kill());
    }

    pub(super) fn start_again(&mut self, n: usize) {
        block_in_place(|| self.servers[n].restart());
    }

    /// Sets the network condition between the balancer and a server.
    pub(super) fn front(&self, server: usize, network: Network) {
        self.links[server].front.set(network);
    }

    /// Sets the network condition between a server and an etcd member.
    pub(super) fn between(&self, server: usize, member: usize, network: Network) {
        self.links[server].etcd[member].set(network);
    }

    /// Blackholes a server's connections to all etcd members permanently; new ones work.
    pub(super) fn forget(&self, server: usize) {
        self.links[server].etcd.iter().for_each(Proxy::forget);
    }

    pub(super) fn signal(&mut self, n: usize, signal: &str) {
        process::signal(self.servers[n].pid(), signal);
    }
}

fn address(balancer: &Balancer) -> String {
    format!("https://127.0.0.1:{}", balancer.port())
}
