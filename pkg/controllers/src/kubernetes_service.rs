//! The Service `default/kubernetes`, by which members of the cluster reach its API servers, and who is behind
//! it (upstream's `controller/kubernetesservice`, `reconcilers/lease.go` and `reconcilers/instancecount.go`).
//!
//! Every server renews a lease in the store under its address while it is ready, and makes Endpoints and
//! EndpointSlice say what leases there are. A server that stops takes its lease and its address away; the
//! lease of one that dies runs out, and the others notice. With `--endpoint-reconciler-type=master-count`
//! there are no leases: every server adds its address, and removes others if there are too many.

mod endpoints;
mod leases;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::resources::Resource;
use jsontree::json;
use registry::client::{Client, DesiredState, Read};
use registry::{Registry, meta};
use schema::object::Object;
use storage::Storage;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::cidr::Cidr;
use crate::desired::{missing, object};
use crate::hook::PostStartHook;
use crate::tasks::{First, Rounds, Tasks};
use endpoints::{Ports, SliceChange};
use leases::Leases;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
/// The port of the Service.
const SERVICE_PORT: u16 = 443;
/// Upstream's `DefaultEndpointReconcilerInterval`: a lease lives for one and a half of it.
const ROUNDS: Rounds = Rounds {
    what: "kubernetes service",
    period: Duration::from_secs(10),
    jitter: 0.04,
    first: First::WhenReady,
};
/// How long a server that stops may take to leave, as upstream.
const LEAVE_MAX: Duration = Duration::from_secs(20);

/// Keeps the Service and its endpoints.
pub struct KubernetesService {
    service: Object,
    services: Client,
    /// `None` where somebody else says who is behind it (`--endpoint-reconciler-type=none`).
    membership: Option<Membership>,
}

/// How the endpoints of the `kubernetes` Service come to name this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointReconciler {
    /// Servers hold leases in the store; whoever holds one is an endpoint.
    Lease,
    /// Every server adds itself, and removes others while there are more than `--apiserver-count`, which
    /// is at least 1. Deprecated upstream: the address of a server that dies stays.
    MasterCount(usize),
    /// Somebody else writes the endpoints.
    None,
}

/// The address of this server and its part in the Service.
pub struct KubernetesServiceOptions {
    /// Where members of the cluster reach this server.
    pub address: IpAddr,
    pub port: u16,
    /// The first range of Service addresses.
    pub service_range: Option<Cidr>,
    /// A port on every node; 0 for none.
    pub node_port: u16,
    pub reconciler: EndpointReconciler,
    /// The prefix of all keys in the store.
    pub prefix: String,
}

/// Who is behind the Service.
enum Rule {
    /// Whoever holds a lease.
    Leases(Leases),
    /// Whoever has added himself, up to this many.
    Count(usize),
}

/// This server among those behind the Service.
struct Membership {
    address: IpAddr,
    port: u16,
    rule: Rule,
    endpoints: Client,
    slices: Client,
    /// Whether this server has left for good; held while anything is written.
    left: Mutex<bool>,
}

impl KubernetesService {
    /// A keeper for a server that listens and advertises as configured.
    ///
    /// # Errors
    /// One of the kinds is not served.
    pub fn new(
        options: KubernetesServiceOptions,
        registry: &Registry,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, String> {
        let KubernetesServiceOptions { address, port, service_range, node_port, reconciler, prefix } =
            options;
        let services = Client::find(registry, "", "services")?;
        let primary = service_range.ok_or("there is no range of service addresses")?;
        let service = service(primary.first_host(), port, node_port);
        let rule = match reconciler {
            EndpointReconciler::Lease => Some(Rule::Leases(Leases::new(storage, &prefix)?)),
            EndpointReconciler::MasterCount(count) => Some(Rule::Count(count)),
            EndpointReconciler::None => None,
        };
        let member = |rule| -> Result<Membership, String> {
            Ok(Membership {
                address,
                port,
                rule,
                endpoints: Client::find(registry, "", "endpoints")?,
                slices: Client::find(registry, "discovery.k8s.io", "endpointslices")?,
                left: Mutex::new(false),
            })
        };
        let membership = rule.map(member).transpose()?;
        Ok(KubernetesService { service, services, membership })
    }

    /// Takes away what an earlier process with this address left behind: this one is not ready yet. Once it
    /// is, it joins and stays.
    pub fn hook(self: &Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let (service, tasks) = (Arc::clone(self), tasks.clone());
        let work = Box::pin(async move {
            if let Some(membership) = &service.membership {
                membership.withdraw().await;
            }
            tasks.spawn(ROUNDS, move || {
                let service = Arc::clone(&service);
                async move { service.sync().await }
            });
            Ok(())
        });
        PostStartHook { name: "bootstrap-controller", work }
    }

    /// Takes this server away from behind the Service.
    pub async fn leave(&self) {
        let Some(membership) = &self.membership else { return };
        match timeout(LEAVE_MAX, membership.leave()).await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => tracing::warn!(reason, "this server is still behind the kubernetes Service"),
            Err(_) => tracing::warn!("this server did not leave the kubernetes Service in time"),
        }
    }

