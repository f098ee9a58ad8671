//! What an operator can say about the cluster: where it is, how to prove who we are, how long to wait.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::io::{AsyncRead, AsyncWrite};

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
    /// The way to members, if not through this machine's own network. TLS goes through it, from end to end.
    pub way: Option<CustomDialer>,
}

/// A byte stream.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection on its way.
pub type Dialing = Pin<Box<dyn Future<Output = io::Result<Box<dyn Io>>> + Send>>;

/// A way to members that does not begin in this machine's own network, such as a proxy's.
#[derive(Clone)]
pub struct CustomDialer(Arc<dyn Fn(String, u16) -> Dialing + Send + Sync>);

impl CustomDialer {
    /// What connects to a host, which it looks up itself, and a port. It may be given up at any time.
    pub fn new(dial: impl Fn(String, u16) -> Dialing + Send + Sync + 'static) -> Self {
        CustomDialer(Arc::new(dial))
    }

    pub(crate) fn dial(&self, host: &str, port: u16) -> Dialing {
        (self.0)(host.to_owned(), port)
    }
}

impl fmt::Debug for CustomDialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Way(…)")
    }
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
            way: None,
        }
    }
}
