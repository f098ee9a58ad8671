//! The identity Lease of this server (KEP-1965, upstream's APIServerIdentity). It is renewed while the server
//! runs and removed at shutdown. Every server also removes expired identity Leases.

use std::sync::Arc;
use std::time::Duration;

use api::options::Preconditions;
use api::tree;
use apimachinery::status::Reason;
use apimachinery::time::{UnixTime, parse_micro_time};
use client::Address;

use jsontree::json;
use registry::client::{Client, ReadFreshness};
use registry::{Registry, meta};
use schema::object::{self, Object};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::desired_state::object;
use crate::error::Error;
use crate::hook::PostStartHook;
use crate::tasks::{FirstRound, Schedule, Tasks};

const NAMESPACE: &str = "kube-system";
/// The label of identity Leases of API servers.
const IDENTITY: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");
const HOST_NAME: &str = "kubernetes.io/hostname";
/// The annotation with the address for other servers.
const PEER_ADDRESS: &str = "kubernetes.io/peer-advertise-address";
const DURATION_SECONDS: i64 = 3600;
const RENEWAL: Schedule = Schedule {
    name: "identity lease",
    period: Duration::from_secs(10),
    jitter: 0.04,
    first: FirstRound::Now,
};
const COLLECTION: Schedule = Schedule {
    name: "collection of identity leases",
    period: Duration::from_secs(3600),
    jitter: 0.04,
    // Leases are listed from the watch cache.
    first: FirstRound::WhenReady,
};
/// Timeout of the removal, at start and at shutdown.
const REMOVAL_MAX: Duration = Duration::from_secs(10);

/// This server's identity Lease.
pub struct IdentityLease {
    lease: Lease,
    client: Client,
    /// True after the removal at shutdown. Locked during writes.
    removed: Mutex<bool>,
}

/// Contents of the Lease.
struct Lease {
    name: String,
    holder: String,
    host: String,
    /// Address for other servers, if they proxy requests to this one.
    address: Option<String>,
}

/// Identity that a server publishes in its Lease.
pub struct IdentityOptions {
    pub host_name: String,
    /// Differs for every process.
    pub uid: String,
    /// Address at which peers reach this server, if they forward requests to it.
    pub peer_address: Option<Address>,
}

impl IdentityLease {
    /// Creates the Lease of the server on this machine.
    ///
    /// # Errors
    /// Leases are not served, or the address for other servers is invalid.
    pub fn new(options: IdentityOptions, registry: &Registry) -> Result<Self, Error> {
        let IdentityOptions { host_name: host, uid, peer_address } = options;
        let name = name(&host);
        let address = peer_address.map(|address| address.to_string());
        let holder = format!("{name}_{uid}");
        let lease = Lease { name, holder, host, address };
        let client = Client::find(registry, "coordination.k8s.io", "leases")?;
        Ok(IdentityLease { lease, client, removed: Mutex::new(false) })
    }

    /// Removes the Lease of an earlier process on this machine, then creates and renews it.
    pub fn hook(self: &Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let lease = Arc::clone(self);
        let tasks = tasks.clone();
        let work = Box::pin(async move {
            lease.remove().await;
            tasks.spawn(RENEWAL, move || {
                let lease = Arc::clone(&lease);
                async move { lease.renew().await }
            });
            Ok(())
        });
        PostStartHook { name: "start-kube-apiserver-identity-lease-controller", work }
    }

    /// Removes expired Leases of other servers.
    pub fn collector_hook(self: &Arc<Self>, tasks: &Tasks) -> PostStartHook {
        let lease = Arc::clone(self);
        let tasks = tasks.clone();
        let work = Box::pin(async move {
            tasks.spawn(COLLECTION, move || {
                let lease = Arc::clone(&lease);
                async move { lease.collect().await }
            });
            Ok(())
        });
        PostStartHook { name: "start-kube-apiserver-identity-lease-garbage-collector", work }
    }

    /// Removes the Lease at shutdown.
    pub async fn remove_at_shutdown(&self) {
        let removal = async {
            let mut removed = self.removed.lock().await;
            *removed = true;
            self.remove().await;
        };
        if timeout(REMOVAL_MAX, removal).await.is_err() {
            tracing::warn!(lease = self.lease.name, "the identity lease was not removed in time");
        }
    }

    /// Removes the Lease. A failure is harmless, because the Lease is taken over or expires.
    async fn remove(&self) {
        let removal = self.client.delete(NAMESPACE, &self.lease.name, Preconditions::default());
        let removed = timeout(REMOVAL_MAX, removal).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(lease = self.lease.name, %error, "the identity lease was not removed");
        }
    }

    async fn renew(&self) -> Result<(), Error> {
        let removed = self.removed.lock().await;
        if *removed {
            return Ok(());
        }
        let now = self.client.now();
        let renew = |current: Option<&Object>| Some(self.lease.renewed(current, now));
        let result = self.client.reconcile(NAMESPACE, &self.lease.name, &renew).await;
        result?;
        Ok(())
    }

    async fn collect(&self) -> Result<(), Error> {
        let now = self.client.now();
        let leases = self.client.list(NAMESPACE, ReadFreshness::Cached).await?;
        for lease in leases.iter().filter(|lease| is_of_a_server(lease) && is_expired(lease, now)) {
            match self.client.delete_exact(lease).await {
                // It was renewed in the meantime.
                Err(status) if status.reason == Reason::Conflict => {}
                Err(status) => return Err(status.into()),
                Ok(_) => {
                    tracing::info!(lease = meta::text(lease, "name"), "removed an expired identity lease")
                }
            }
        }
        Ok(())
    }
}

