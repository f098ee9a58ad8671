//! Coordinated leader election (upstream's `controller/leaderelection`, KEP-4355). Components request a lease
//! with a LeaseCandidate, and one server of the cluster assigns the leases.
//!
//! Every server watches candidates and leases. The server that holds the controller's own lease ([`lock`])
//! processes changed leases step by step ([`election`]): it pings the candidates, then assigns the lease to
//! the best candidate that responded. All state is in these objects, so another server can continue after a
//! failure. Writes are ordinary requests to this server, so that admission policies apply to them.

mod election;
mod lock;
mod metrics;
mod projection;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ::api::catalog::Catalog;
use ::api::resources::{self, Handle};
use component_base::clock::Clock;
use component_base::metrics::MetricsRegistry;
use futures::future::{BoxFuture, join};
use registry::client::{Client, ReadFreshness};
use registry::informer::{Informer, InformerTask};
use registry::{Registry, meta};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::hook::{self, PostStartHook, start_event};
use crate::loopback_client::{LoopbackClient, RequestError};
use crate::tasks::{self, Tasks};
use election::ElectionError;
use election::{Candidate, Lease, Step, assigned_lease, pinged_candidate, step};
use lock::Lock;
use metrics::LeaderElectionMetrics;
use projection::{ElectionProjection, Name};

/// Upstream's name of the controller, its queue and its lease.
const NAME: &str = "leader-election-controller";
const GROUP: &str = "coordination.k8s.io";
/// The versions of LeaseCandidates, in order of preference.
const VERSIONS: [&str; 2] = ["v1beta1", "v1alpha2"];
/// Interval of checks for unchanged leases.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum additional delay between acquisition attempts, as a multiple of the retry period.
const JITTER: f64 = 1.2;

/// Timing of the election of the leader election coordinator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeadershipTimes {
    /// `--coordinated-leadership-lease-duration`: time until other servers replace an unresponsive leader.
    pub lease_duration: Duration,
    /// `--coordinated-leadership-renew-deadline`: time in which a leader tries to renew its lease. Shorter
    /// than `lease_duration`.
    pub renew_deadline: Duration,
    /// `--coordinated-leadership-retry-period`: delay between attempts. Shorter than `renew_deadline`.
    pub retry_period: Duration,
}

impl Default for LeadershipTimes {
    fn default() -> Self {
        let [lease_duration, renew_deadline, retry_period] = [15, 10, 2].map(Duration::from_secs);
        LeadershipTimes { lease_duration, renew_deadline, retry_period }
    }
}

/// Options of this server in the election.
pub struct ElectionOptions {
    /// Writes of the election go through this server's own API.
    pub client: LoopbackClient,
    pub times: LeadershipTimes,
    /// Differs for every process.
    pub identity: String,
    pub clock: Arc<dyn Clock>,
}

/// The leader election controller.
pub struct LeaderElection {
    client: LoopbackClient,
    informer: Informer<ElectionProjection>,
    candidates: Client,
    /// The served API version of LeaseCandidates.
    version: &'static str,
    times: LeadershipTimes,
    clock: Arc<dyn Clock>,
    identity: String,
    metrics: Arc<LeaderElectionMetrics>,
    /// Metrics of the lease queue.
    queue: Arc<tasks::QueueMetrics>,
    /// Shutdown signal, and the signal that the lease was released.
    stop: (CancellationToken, CancellationToken),
}

/// Background task and shutdown task.
pub struct Election {
    pub run: BoxFuture<'static, ()>,
    pub shutdown: BoxFuture<'static, ()>,
    pub hook: PostStartHook,
}