    /// One round. The Service is created when it is missing, and is its administrator's afterwards.
    async fn sync(&self) -> Result<(), String> {
        let kept = self.services.reconcile(NAMESPACE, NAME, &|current| missing(current, &self.service)).await;
        kept.map_err(|status| status.message)?;
        match &self.membership {
            Some(membership) => membership.renew().await,
            None => Ok(()),
        }
    }
}

impl Membership {
    /// Sees to it that this server is an endpoint. Its lease is renewed whatever becomes of the endpoints:
    /// other servers can still add this one then.
    async fn renew(&self) -> Result<(), String> {
        let left = self.left.lock().await;
        if *left {
            return Ok(());
        }
        match &self.rule {
            Rule::Leases(leases) => {
                leases.renew(self.address).await.map_err(|error| error.to_string())?;
                self.reconcile(leases, Ports::AsTheyAre, false).await
            }
            Rule::Count(count) => {
                let joined = |current: Option<&Object>| {
                    endpoints::with_address(current, self.address, self.port, *count)
                };
                self.write(&joined).await
            }
        }
    }

    /// Takes away what an earlier process with this address left behind.
    async fn withdraw(&self) {
        let _left = self.left.lock().await;
        let removed = match &self.rule {
            Rule::Count(_) => self.remove_address().await,
            Rule::Leases(leases) => match leases.remove(self.address).await {
                Ok(false) => Ok(()),
                Ok(true) => {
                    tracing::info!(address = %self.address, "an earlier server was still behind the kubernetes Service");
                    // Where it was the only one, its endpoints stay until this server replaces them.
                    if let Err(reason) = self.reconcile(leases, Ports::Ours, false).await {
                        tracing::info!(reason, "an earlier server is still among the endpoints");
                    }
                    Ok(())
                }
                Err(error) => Err(error.to_string()),
            },
        };
        if let Err(reason) = removed {
            tracing::warn!(reason, "an earlier server may still be among the endpoints");
        }
    }

    async fn leave(&self) -> Result<(), String> {
        let mut left = self.left.lock().await;
        *left = true;
        let leases = match &self.rule {
            Rule::Leases(leases) => leases,
            Rule::Count(_) => return self.remove_address().await,
        };
        match leases.remove(self.address).await {
            Ok(true) => self.reconcile(leases, Ports::Ours, true).await,
            // Never joined, or expired meanwhile: the others know.
            Ok(false) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Takes this server's address out of the endpoints.
    async fn remove_address(&self) -> Result<(), String> {
        self.write(&|current| endpoints::without_address(current?, self.address)).await
    }

    /// Makes the endpoints say what leases there are.
    async fn reconcile(&self, leases: &Leases, ports: Ports, leaving: bool) -> Result<(), String> {
        let addresses = leases.list().await.map_err(|error| error.to_string())?;
        if addresses.is_empty() && !leaving {
            return Err(
                "no API server IP addresses were listed in storage, refusing to erase all endpoints \
                        for the kubernetes Service"
                    .to_owned(),
            );
        }
        let wanted = |current: Option<&Object>| match current {
            None if leaving => None,
            current => endpoints::endpoints(current, &addresses, self.port, ports),
        };
        self.write(&wanted).await
    }

    /// Writes the endpoints if anything else is wanted, and the slice that says the same.
    async fn write(&self, wanted: &DesiredState<'_>) -> Result<(), String> {
        let kept =
            self.endpoints.reconcile(NAMESPACE, NAME, wanted).await.map_err(|status| status.message)?;
        if kept.written {
            tracing::info!("the servers behind the kubernetes Service have changed");
        }
        let Some(endpoints) = kept.object else { return Ok(()) };
        let slice = endpoints::slice(&endpoints);
        keep_slice(&self.slices, &slice).await.map_err(|status| status.message)
    }
}

/// A slice of another family is replaced: the type of its addresses cannot be changed.
async fn keep_slice(slices: &Client, slice: &Object) -> registry::Result<()> {
    let row: &Resource = slices.row();
    let current = slices.get(NAMESPACE, NAME, Read::Cached).await?;
    if let Some(current) = &current
        && endpoints::slice_change(row, Some(current), slice) == SliceChange::Replace
    {
        slices.delete_exact(current).await?;
    }
    let wanted = |current: Option<&Object>| match endpoints::slice_change(row, current, slice) {
        SliceChange::Write(slice) => Some(slice),
        SliceChange::None | SliceChange::Replace => None,
    };
    slices.reconcile(NAMESPACE, NAME, &wanted).await.map(drop)
}

/// The Service, with an address that is not for anyone else.
fn service(address: IpAddr, target_port: u16, node_port: u16) -> Object {
    let mut port =
        json!({"name": "https", "protocol": "TCP", "port": SERVICE_PORT, "targetPort": target_port});
    let mut kind = "ClusterIP";
    if node_port > 0 {
        port["nodePort"] = node_port.into();
        kind = "NodePort";
    }
    let mut service = object(json!({
        "metadata": {"labels": {"provider": "kubernetes", "component": "apiserver"}},
        "spec": {
            "ports": [port],
            "clusterIP": address.to_string(),
            "ipFamilyPolicy": "SingleStack",
            "sessionAffinity": "None",
            "type": kind,
        },
    }));
    meta::set_text(&mut service, "name", NAME);
    meta::set_text(&mut service, "namespace", NAMESPACE);
    service
}
