//! Publishes this server's address for other servers.

use std::sync::Arc;
use std::time::Duration;

use ::api::tree;
use client::Address;
use jsontree::json;
use schema::object::{self, Object};
use storage::Storage;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::DIRECTORY;
use crate::endpoint_leases::EndpointLeases;
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::identity_lease;
use crate::tasks::{FirstRound, Schedule, Tasks};

/// The label with the server of a lease.
const IDENTITY: &str = "apiserverIdentity";
const RENEWAL: Schedule = Schedule {
    name: "peer endpoint lease",
    period: Duration::from_secs(10),
    jitter: 0.0,
    // Other servers send requests after that.
    first: FirstRound::WhenReady,
};
/// Timeout of the removal.
const REMOVAL_MAX: Duration = Duration::from_secs(10);

/// The lease with this server's address.
pub struct PeerAddress {
    leases: EndpointLeases,
    server: String,
    address: Address,
    /// True after the removal at shutdown. Locked during writes.
    removed: Mutex<bool>,
}

impl PeerAddress {
    /// Creates the lease for the configured address.
    ///
    /// # Errors
    /// The port is invalid, or leases cannot be written.
    pub fn new(
        host_name: &str,
        address: Address,
        prefix: &str,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, Error> {
        let leases = EndpointLeases::new(storage, prefix, DIRECTORY)?;
        Ok(PeerAddress {
            leases,
            server: identity_lease::name(host_name),
            address,
            removed: Mutex::new(false),
        })
    }

    /// Publishes the address once this server is ready.
    pub fn hook(self: &Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let address = Arc::clone(self);
        let tasks = tasks.clone();
        let work = Box::pin(async move {
            tasks.spawn(RENEWAL, move || {
                let address = Arc::clone(&address);
                async move { address.renew().await }
            });
            Ok(())
        });
        PostStartHook { name: "peer-endpoint-reconciler-controller", work }
    }

    async fn renew(&self) -> Result<(), Error> {
        let removed = self.removed.lock().await;
        if *removed {
            return Ok(());
        }
        let set = |lease: &mut Object| set_address(lease, &self.server, &self.address);
        Ok(self.leases.renew(&self.server, set).await?)
    }

    /// Removes the lease at shutdown.
    pub async fn remove_at_shutdown(&self) {
        let removal = async {
            let mut removed = self.removed.lock().await;
            *removed = true;
            self.leases.remove(&self.server).await
        };
        match timeout(REMOVAL_MAX, removal).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the peer endpoint lease was not removed"),
            Err(_) => tracing::warn!("the peer endpoint lease was not removed in time"),
        }
    }
}

/// Sets the address of a server in a lease.
fn set_address(lease: &mut Object, server: &str, address: &Address) {
    let subset = json!({
        "addresses": [{"ip": address.host}],
        "ports": [{"name": "https", "port": address.port, "protocol": "TCP"}],
    });
    object::set(lease, &["subsets"], vec![subset]);
    object::set(lease, &["metadata", "labels", IDENTITY], server);
}

/// Returns the address in a lease.
pub(super) fn of(lease: &Object) -> Option<Address> {
    let subset = tree::children(lease, "subsets").next()?;
    let host = tree::text(tree::children(subset, "addresses").next()?, "ip").to_owned();
    let port = u16::try_from(tree::integer(tree::children(subset, "ports").next()?, "port")).ok()?;
    (!host.is_empty() && port > 0).then_some(Address { host, port })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use storage::memory::Memory;

    use super::*;

    #[tokio::test]
    async fn a_lease_has_upstreams_key_and_bytes() {
        let storage = Arc::new(Memory::new());
        let leases = EndpointLeases::new(storage.clone(), "/registry", DIRECTORY).unwrap();
        let server = "apiserver-wlv32tlttr4jl3gtroqexyxapa";
        let address = Address { host: "192.0.2.10".to_owned(), port: 24_792 };
        leases.renew(server, |lease| set_address(lease, server, &address)).await.unwrap();
        let key = "/registry/peerserverleases/apiserver-wlv32tlttr4jl3gtroqexyxapa";
        let stored = storage.get(key).await.unwrap().kv.unwrap();
        // Taken from the store of an upstream server.
        let upstreams = b"k8s\0\n\x0f\n\x02v1\x12\tEndpoints\x12q\nK\n\0\x12\0\x1a\0\"\0*\x002\x008\x01B\0Z9\n\x11apiserverIdentity\x12$apiserver-wlv32tlttr4jl3gtroqexyxapa\x12\"\n\x0e\n\n192.0.2.10\x1a\0\x1a\x10\n\x05https\x10\xd8\xc1\x01\x1a\x03TCP\x1a\0\"\0";
        assert_eq!(&stored.value[..], upstreams);
        let lease = leases.get(server).await.unwrap().unwrap();
        assert_eq!(
            of(&lease).map(|address| (address.host, address.port)),
            Some((address.host, address.port))
        );
    }
}
