//! Who serves: keys below `masterleases/` that run out unless they are renewed, one per address.
//! Values and times are upstream's, so that servers of both kinds can stand behind one Service.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use api::resources::{self, Storage as StorageRow};
use api::tree;
use registry::{StoredRef, codec, meta};
use schema::object::{self, Object};
use serde_json::json;
use storage::{Error, KeyValue, ListOptions, Storage, Update, Updated, guaranteed_update};

use crate::bootstrap::object;

/// How long a lease lives (upstream's `DefaultEndpointReconcilerTTL`).
const TTL: Duration = Duration::from_secs(15);

/// The leases of all servers.
pub(super) struct Leases {
    storage: Arc<dyn Storage>,
    row: &'static StorageRow<'static>,
    prefix: String,
}

impl Leases {
    /// The leases below a prefix of all keys, such as `/registry`.
    ///
    /// # Errors
    /// Endpoints, which leases are written as, are not stored.
    pub(super) fn new(storage: Arc<dyn Storage>, prefix: &str) -> Result<Self, String> {
        let row = resources::find("", "v1", "endpoints", "").and_then(|row| row.storage.as_ref());
        let row = row.ok_or("endpoints are not stored")?;
        Ok(Leases { storage, row, prefix: format!("{}/masterleases/", prefix.trim_end_matches('/')) })
    }

    /// The addresses of those who serve, in the order of their texts.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn list(&self) -> Result<Vec<String>, Error> {
        let listing = self.storage.list(&self.prefix, ListOptions::default()).await?;
        Ok(listing.kvs.iter().filter_map(|kv| self.address(kv)).collect())
    }

    fn address(&self, kv: &KeyValue) -> Option<String> {
        let lease = codec::decode(self.row, StoredRef::of(kv)).ok()?;
        let subset = tree::children(&lease, "subsets").next()?;
        let address = tree::children(subset, "addresses").next()?;
        Some(tree::text(address, "ip")).filter(|ip| !ip.is_empty()).map(str::to_owned)
    }

    /// Begins or prolongs the lease of an address.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn renew(&self, address: IpAddr) -> Result<(), Error> {
        let renew = |current: Option<&KeyValue>| {
            let current = current.and_then(|kv| codec::decode(self.row, StoredRef::of(kv)).ok());
            let lease = renewed(current, address);
            let value = codec::encode(self.row, &lease).map_err(Error::Internal)?;
            Ok::<_, Error>(Update::Write(value, Some(TTL)))
        };
        guaranteed_update(&*self.storage, &self.key(address), None, renew).await.map(drop)
    }

    /// Ends the lease of an address, and says whether there was one.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn remove(&self, address: IpAddr) -> Result<bool, Error> {
        let remove = |_: Option<&KeyValue>| Ok::<_, Error>(Update::Delete);
        let updated = guaranteed_update(&*self.storage, &self.key(address), None, remove).await?;
        Ok(matches!(updated, Updated::Deleted(_)))
    }

    fn key(&self, address: IpAddr) -> String {
        format!("{}{address}", self.prefix)
    }
}

/// The lease after it was renewed. Its generation counts renewals: the store writes only what differs.
fn renewed(current: Option<Object>, address: IpAddr) -> Object {
    let mut lease = current.unwrap_or_default();
    let generation = meta::generation(&lease);
    meta::set_generation(&mut lease, generation.saturating_add(1));
    codec::strip_revision(&mut lease);
    let subset = object(json!({"addresses": [{"ip": address.to_string()}]}));
    object::set(&mut lease, &["subsets"], vec![serde_json::Value::Object(subset)]);
    lease
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
        // Read from the store of an upstream server that had renewed its lease once.
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
        // What is no lease is nobody's.
        storage.put("/registry/masterleases/x", bytes::Bytes::from_static(b"{}"), 0, None).await.unwrap();
        assert_eq!(leases.list().await.unwrap(), ["fd00::1"]);
    }
}
