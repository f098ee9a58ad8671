//! What an operator can say about the cluster: where it is, how to prove who we are, how long to wait.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::figures::LeaseFigures;

/// How to reach and use an etcd cluster. [`Options::new`] has upstream's values where upstream has
/// the knob.
#[derive(Debug, Clone)]
pub struct Options {
    /// Client URLs of the members (`--etcd-servers`). Without a scheme `https` is meant when `tls`
    /// is set, else `http`; without a port 2379.
    pub endpoints: Vec<String>,
    /// Certificates for `https` endpoints; `None` trusts the system's roots and shows no identity.
    pub tls: Option<TlsFiles>,
    /// How long a connection (TCP and TLS) may take. A write whose connection fails is certain not
    /// to have happened and goes to the next member, so this should be well below `request_timeout`.
    pub dial_timeout: Duration,
    /// The deadline of a call about one key, all attempts included. Above etcd's own 7 s, so that
    /// etcd's answer is heard.
    pub request_timeout: Duration,
    /// The deadline of a list, all attempts included.
    pub list_timeout: Duration,
    /// The deadline of the health check (`--etcd-healthcheck-timeout`).
    pub health_timeout: Duration,
    /// The key that the health check reads. It need not exist.
    pub health_key: String,
    /// A connection with a call or a watch under way is pinged this often, and given up when the
    /// answer takes longer than `keepalive_timeout`. etcd by default allows no less than 5 s.
    pub keepalive_interval: Duration,
    /// See `keepalive_interval`.
    pub keepalive_timeout: Duration,
    /// For how long a lease is handed to further keys, at most
    /// (`--lease-reuse-duration-seconds`); 5 % of the ttl where that is less.
    pub lease_reuse: Duration,
    /// How many keys share a lease, at most. etcd deletes all keys of an expired lease in one
    /// transaction.
    pub lease_objects_max: u32,
    /// Whether calls that are made within a span are spans of their own, of which etcd is told.
    pub traced: bool,
    /// Where uses of leases are counted.
    pub leases: Arc<LeaseFigures>,
}

/// PEM files of a TLS client (`--etcd-cafile`, `--etcd-certfile`, `--etcd-keyfile`). They are read
/// again for every new connection, so certificates can be renewed in place.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// The authorities that may have signed the members' certificates; `None` for the system's.
    pub ca: Option<PathBuf>,
    /// Our certificate chain. Needs `key`.
    pub cert: Option<PathBuf>,
    /// The private key of `cert`.
    pub key: Option<PathBuf>,
}

impl Options {
    /// The defaults for these endpoints, in the clear.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            dial_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(10),
            list_timeout: Duration::from_secs(60),
            health_timeout: Duration::from_secs(2),
            health_key: "/registry/health".to_owned(),
            keepalive_interval: Duration::from_secs(10),
            keepalive_timeout: Duration::from_secs(5),
            lease_reuse: Duration::from_secs(60),
            lease_objects_max: 1000,
            traced: false,
            leases: Arc::default(),
        }
    }
}
