//! Leases of running servers: expiring keys below `masterleases/`, one per address.

use std::net::IpAddr;
use std::sync::Arc;

use api::tree;
use jsontree::{Value, json};
use schema::object;
use storage::Storage;

use crate::endpoint_leases::EndpointLeases;
use crate::error::Error;

/// The leases of all servers.
pub(super) struct Leases(EndpointLeases);

impl Leases {
    /// Creates access to the leases below the key prefix, such as `/registry`.
    ///
    /// # Errors
    /// See [`EndpointLeases::new`].
    pub(super) fn new(storage: Arc<dyn Storage>, prefix: &str) -> Result<Self, Error> {
        EndpointLeases::new(storage, prefix, "masterleases").map(Leases)
    }

    /// Returns the addresses of the lease holders, sorted as text.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) async fn list(&self) -> Result<Vec<String>, storage::Error> {
        let address = |lease: &object::Object| {
            let subset = tree::children(lease, "subsets").next()?;
            let address = tree::children(subset, "addresses").next()?;
            Some(tree::text(address, "ip")).filter(|ip| !ip.is_empty()).map(str::to_owned)
        };
        Ok(self.0.list().await?.iter().filter_map(address).collect())
    }

    /// Creates or renews the lease of an address.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) async fn renew(&self, address: IpAddr) -> Result<(), storage::Error> {
        let ip = address.to_string();
        let subset: Value = json!({"addresses": [{"ip": ip}]});
        let set_subset = |lease: &mut object::Object| object::set(lease, &["subsets"], vec![subset.clone()]);
        self.0.renew(&ip, set_subset).await
    }

    /// Removes the lease of an address. Returns true if it existed.
    ///
    /// # Errors
    /// Errors of the store.
    pub(super) async fn remove(&self, address: IpAddr) -> Result<bool, storage::Error> {
        self.0.remove(&address.to_string()).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use storage::memory::Memory;

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 10));

    #[tokio::test]
    async fn a_lease_has_upstreams_key_and_bytes() {
        let storage = Arc::new(Memory::new());
        let leases = Leases::new(storage.clone(), "/registry").unwrap();
        leases.renew(ADDRESS).await.unwrap();
        leases.renew(ADDRESS).await.unwrap();
        let stored = storage.get("/registry/masterleases/192.0.2.10").await.unwrap().kv.unwrap();
        // Taken from the store of an upstream server after one lease renewal.
        let upstreams = b"k8s\0\n\x0f\n\x02v1\x12\tEndpoints\x12$\n\x10\n\0\x12\0\x1a\0\"\0*\x002\x008\x02B\0\x12\x10\n\x0e\n\n192.0.2.10\x1a\0\x1a\0\"\0";
        assert_eq!(&stored.value[..], upstreams);
    }

    #[tokio::test]
    async fn leases_are_listed_until_they_are_removed() {
        let storage = Arc::new(Memory::new());
        let leases = Leases::new(storage.clone(), "/registry/").unwrap();
        let other = "fd00::1".parse().unwrap();
        assert!(leases.list().await.unwrap().is_empty());
        leases.renew(other).await.unwrap();
        leases.renew(ADDRESS).await.unwrap();
        assert_eq!(leases.list().await.unwrap(), ["192.0.2.10", "fd00::1"]);
        assert!(leases.remove(ADDRESS).await.unwrap());
        assert!(!leases.remove(ADDRESS).await.unwrap());
        assert_eq!(leases.list().await.unwrap(), ["fd00::1"]);
        // Values that are not leases are skipped.
        storage.put("/registry/masterleases/x", bytes::Bytes::from_static(b"{}"), 0, None).await.unwrap();
        assert_eq!(leases.list().await.unwrap(), ["fd00::1"]);
    }
}
