//! The Service `default/kubernetes`, which routes cluster members to the API servers, and its endpoints
//! (upstream's `controller/kubernetesservice`, `reconcilers/lease.go` and `reconcilers/instancecount.go`).
//!
//! While a server is ready, it renews a lease for its address in the store, and reconciles Endpoints and
//! EndpointSlice with the existing leases. A server removes its lease and address at shutdown. The lease of a
//! crashed server expires, and the others update the endpoints. With
//! `--endpoint-reconciler-type=master-count` there are no leases: every server adds its address and removes
//! others if there are too many.

mod endpoints;
mod leases;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::resources::Resource;
use jsontree::json;
use registry::client::{Client, DesiredState, ReadFreshness};
use registry::{Registry, meta};
use schema::object::Object;
use storage::Storage;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::cidr::Cidr;
use crate::desired_state::{create_if_missing, object};
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::tasks::{FirstRound, Schedule, Tasks};
use endpoints::{Ports, SliceChange};
use leases::Leases;

const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";
const SERVICE_PORT: u16 = 443;
/// Interval of reconciliation (upstream's `DefaultEndpointReconcilerInterval`). A lease lives one and a half
/// intervals.
const RECONCILE_SCHEDULE: Schedule = Schedule {
    name: "kubernetes service",
    period: Duration::from_secs(10),
    jitter: 0.04,
    first: FirstRound::WhenReady,
};
/// Timeout of the removal at shutdown, as in upstream.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(20);

/// Reconciles the Service and its endpoints.
pub struct KubernetesService {
    service: Object,
    services: Client,
    /// `None` if this server does not manage endpoints (`--endpoint-reconciler-type=none`).
    membership: Option<Membership>,
}

/// Strategy for this server's entry in the endpoints of the `kubernetes` Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndpointReconciler {
    /// Servers hold leases in the store; each lease is an endpoint.
    Lease,
    /// Every server adds itself, and removes others while there are more than `--apiserver-count`, which is
    /// at least 1. Deprecated upstream, because the address of a failed server remains.
    MasterCount(usize),
    /// This server does not write the endpoints.
    None,
}

/// The address of this server and its part in the Service.
pub struct KubernetesServiceOptions {
    /// Addresses at which members of the cluster reach this server.
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

/// Source of the endpoints.
enum EndpointSource {
    /// All lease holders.
    Leases(Leases),
    /// All servers that have added themselves, up to this number.
    Count(usize),
}

/// This server's endpoint of the Service.
struct Membership {
    address: IpAddr,
    port: u16,
    rule: EndpointSource,
    endpoints: Client,
    slices: Client,
    /// True after the removal at shutdown. Locked during writes.
    removed: Mutex<bool>,
}

impl KubernetesService {
    /// Creates the reconciler for the configured listening and advertised addresses.
    ///
    /// # Errors
    /// A required kind is not served.
    pub fn new(
        options: KubernetesServiceOptions,
        registry: &Registry,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, Error> {
        let KubernetesServiceOptions { address, port, service_range, node_port, reconciler, prefix } =
            options;
        let services = Client::find(registry, "", "services")?;
        let primary = service_range.ok_or(Error::Missing("there is no range of service addresses"))?;
        let service = service(primary.first_host(), port, node_port);
        let rule = match reconciler {
            EndpointReconciler::Lease => Some(EndpointSource::Leases(Leases::new(storage, &prefix)?)),
            EndpointReconciler::MasterCount(count) => Some(EndpointSource::Count(count)),
            EndpointReconciler::None => None,
        };
        let member = |rule| -> Result<Membership, Error> {
            Ok(Membership {
                address,
                port,
                rule,
                endpoints: Client::find(registry, "", "endpoints")?,
                slices: Client::find(registry, "discovery.k8s.io", "endpointslices")?,
                removed: Mutex::new(false),
            })
        };
        let membership = rule.map(member).transpose()?;
        Ok(KubernetesService { service, services, membership })
    }

    /// Removes the endpoint of an earlier process with this address, because this server is not ready yet.
    /// Once ready, it adds and maintains its endpoint.
    pub fn hook(self: &Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let service = Arc::clone(self);
        let tasks = tasks.clone();
        let work = Box::pin(async move {
            if let Some(membership) = &service.membership {
                membership.withdraw().await;
            }
            tasks.spawn(RECONCILE_SCHEDULE, move || {
                let service = Arc::clone(&service);
                async move { service.sync().await }
            });
            Ok(())
        });
        PostStartHook { name: "bootstrap-controller", work }
    }

    /// Removes this server's endpoint.
    pub async fn remove_at_shutdown(&self) {
        let Some(membership) = &self.membership else { return };
        match timeout(REMOVAL_TIMEOUT, membership.remove_endpoint()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(reason = %error, "this server is still behind the kubernetes Service")
            }
            Err(_) => tracing::warn!("this server did not leave the kubernetes Service in time"),
        }
    }