impl Lease {
    /// Returns the renewed object. Its holder never changes.
    fn renewed(&self, current: Option<&Object>, now: UnixTime) -> Object {
        let mut lease = current.cloned().unwrap_or_else(|| {
            object(json!({
                "metadata": {"name": self.name, "namespace": NAMESPACE},
                "spec": {"holderIdentity": self.holder},
            }))
        });
        object::set(&mut lease, &["spec", "leaseDurationSeconds"], DURATION_SECONDS);
        object::set(&mut lease, &["spec", "renewTime"], now.rfc3339_micro().to_string());
        object::set(&mut lease, &["metadata", "labels", IDENTITY.0], IDENTITY.1);
        object::set(&mut lease, &["metadata", "labels", HOST_NAME], self.host.as_str());
        if let Some(address) = &self.address {
            object::set(&mut lease, &["metadata", "annotations", PEER_ADDRESS], address.as_str());
        }
        lease
    }
}

fn is_of_a_server(lease: &Object) -> bool {
    object::get_str(lease, &["metadata", "labels", IDENTITY.0]) == Some(IDENTITY.1)
}

/// True if the Lease has expired, or if its time or duration is missing.
fn is_expired(lease: &Object, now: UnixTime) -> bool {
    let expires = || {
        let spec = tree::child(lease, "spec")?;
        let renewed = parse_micro_time(tree::maybe_text(spec, "renewTime")?).ok()?;
        let seconds = renewed.seconds.saturating_add(tree::maybe_integer(spec, "leaseDurationSeconds")?);
        Some((seconds, renewed.nanos))
    };
    expires().is_none_or(|expires| expires < (now.seconds, now.nanos))
}

/// Returns the Lease name for a host: a hash of the identifying parts, each with a two-byte length prefix.
pub fn name(host: &str) -> String {
    let mut hash = Sha256::new();
    for part in [host, IDENTITY.1] {
        hash.update(u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes());
        hash.update(part);
    }
    let half: Vec<u8> = hash.finalize().iter().copied().take(16).collect();
    format!("apiserver-{}", base32(&half))
}

/// RFC 4648, in lower case and without padding.
fn base32(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |at: usize| bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1);
    let digit = |at: usize| (0..5).fold(0, |value, offset| value << 1 | usize::from(bit(at * 5 + offset)));
    let digits = (bytes.len() * 8).div_ceil(5);
    (0..digits).filter_map(|at| DIGITS.get(digit(at)).map(|&digit| char::from(digit))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_upstreams_hash_of_the_host() {
        // Taken from an upstream server on a host with this name.
        assert_eq!(name("vm"), "apiserver-wlv32tlttr4jl3gtroqexyxapa");
    }

    #[test]
    fn base32_is_that_of_the_rfc() {
        let check = |bytes: &[u8], expected: &str| assert_eq!(base32(bytes), expected);
        check(b"", "");
        check(b"f", "my");
        check(b"fo", "mzxq");
        check(b"foo", "mzxw6");
        check(b"foob", "mzxw6yq");
        check(b"fooba", "mzxw6ytb");
        check(b"foobar", "mzxw6ytboi");
    }

    #[test]
    fn renewal_updates_time_and_server_data() {
        let lease = Lease {
            name: "apiserver-x".to_owned(),
            holder: "apiserver-x_1".to_owned(),
            host: "h".to_owned(),
            address: Some("192.0.2.1:6443".to_owned()),
        };
        let first = lease.renewed(None, UnixTime { seconds: 0, nanos: 1_234_567 });
        let expected = object(json!({
            "metadata": {
                "name": "apiserver-x",
                "namespace": "kube-system",
                "labels": {"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": "h"},
                "annotations": {"kubernetes.io/peer-advertise-address": "192.0.2.1:6443"},
            },
            "spec": {
                "holderIdentity": "apiserver-x_1",
                "leaseDurationSeconds": 3600,
                "renewTime": "1970-01-01T00:00:00.001234Z",
            },
        }));
        assert_eq!(first, expected);
        let other = Lease { holder: "apiserver-x_2".to_owned(), ..lease };
        let second = other.renewed(Some(&first), UnixTime { seconds: 1, nanos: 0 });
        assert_eq!(object::get_str(&second, &["spec", "holderIdentity"]), Some("apiserver-x_1"));
        assert_eq!(object::get_str(&second, &["spec", "renewTime"]), Some("1970-01-01T00:00:01.000000Z"));
    }

    #[test]
    fn unrenewed_lease_expires() {
        let now = UnixTime { seconds: 4000, nanos: 0 };
        let check = |spec: jsontree::Value, expected: bool| {
            assert_eq!(is_expired(&object(json!({"spec": spec})), now), expected);
        };
        check(json!({"renewTime": "1970-01-01T00:06:40.000000Z", "leaseDurationSeconds": 3600}), false);
        check(json!({"renewTime": "1970-01-01T00:06:39.999999Z", "leaseDurationSeconds": 3600}), true);
        check(json!({"leaseDurationSeconds": 3600}), true);
        check(json!({"renewTime": "1970-01-01T00:06:40.000000Z"}), true);
    }
}
