//! Options of the etcd client: endpoints, TLS and timeouts.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use tokio::io::{AsyncRead, AsyncWrite};

use crate::metrics::LeaseMetrics;

/// Options of an etcd cluster. [`Options::new`] has upstream's default for every option that upstream has.
#[derive(Debug, Clone)]
pub struct Options {
    /// Client URLs of the members (`--etcd-servers`). The default scheme is `https` if `tls` is set,
    /// otherwise `http`; the default port is 2379.
    pub endpoints: Vec<String>,
    /// TLS files for `https` endpoints; `None` uses the system's CA certificates and no client certificate.
    pub tls: Option<TlsFiles>,
    /// Timeout for connecting (TCP and TLS). A write whose connection fails has certainly not happened and
    /// goes to the next member, so this should be well below `request_timeout`.
    pub dial_timeout: Duration,
    /// Deadline of a call about one key, including all attempts. Above etcd's own 7 s, so that etcd's
    /// response is received.
    pub request_timeout: Duration,
    /// Deadline of a list, including all attempts.
    pub list_timeout: Duration,
    /// True to list in one stream if etcd supports it (feature gate `EtcdRangeStream`, etcd 3.7).
    pub range_stream: bool,
    /// Deadline of the health check (`--etcd-healthcheck-timeout`).
    pub health_timeout: Duration,
    /// Key that the health check reads. It need not exist.
    pub health_key: String,
    /// Ping interval of connections with active calls or watches. A connection is closed if the response
    /// takes longer than `keepalive_timeout`. etcd's default minimum is 5 s.
    pub keepalive_interval: Duration,
    /// See `keepalive_interval`.
    pub keepalive_timeout: Duration,
    /// Maximum time for which a lease is used for further keys (`--lease-reuse-duration-seconds`); 5 % of the
    /// ttl if that is less.
    pub lease_reuse: Duration,
    /// Maximum number of keys per lease. etcd deletes all keys of an expired lease in one transaction.
    pub lease_objects_max: u32,
    /// True if calls within a span get spans of their own, which are propagated to etcd.
    pub traced: bool,
    /// Metrics of lease uses.
    pub leases: LeaseMetrics,
    /// Dialer for the members, if connections do not use this machine's own network. TLS is end-to-end
    /// through it.
    pub dialer: Option<CustomDialer>,
}

pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A connection attempt.
pub type DialFuture = Pin<Box<dyn Future<Output = io::Result<Box<dyn Io>>> + Send>>;

/// A dialer that does not use this machine's own network, for example through a proxy.
#[derive(Clone)]
pub struct CustomDialer(Arc<dyn Fn(String, u16) -> DialFuture + Send + Sync>);

impl CustomDialer {
    /// A dialer from a function that connects to a host, which it resolves itself, and a port. The attempt
    /// may be cancelled at any time.
    pub fn new(dial: impl Fn(String, u16) -> DialFuture + Send + Sync + 'static) -> Self {
        CustomDialer(Arc::new(dial))
    }

    pub(crate) fn dial(&self, host: &str, port: u16) -> DialFuture {
        (self.0)(host.to_owned(), port)
    }
}

impl fmt::Debug for CustomDialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Way(…)")
    }
}

/// PEM files of a TLS client (`--etcd-cafile`, `--etcd-certfile`, `--etcd-keyfile`). They are read again for
/// every new connection, so certificates can be renewed in place.
#[derive(Debug, Clone, Default)]
pub struct TlsFiles {
    /// CA certificates for the members' certificates; `None` for the system's.
    pub ca: Option<PathBuf>,
    /// Client certificate chain. Needs `key`.
    pub cert: Option<PathBuf>,
    /// The private key of `cert`.
    pub key: Option<PathBuf>,
}

impl Options {
    /// The defaults for these endpoints, without TLS.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            dial_timeout: Duration::from_secs(1),
            request_timeout: Duration::from_secs(10),
            list_timeout: Duration::from_secs(60),
            range_stream: true,
            health_timeout: Duration::from_secs(2),
            health_key: "/registry/health".to_owned(),
            keepalive_interval: Duration::from_secs(10),
            keepalive_timeout: Duration::from_secs(5),
            lease_reuse: Duration::from_secs(60),
            lease_objects_max: 1000,
            traced: false,
            leases: LeaseMetrics::default(),
            dialer: None,
        }
    }
}