/// Error of an attempt to elect the leader of a lease.
#[derive(Debug, thiserror::Error)]
enum ElectionAttemptError {
    #[error(transparent)]
    Election(#[from] ElectionError),
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl LeaderElection {
    /// Creates the controller for a registry; `client` sends its writes. `None` if no version of
    /// LeaseCandidates is served.
    ///
    /// # Errors
    /// Leases are not served.
    pub fn for_registry(
        registry: &Registry,
        catalog: &Catalog,
        tasks: &Tasks,
        options: ElectionOptions,
        metrics: &MetricsRegistry,
    ) -> Result<Option<Election>, Error> {
        let ElectionOptions { client, times, identity, clock } = options;
        let row = |version| Some((version, resources::find(GROUP, version, "leasecandidates", "")?));
        let served = VERSIONS.into_iter().filter_map(row).find(|(_, row)| catalog.serves(row));
        let Some((version, row)) = served else {
            tracing::warn!("leaders are not coordinated: no version of leasecandidates is served");
            return Ok(None);
        };
        let leases =
            resources::find(GROUP, "v1", "leases", "").ok_or(Error::Missing("leases are not known"))?;
        let rows = [row, leases].map(Handle::from).to_vec();
        let (informer, following) = Informer::new(registry, "leader election", rows);
        let stop = (CancellationToken::new(), CancellationToken::new());
        let election = LeaderElection {
            client,
            informer: informer.clone(),
            candidates: Client::of(registry, row),
            version,
            times,
            clock,
            identity,
            metrics: Arc::new(LeaderElectionMetrics::new(metrics)),
            queue: tasks.metrics(NAME),
            stop: stop.clone(),
        };
        let shutdown = Box::pin(async move {
            stop.0.cancel();
            if timeout(times.renew_deadline, stop.1.cancelled()).await.is_err() {
                tracing::warn!("the lease of the leader election was not given up in time");
            }
        });
        let informer_ready = start_event(async move { informer.ready().await });
        let hook = hook::hook("start-kube-apiserver-coordinated-leader-election-controller", informer_ready);
        Ok(Some(Election { run: Box::pin(election.run(following)), shutdown, hook }))
    }

    async fn run(self, task: InformerTask<ElectionProjection>) {
        let terms = async {
            self.stop.0.run_until_cancelled(self.informer.ready()).await;
            while !self.stop.0.is_cancelled() {
                self.run_term().await;
                self.stop.0.run_until_cancelled(sleep(self.times.retry_period)).await;
            }
            self.stop.1.cancel();
        };
        join(task.run(), terms).await;
    }

    /// Waits for leadership, processes leases while it leads, and releases the lease.
    async fn run_term(&self) {
        let client = self.client.clone();
        let identity = self.identity.clone();
        let mut lock = Lock::new(client, identity, self.times.lease_duration, Arc::clone(&self.metrics));
        if self.stop.0.run_until_cancelled(self.acquire(&mut lock)).await.is_some() {
            tracing::info!(identity = self.identity, "leads the election of leaders");
            self.metrics.set_leader(true);
            tokio::select! {
                () = self.renew_until_lost(&mut lock) => {}
                () = self.decide() => {}
                () = self.stop.0.cancelled() => {}
            }
            self.metrics.set_leader(false);
            tracing::info!("leads the election of leaders no more");
        }
        // The lease may belong to this server even if the acquisition returned an error.
        let release = timeout(self.times.renew_deadline, lock.release(self.clock.now()));
        if let Ok(Err(refused)) = release.await {
            tracing::warn!(%refused, "the lease of the leader election was not given up");
        }
    }

    async fn acquire(&self, lock: &mut Lock) {
        loop {
            match lock.try_acquire_or_renew(self.clock.now()).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(refused) => tracing::debug!(%refused, "the lease of the leader election"),
            }
            sleep(self.times.retry_period.mul_f64(1.0 + rand::random_range(0.0..JITTER))).await;
        }
    }

    /// Renews the lease until that fails.
    async fn renew_until_lost(&self, lock: &mut Lock) {
        let mut renewed = Instant::now();
        loop {
            sleep(self.times.retry_period).await;
            let remaining = self.times.renew_deadline.saturating_sub(renewed.elapsed());
            match timeout(remaining, lock.try_acquire_or_renew(self.clock.now())).await {
                Ok(Ok(true)) => {
                    renewed = Instant::now();
                    continue;
                }
                // Another server holds it.
                Ok(Ok(false)) => {}
                Ok(Err(refused)) => tracing::debug!(%refused, "the lease of the leader election"),
                Err(_) => {}
            }
            if renewed.elapsed() >= self.times.renew_deadline {
                return;
            }
        }
    }

    /// Processes changed leases, and periodically all leases.
    async fn decide(&self) {
        let mut last_change = 0;
        let mut due = Instant::now();
        let mut failed = BTreeSet::new();
        loop {
            let candidates = self.informer.snapshot();
            let all = Instant::now() >= due;
            let leases = candidates
                .leases_with_candidates()
                .filter(|name| all || candidates.has_changed_since(name, last_change));
            failed = self.process_leases(&candidates, leases.collect(), &failed).await;
            self.remove_expired(&candidates).await;
            last_change = candidates.changes();
            drop(candidates);
            if all {
                due = Instant::now() + RECHECK_INTERVAL;
            }
            tokio::select! {
                () = self.informer.wait_for(|candidates| candidates.changes() != last_change) => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Processes leases in turn. `failed` contains earlier failures. Returns the new failures.
    async fn process_leases(
        &self,
        projection: &ElectionProjection,
        names: Vec<&Name>,
        failed: &BTreeSet<Name>,
    ) -> BTreeSet<Name> {
        let due = Instant::now();
        let mut fail = BTreeSet::new();
        for (done, name) in names.iter().enumerate() {
            self.queue.waiting(names.len() - done - 1);
            let result =
                self.queue.observed(due, failed.contains(name), self.process_lease(projection, name)).await;
            if let Err(error) = result {
                tracing::warn!(lease = %name, %error, "no leader is elected yet");
                fail.insert((*name).clone());
            }
        }
        fail
    }

    async fn process_lease(
        &self,
        projection: &ElectionProjection,
        name: &Name,
    ) -> Result<(), ElectionAttemptError> {
        let lease = projection.lease(name).as_ref().map(Lease::of);
        let candidates: Vec<Candidate> = projection.candidates(name).cloned().collect();
        let now = self.clock.now();
        match step(lease.as_ref(), &candidates, now)? {
            Step::Wait => Ok(()),
            Step::Ping(names) => {
                let pings = names.iter().map(|candidate| self.ping(&name.namespace, candidate));
                let results = futures::future::join_all(pings).await;
                Ok(results.into_iter().collect::<Result<(), RequestError>>()?)
            }
            Step::Assign(elected) => Ok(self.assign(name, &elected).await?),
        }
    }

    async fn ping(&self, namespace: &str, candidate: &str) -> Result<(), RequestError> {
        let path =
            format!("/apis/{GROUP}/{}/namespaces/{namespace}/leasecandidates/{candidate}", self.version);
        let Some(current) = self.client.get(&path).await? else { return Ok(()) };
        self.client.update(&path, &pinged_candidate(&current, self.clock.now())).await.map(drop)
    }

    async fn assign(&self, name: &Name, elected: &election::ElectionResult) -> Result<(), RequestError> {
        let leases = format!("/apis/{GROUP}/v1/namespaces/{}/leases", name.namespace);
        let path = format!("{leases}/{}", name.lease);
        let current = self.client.get(&path).await?;
        let Some(lease) =
            assigned_lease(current.as_ref(), &name.namespace, &name.lease, elected, self.clock.now())
        else {
            return Ok(());
        };
        tracing::info!(lease = %name, holder = elected.holder, strategy = elected.strategy, "a leader is elected");
        match current {
            None => self.client.create(&leases, &lease).await.map(drop),
            Some(_) => self.client.update(&path, &lease).await.map(drop),
        }
    }

    /// Removes expired candidates.
    async fn remove_expired(&self, projection: &ElectionProjection) {
        let now = self.clock.now();
        for (namespace, name) in projection.expired_candidates(now) {
            // The cached object may be stale.
            let current = self.candidates.get(namespace, name, ReadFreshness::Latest).await;
            let current = current.ok().flatten().filter(|current| Candidate::of(current).has_expired(now));
            let Some(current) = current else { continue };
            match self.candidates.delete_exact(&current).await {
                Ok(_) => tracing::info!(namespace, name, "removed a lease candidate that expired"),
                Err(status) => {
                    let error = &status.message;
                    tracing::debug!(
                        namespace,
                        name = meta::text(&current, "name"),
                        error,
                        "a lease candidate"
                    );
                }
            }
        }
    }
}
