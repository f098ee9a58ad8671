//! A load balancer as simple as they come: TCP, turn by turn, away from servers that are not ready. The
//! connections of a server that does not answer at all are cut, those of one that says it goes down are left
//! to it.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// Between two checks of a server, and how long one may take.
const CHECK_EVERY: Duration = Duration::from_millis(200);
const CHECK_MAX: Duration = Duration::from_secs(2);

/// How a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// It wants connections.
    Ready,
    /// It wants no more of them.
    Leaving,
    /// It does not answer.
    Gone,
}

/// A balancer that listens on 127.0.0.1 until it is dropped.
pub struct Balancer {
    port: u16,
    health: Vec<watch::Sender<Health>>,
    _tasks: JoinSet<()>,
}

impl Balancer {
    /// Starts one before servers on these ports; `check` says how the one on a port is.
    ///
    /// # Panics
    /// When it cannot listen.
    pub async fn start<F>(ports: Vec<u16>, check: impl Fn(u16) -> F + Clone + Send + 'static) -> Self
    where
        F: Future<Output = Health> + Send + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let port = listener.local_addr().expect("a socket that listens has an address").port();
        let health: Vec<_> = ports.iter().map(|_| watch::Sender::new(Health::Gone)).collect();
        let mut tasks = JoinSet::new();
        for (backend, sender) in ports.iter().copied().zip(health.iter().cloned()) {
            let checks = keep_checking(backend, sender, check.clone());
            tasks.spawn(checks);
        }
        tasks.spawn(accept(listener, ports, health.clone()));
        Balancer { port, health, _tasks: tasks }
    }

    /// Where clients find it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until every server is ready.
    ///
    /// # Panics
    /// When that takes longer than `limit`.
    pub async fn all_ready(&self, limit: Duration) {
        for health in &self.health {
            let mut health = health.subscribe();
            let ready = timeout(limit, health.wait_for(|health| *health == Health::Ready)).await;
            assert!(ready.is_ok(), "a server does not become ready");
        }
    }
}

async fn keep_checking<F: Future<Output = Health>>(
    port: u16,
    health: watch::Sender<Health>,
    check: impl Fn(u16) -> F,
) {
    loop {
        let now = timeout(CHECK_MAX, check(port)).await.unwrap_or(Health::Gone);
        health.send_if_modified(|health| std::mem::replace(health, now) != now);
        sleep(CHECK_EVERY).await;
    }
}

async fn accept(listener: TcpListener, ports: Vec<u16>, health: Vec<watch::Sender<Health>>) {
    let (mut connections, turn) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        let (ports, health, turn) = (ports.clone(), health.clone(), turn.clone());
        connections.spawn(async move {
            for _ in 0..ports.len() {
                let n = turn.fetch_add(1, Ordering::Relaxed) % ports.len();
                if *health[n].borrow() == Health::Ready
                    && let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, ports[n])).await
                {
                    return pass(client, server, health[n].subscribe()).await;
                }
            }
        });
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, mut health: watch::Receiver<Health>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    tokio::select! {
        _ = copy_bidirectional(&mut client, &mut server) => {}
        _ = health.wait_for(|health| *health == Health::Gone) => {}
    }
}
