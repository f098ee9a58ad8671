//! Allocators of Service addresses and node ports, with their repair: once before the server is ready, then
//! every few minutes (upstream's `registry/core/rest/storage_core.go`).

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use cacher::Delegator;
use component_base::metrics::MetricsRegistry;
use registry::Registry;
use registry::client::LookupError;
use registry::generic::Allocator;
use registry::informer::InformerTask;
use registry::services::{Families, Family, Leaks, Options, Ranges, RepairError, STORAGE_PREFIX, Services};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::cidr::Cidr;
use crate::error::Error;
use crate::hook::PostStartHook;

/// Interval between repairs (upstream's default).
const REPAIR_PERIOD: Duration = Duration::from_secs(180);
/// Minimum interval between address repairs. Each reads all Services, and writers of Services must not cause
/// more.
const ADDRESS_REPAIR_PAUSE: Duration = Duration::from_secs(5);
/// Timeout of the first repair.
const FIRST_REPAIR_MAX: Duration = Duration::from_secs(60);
/// Retry interval at start.
const RETRY: Duration = Duration::from_millis(100);
/// Pause before a failed watch of the Services is started again.
const WATCH_RETRY: Duration = Duration::from_secs(1);
/// Poll interval for objects that are being created.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Repair task of a server's allocators.
pub struct RepairTask {
    services: Arc<Services>,
    delegator: Delegator,
    leaks: Mutex<Leaks>,
}

/// Gives a registry the pools of services, which are kept in the store behind `delegator`. They have no addresses before their
/// ranges are followed.
///
/// # Errors
/// A resource that is not built in.
pub fn with_pools(
    options: Options,
    registry: Registry,
    delegator: &Delegator,
    metrics: &MetricsRegistry,
) -> Result<(Registry, Arc<RepairTask>, InformerTask<Ranges>), LookupError> {
    let (services, ranges) = Services::new(registry.clone(), options, metrics)?;
    let services = Arc::new(services);
    let pools: Arc<dyn Allocator> = Arc::clone(&services) as _;
    let registry = registry.with_allocators(HashMap::from([(STORAGE_PREFIX, pools)]));
    let repairs = RepairTask { services, delegator: delegator.clone(), leaks: Mutex::default() };
    Ok((registry, Arc::new(repairs), ranges))
}

/// Returns the IP families of the configured ranges.
pub fn families(cidrs: &[Cidr]) -> Families {
    let mut families = cidrs.iter().map(|cidr| match cidr.network {
        IpAddr::V4(_) => Family::V4,
        IpAddr::V6(_) => Family::V6,
    });
    let primary = families.next().unwrap_or(Family::V4);
    Families { primary, dual: families.any(|family| family != primary) }
}

impl RepairTask {
    /// Returns the hook of the first repair. Services get node ports only after it.
    pub fn hook(self: &Arc<Self>) -> PostStartHook {
        let repairs = Arc::clone(self);
        let work = async move {
            let first = timeout(FIRST_REPAIR_MAX, repairs.run_first_repair()).await;
            first.map_err(|_| Error::FirstRepair)
        };
        PostStartHook { name: "start-service-ip-repair-controllers", work: Box::pin(work) }
    }

    async fn run_first_repair(&self) {
        // Services cannot be listed before the caches are filled, which usually takes moments.
        let _ = timeout(RETRY, self.delegator.ready()).await;
        while let Err(error) = self.ports().await {
            // Expected while the cache is filled. A repair that never succeeds fails the hook.
            tracing::debug!(%error, "the node ports of services could not be checked yet");
            sleep(RETRY).await;
        }
        // A store that predates ServiceCIDR objects gets the first one about now. Until then no address can
        // be assigned to a range.
        while self.services.has_unallocated_addresses().await.unwrap_or(true) {
            sleep(POLL_INTERVAL).await;
        }
        while let Err(error) = self.services.repair_addresses().await {
            tracing::info!(%error, "the addresses of services could not be checked yet");
            sleep(RETRY).await;
        }
    }

    async fn ports(&self) -> Result<(), RepairError> {
        self.services.repair_ports(&mut *self.leaks.lock().await).await
    }

    /// Repairs everything every few minutes. Repairs addresses immediately when a Service with an unallocated
    /// address appears, which an older server has written. Never returns.
    pub async fn keep_repairing(&self) {
        self.delegator.ready().await;
        loop {
            let next = Instant::now() + REPAIR_PERIOD;
            repeat_until(next, || self.follow_services(next)).await;
            if let Err(error) = self.ports().await {
                tracing::warn!(%error, "the node ports of services could not be checked");
            }
        }
    }

    /// Follows the Services until `deadline`, and repairs addresses at once. Returns the pause before the next
    /// attempt, if the watch ends earlier.
    async fn follow_services(&self, deadline: Instant) -> Duration {
        let mut changes = match self.services.watch(deadline).await {
            Ok(changes) => changes,
            Err(error) => {
                tracing::debug!(%error, "services are not followed");
                return WATCH_RETRY;
            }
        };
        // Services may have been written while there was no watch.
        self.addresses().await;
        while self.services.next_without_address(&mut changes).await {
            self.addresses().await;
            sleep(ADDRESS_REPAIR_PAUSE).await;
        }
        ADDRESS_REPAIR_PAUSE
    }

    async fn addresses(&self) {
        if let Err(error) = self.services.repair_addresses().await {
            tracing::warn!(%error, "the addresses of services could not be checked");
        }
    }
}

/// Repeats `round` until `deadline`. Each round returns the pause before the next one.
async fn repeat_until<R: Future<Output = Duration>>(deadline: Instant, mut round: impl FnMut() -> R) {
    while Instant::now() < deadline {
        let pause = round().await;
        sleep_until((Instant::now() + pause).min(deadline)).await;
    }
}

#[cfg(test)]
mod tests;