    /// Reconciles once. A missing Service is created. Later changes by its administrator are kept.
    async fn sync(&self) -> Result<(), Error> {
        let result = self
            .services
            .reconcile(NAMESPACE, NAME, &|current| create_if_missing(current, &self.service))
            .await;
        result?;
        match &self.membership {
            Some(membership) => membership.renew().await,
            None => Ok(()),
        }
    }
}

impl Membership {
    /// Ensures that this server is an endpoint. Its lease is renewed even if the endpoints cannot be written,
    /// because other servers can then add it.
    async fn renew(&self) -> Result<(), Error> {
        let removed = self.removed.lock().await;
        if *removed {
            return Ok(());
        }
        match &self.rule {
            EndpointSource::Leases(leases) => {
                leases.renew(self.address).await?;
                self.reconcile(leases, Ports::Existing, false).await
            }
            EndpointSource::Count(count) => {
                let joined = |current: Option<&Object>| {
                    endpoints::with_address(current, self.address, self.port, *count)
                };
                self.write(&joined).await
            }
        }
    }

    /// Removes the endpoint of an earlier process with this address.
    async fn withdraw(&self) {
        let _left = self.removed.lock().await;
        let removed = match &self.rule {
            EndpointSource::Count(_) => self.remove_address().await,
            EndpointSource::Leases(leases) => match leases.remove(self.address).await {
                Ok(false) => Ok(()),
                Ok(true) => {
                    tracing::info!(address = %self.address, "an earlier server was still behind the kubernetes Service");
                    // If it was the only endpoint, it remains until this server replaces it.
                    if let Err(error) = self.reconcile(leases, Ports::OwnPort, false).await {
                        tracing::info!(reason = %error, "an earlier server is still among the endpoints");
                    }
                    Ok(())
                }
                Err(error) => Err(error.into()),
            },
        };
        if let Err(error) = removed {
            tracing::warn!(reason = %error, "an earlier server may still be among the endpoints");
        }
    }

    async fn remove_endpoint(&self) -> Result<(), Error> {
        let mut removed = self.removed.lock().await;
        *removed = true;
        let leases = match &self.rule {
            EndpointSource::Leases(leases) => leases,
            EndpointSource::Count(_) => return self.remove_address().await,
        };
        match leases.remove(self.address).await {
            Ok(true) => self.reconcile(leases, Ports::OwnPort, true).await,
            // Never added, or expired in the meantime: the other servers have removed it.
            Ok(false) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes this server's address from the endpoints.
    async fn remove_address(&self) -> Result<(), Error> {
        self.write(&|current| endpoints::without_address(current?, self.address)).await
    }

    /// Reconciles the endpoints with the existing leases.
    async fn reconcile(&self, leases: &Leases, ports: Ports, leaving: bool) -> Result<(), Error> {
        let addresses = leases.list().await?;
        if addresses.is_empty() && !leaving {
            return Err(Error::NoAddresses);
        }
        let desired = |current: Option<&Object>| match current {
            None if leaving => None,
            current => endpoints::endpoints(current, &addresses, self.port, ports),
        };
        self.write(&desired).await
    }

    /// Writes the endpoints if they differ, and the matching slice.
    async fn write(&self, desired: &DesiredState<'_>) -> Result<(), Error> {
        let reconciled = self.endpoints.reconcile(NAMESPACE, NAME, desired).await?;
        if reconciled.written {
            tracing::info!("the servers behind the kubernetes Service have changed");
        }
        let Some(endpoints) = reconciled.object else { return Ok(()) };
        let slice = endpoints::slice(&endpoints);
        Ok(replace_slice(&self.slices, &slice).await?)
    }
}

/// Replaces a slice of another address family, because the address type is immutable.
async fn replace_slice(slices: &Client, slice: &Object) -> registry::Result<()> {
    let row: &Resource = slices.row();
    let current = slices.get(NAMESPACE, NAME, ReadFreshness::Cached).await?;
    if let Some(current) = &current
        && endpoints::slice_change(row, Some(current), slice) == SliceChange::Replace
    {
        slices.delete_exact(current).await?;
    }
    let desired = |current: Option<&Object>| match endpoints::slice_change(row, current, slice) {
        SliceChange::Write(slice) => Some(slice),
        SliceChange::None | SliceChange::Replace => None,
    };
    slices.reconcile(NAMESPACE, NAME, &desired).await.map(drop)
}

/// Builds the Service with its reserved address.
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
