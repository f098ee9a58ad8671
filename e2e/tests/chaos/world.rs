//! The servers, their store, the balancer before them, and the networks in between.

use std::collections::HashMap;
use std::time::Duration;

use e2e::{Balancer, EtcdCluster, Health, Network, Proxy, Server, process};
use kube::{Client, Config};
use tempfile::TempDir;
use tokio::task::block_in_place;

const SERVERS: usize = 3;
const READY_MAX: Duration = Duration::from_secs(90);
const STOP_MAX: Duration = Duration::from_secs(60);

pub(super) struct World {
    pub(super) servers: Vec<Server>,
    pub(super) etcd: EtcdCluster,
    pub(super) balancer: Balancer,
    links: Vec<Links>,
    config: Config,
    _dir: TempDir,
}

/// The ways between a server and everybody else. Each ends with a proxy.
struct Links {
    /// From the balancer.
    front: Proxy,
    /// To each member of etcd.
    etcd: Vec<Proxy>,
}

impl World {
    pub(super) async fn start() -> Self {
        let etcd = block_in_place(EtcdCluster::start);
        let dir = TempDir::new().unwrap();
        // One authority and one administrator for all of them.
        let flags = [
            format!("--cert-dir={}", dir.path().display()),
            "--etcd-compaction-interval=0".to_owned(),
            "--shutdown-delay-duration=2s".to_owned(),
            "--shutdown-send-retry-after=true".to_owned(),
            "--shutdown-watch-termination-grace-period=5s".to_owned(),
        ];
        let (mut servers, mut links): (Vec<Server>, Vec<Links>) = (Vec::new(), Vec::new());
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
            // What is expected of it when its store or its neighbours fail. Panics are not.
            server.allow_log("] \"");
        }
        let config = servers[0].client_config().await;
        let ports: Vec<u16> = links.iter().map(|links| links.front.port()).collect();
        let clients: HashMap<u16, Client> =
            ports.iter().map(|port| (*port, Client::try_from(at(&config, *port)).unwrap())).collect();
        let balancer = Balancer::start(ports, move |port| health(clients[&port].clone())).await;
        balancer.all_ready(READY_MAX).await;
        World { servers, etcd, balancer, links, config, _dir: dir }
    }

    /// A client with a connection of its own through the balancer.
    pub(super) fn client(&self) -> Client {
        Client::try_from(at(&self.config, self.balancer.port())).unwrap()
    }

    /// Waits until every server is ready.
    pub(super) async fn settle(&self) {
        block_in_place(|| self.etcd.wait());
        self.balancer.all_ready(READY_MAX).await;
    }

    /// Ends a server in an orderly way, and starts it again.
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

    /// Makes the network between the balancer and a server what it is from now on.
    pub(super) fn front(&self, server: usize, network: Network) {
        self.links[server].front.set(network);
    }

    /// Makes the network between a server and a member of etcd what it is from now on.
    pub(super) fn between(&self, server: usize, member: usize, network: Network) {
        self.links[server].etcd[member].set(network);
    }

    /// Lets the connections of a server to all members of etcd fall silent for good; new ones are served.
    pub(super) fn forget(&self, server: usize) {
        self.links[server].etcd.iter().for_each(Proxy::forget);
    }

    pub(super) fn signal(&mut self, n: usize, signal: &str) {
        process::signal(self.servers[n].pid(), signal);
    }
}

fn at(config: &Config, port: u16) -> Config {
    let mut config = config.clone();
    config.cluster_url = format!("https://127.0.0.1:{port}").parse().unwrap();
    config
}

async fn health(client: Client) -> Health {
    let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Ok(_) => Health::Ready,
        Err(kube::Error::Api(_)) => Health::Leaving,
        Err(_) => Health::Gone,
    }
}
