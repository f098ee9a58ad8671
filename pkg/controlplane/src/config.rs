//! Configuration of a server: plain data, set by flags in the binary and directly in tests.

mod audit;
mod authorization;
mod egress;

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::api::resources::Resource;
use ::authorization::Mode;
pub use ::egress::Egress;
pub use aggregator::AggregationConfig;
pub use api::runtime_config::RuntimeConfig;
pub use audit::{
    AuditConfig, AuditLogConfig, AuditMode, AuditWebhookConfig, BatchOptions, FileOptions, Format, Throttle,
    TruncateOptions,
};
use authentication::Anonymous;
use authentication::oidc::OidcFlags;
pub use authorization::{AuthorizationConfig, ConfigurationFile};
use client::Address;
use component_base::features::Gates;
pub use controllers::cidr::Cidr;
pub use controllers::kubernetes_service::EndpointReconciler;
pub use controllers::leader_election::LeadershipTimes;
pub use egress::egress;
use server::tls::{CertificateFiles, TlsOptions};
use server::{BindOptions, ChainOptions};
use storage::memory::Memory;

use crate::error::ConfigurationError;
use crate::system;

/// Complete configuration of a server process.
#[derive(Debug, Clone)]
pub struct Config {
    /// Storage backend.
    pub storage: StorageConfig,
    /// `--embedded-snapshot`: file for a snapshot of the store on SIGUSR1 and at exit.
    pub snapshot_file: Option<PathBuf>,
    /// `--embedded-snapshot-endpoint`: serves a snapshot of the store to users that may read every object.
    pub snapshot_endpoint: bool,
    /// `--embedded-controllers`: runs the built-in controllers while no kube-controller-manager does.
    pub builtin_controllers: bool,
    /// Encryption at rest; `None` for none.
    pub encryption: Option<EncryptionConfig>,
    pub watch_cache: WatchCacheConfig,
    /// Listening address and TLS.
    pub serving: ServingConfig,
    /// Authentication of clients.
    pub authentication: AuthenticationConfig,
    /// Authorization modes.
    pub authorization: AuthorizationConfig,
    /// Audit logging.
    pub audit: AuditConfig,
    /// Admission plugins.
    pub admission: AdmissionConfig,
    /// Handler chain.
    pub chain: ChainOptions,
    /// `--enable-priority-and-fairness`: limits the work in progress by FlowSchemas and
    /// PriorityLevelConfigurations instead of the number of requests.
    pub priority_and_fairness: bool,
    /// Enabled and disabled API groups, versions and resources.
    pub runtime_config: RuntimeConfig,
    /// Feature gates and the releases that set their defaults (`--feature-gates`, `--emulated-version`,
    /// `--min-compatibility-version`).
    pub gates: Gates,
    /// APIs that are newer than the emulated release.
    pub emulation: EmulationConfig,
    /// `--min-request-timeout`: minimum duration of watches without an explicit timeout. The actual duration
    /// is random between this and twice this.
    pub watch_min: Duration,
    /// `--event-ttl`: lifetime of Events.
    pub event_ttl: Duration,
    /// `--memory-limit` in bytes; `None` uses the limit of the cgroup, if any.
    pub memory_limit: Option<u64>,
    /// `--etcd-count-metric-poll-period`: interval of counting uncached objects; zero disables it.
    pub object_count_period: Duration,
    /// `--delete-collection-workers`.
    pub delete_collection_workers: usize,
    pub services: ServiceConfig,
    pub service_accounts: ServiceAccountConfig,
    pub pods: PodConfig,
    pub kubelets: KubeletConfig,
    /// Extension API servers.
    pub aggregation: AggregationConfig,
    /// `--egress-selector-config-file`: egress proxies.
    pub egress: Egress,
    /// `--tracing-config-file`: trace sampling and export.
    pub tracing_config_file: Option<PathBuf>,
    /// Other servers of the cluster.
    pub peers: PeerConfig,
    /// Timing of the election of the leader election coordinator.
    pub leadership: LeadershipTimes,
    /// Host name. It distinguishes the servers of a cluster.
    pub host_name: String,
    /// Role of the server in its cluster.
    pub role: ServerRole,
    /// `--advertise-address`: address of this server for members of the cluster.
    pub advertise_address: IpAddr,
    /// Settings without effect. The server reports them when it starts.
    pub ignored_settings: Vec<IgnoredSetting>,
}

/// A setting without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredSetting {
    /// The flag, or the file of the setting.
    pub name: String,
    /// Reason why it has no effect.
    pub reason: String,
}

/// Returns the host name; empty if there is none.
pub fn host_name() -> String {
    system::host_name()
}

/// Other servers of the cluster.
#[derive(Debug, Clone, Default)]
pub struct PeerConfig {
    /// `--peer-ca-file`: CA of the other servers. Without it no request is proxied to them.
    pub authority: Option<PathBuf>,
    /// `--peer-advertise-ip` and `--peer-advertise-port`: address of this server for other servers, if
    /// different from the address for cluster members.
    pub address: Option<(String, String)>,
}

/// Role of a server in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRole {
    /// One of several servers. It registers itself in the cluster.
    Member,
    /// The only server, permanently.
    Standalone,
    /// Like `Standalone`, in a cluster that another server has already bootstrapped.
    Fork,
}

/// APIs that are newer than the emulated release.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmulationConfig {
    /// `--emulation-forward-compatible`: also serves newer non-alpha versions of kinds that are served in an
    /// older version.
    pub forward_compatible: bool,
    /// `--runtime-config-emulation-forward-compatible`: also serves those listed in `--runtime-config`.
    pub runtime_config_forward_compatible: bool,
}

/// Storage backend.
#[derive(Debug, Clone)]
pub enum StorageConfig {
    /// A shared etcd cluster.
    Etcd(EtcdConfig),
    /// An embedded store in a directory, exclusive to this process.
    Embedded {
        /// The directory. It is created if missing.
        dir: PathBuf,
        /// `--etcd-compaction-interval`; `None` retains all history.
        compaction_interval: Option<Duration>,
        /// `--embedded-from`: initial snapshot for an empty store.
        from: Option<PathBuf>,
    },
    /// `--embedded-in-memory`: a store that ends with the process.
    Memory(MemoryConfig),
}

/// Configuration of an in-memory store.
#[derive(Debug, Clone, Default)]
pub struct MemoryConfig {
    /// `--etcd-compaction-interval`; `None` retains history within the memory limit.
    pub compaction_interval: Option<Duration>,
    /// `--embedded-from`: initial snapshot.
    pub from: Option<PathBuf>,
    /// Directory that this process locks for its files; `None` if no other process can use the same files.
    pub dir: Option<PathBuf>,
    /// A store shared with other servers, for tests of several servers.
    pub shared: Option<Arc<Memory>>,
}

/// The default of `--etcd-healthcheck-timeout`.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

impl StorageConfig {
    /// Returns the key prefix.
    pub fn prefix(&self) -> &str {
        match self {
            StorageConfig::Etcd(etcd) => &etcd.prefix,
            StorageConfig::Embedded { .. } | StorageConfig::Memory(_) => "/registry",
        }
    }

    /// Returns the timeout of a health check.
    pub fn health_timeout(&self) -> Duration {
        match self {
            StorageConfig::Etcd(etcd) => etcd.health_timeout,
            StorageConfig::Embedded { .. } | StorageConfig::Memory(_) => HEALTH_TIMEOUT,
        }
    }

    /// Returns the timeout of a readiness check.
    pub fn readiness_timeout(&self) -> Duration {
        match self {
            StorageConfig::Etcd(etcd) => etcd.readiness_timeout,
            StorageConfig::Embedded { .. } | StorageConfig::Memory(_) => HEALTH_TIMEOUT,
        }
    }
}

/// Connection to etcd, and the key prefix.
#[derive(Debug, Clone)]
pub struct EtcdConfig {
    /// `--etcd-servers`.
    pub endpoints: Vec<String>,
    /// `--etcd-servers-overrides`: resources in other etcd clusters.
    pub overrides: Vec<EtcdOverride>,
    /// `--etcd-prefix`, without a trailing slash.
    pub prefix: String,
    /// `--etcd-cafile`.
    pub ca: Option<PathBuf>,
    /// `--etcd-certfile`.
    pub certificate: Option<PathBuf>,
    /// `--etcd-keyfile`.
    pub key: Option<PathBuf>,
    /// `--etcd-healthcheck-timeout`.
    pub health_timeout: Duration,
    /// `--etcd-readycheck-timeout`. A readiness check also ends after [`health_timeout`](Self::health_timeout).
    pub readiness_timeout: Duration,
    /// `--lease-reuse-duration-seconds`.
    pub lease_reuse: Duration,
    /// `--etcd-compaction-interval`; `None` disables compaction by this server.
    pub compaction_interval: Option<Duration>,
    /// `--etcd-db-metric-poll-interval`: interval of database size queries; zero disables them.
    pub size_interval: Duration,
}

/// A resource in a separate etcd cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdOverride {
    /// API group, empty for core.
    pub group: String,
    pub resource: String,
    /// The members of that cluster.
    pub endpoints: Vec<String>,
}

impl EtcdOverride {
    /// Parses an entry of `--etcd-servers-overrides`: `group/resource#server;server`.
    ///
    /// # Errors
    /// Upstream's message.
    pub fn parse(entry: &str) -> Result<Self, ConfigurationError> {
        let parse = || {
            let (resource, servers) = entry.split_once('#').filter(|(_, rest)| !rest.contains('#'))?;
            let (group, resource) = resource.split_once('/').filter(|(_, rest)| !rest.contains('/'))?;
            let endpoints: Vec<String> = servers.split(';').map(str::to_owned).collect();
            let complete = endpoints.iter().all(|server| !server.is_empty());
            complete.then(|| EtcdOverride {
                group: group.to_owned(),
                resource: resource.to_owned(),
                endpoints,
            })
        };
        let wrong = "--etcd-servers-overrides invalid, must be of format: group/resource#servers, where servers are URLs, semicolon separated";
        parse().ok_or_else(|| ConfigurationError::Invalid(wrong.to_owned()))
    }

    /// Returns the key prefix of the resource, relative to the store's prefix. A resource that is not built in is a custom one.
    pub fn directory(&self) -> Cow<'static, str> {
        let named = |row: &&Resource<'_>| (row.group, row.plural) == (&*self.group, &*self.resource);
        let builtin = ::api::resources::all().filter(named).find_map(|row| Some(row.storage?.prefix));
        builtin.map_or_else(|| format!("{}/{}", self.group, self.resource).into(), Cow::Borrowed)
    }
}

/// Encryption at rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionConfig {
    /// `--encryption-provider-config`: file with resources and providers.
    pub file: PathBuf,
    /// `--encryption-provider-config-automatic-reload`: reloads a changed file without a restart.
    pub automatic_reload: bool,
}

/// Selection of cached resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchCacheConfig {
    /// `--watch-cache`: false disables all caches.
    pub enabled: bool,
    /// `--watch-cache-sizes`: group, plural and state of a resource. Other resources have their defaults.
    pub resources: Vec<(String, String, bool)>,
}

impl Default for WatchCacheConfig {
    fn default() -> Self {
        WatchCacheConfig { enabled: true, resources: Vec::new() }
    }
}

impl WatchCacheConfig {
    /// True if a resource is cached; `usual` is its default.
    pub fn caches(&self, group: &str, resource: &str, usual: bool) -> bool {
        let named = self.resources.iter().rev().find(|(g, r, _)| (&**g, &**r) == (group, resource));
        self.enabled && named.map_or(usual, |(_, _, cached)| *cached)
    }

    /// Parses the entries of `--watch-cache-sizes`: `resource[.group]#size`. Caches size themselves, so the
    /// only meaningful size is 0, which disables a cache.
    ///
    /// # Errors
    /// Upstream's message about an invalid entry.
    pub fn parse_sizes<'a>(
        sizes: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<(String, String, bool)>, ConfigurationError> {
        let parse = |entry: &str| {
            let parts = entry.split_once('#').filter(|(_, size)| !size.contains('#'));
            let (resource, size) = parts.ok_or_else(|| {
                ConfigurationError::Invalid(format!("invalid value of watch cache size: {entry}"))
            })?;
            let size: i64 = size.parse().map_err(|_| {
                ConfigurationError::Invalid(format!("invalid size of watch cache size: {entry}"))
            })?;
            if size < 0 {
                return Err(ConfigurationError::Invalid(format!(
                    "watch cache size cannot be negative: {entry}"
                )));
            }
            let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
            Ok((group.to_owned(), resource.to_owned(), size > 0))
        };
        sizes.into_iter().map(parse).collect()
    }
}

/// Listening address and TLS.
#[derive(Debug, Clone)]
pub struct ServingConfig {
    pub bind: BindOptions,
    /// `--cert-dir`: directory of generated certificates.
    pub cert_dir: PathBuf,
    /// `--tls-cert-file` and `--tls-private-key-file`; `None` generates a certificate.
    pub certificate: Option<CertificateFiles>,
    /// `--tls-sni-cert-key`.
    pub sni: Vec<(CertificateFiles, Vec<String>)>,
    /// TLS versions, cipher suites and HTTP/2.
    pub tls: TlsOptions,
    /// `--http2-max-streams-per-connection`.
    pub http2_streams_max: u32,
    /// `--livez-grace-period`.
    pub livez_grace: Duration,
    /// `--shutdown-delay-duration`: time to keep serving while not ready, before connections are rejected.
    pub shutdown_delay: Duration,
    /// `--shutdown-send-retry-after`: rejects new requests with `Retry-After` before connections are closed.
    pub send_retry_after: bool,
    /// `--shutdown-watch-termination-grace-period`: time that watches may continue afterwards.
    pub watch_grace: Duration,
    /// `--storage-initialization-timeout`: maximum wait for the store at start.
    pub storage_wait_max: Duration,
    /// File for an administrator kubeconfig, with usage instructions on stdout. Set only if no authentication
    /// method is configured.
    pub admin_kubeconfig: Option<PathBuf>,
}

/// Authentication of clients.
#[derive(Debug, Clone, Default)]
pub struct AuthenticationConfig {
    /// `--client-ca-file`.
    pub client_ca_file: Option<PathBuf>,
    /// `--token-auth-file`.
    pub token_file: Option<PathBuf>,
    /// `--anonymous-auth`, unless the configuration file sets it.
    pub anonymous: Anonymous,
    /// True if `--anonymous-auth` was set. Then the file must not set it.
    pub anonymous_is_given: bool,
    /// `--authentication-config`: JWT issuers and anonymous access.
    pub configuration_file: Option<PathBuf>,
    /// One OIDC issuer from flags, if there is no configuration file.
    pub oidc: Option<OidcConfig>,
    /// An authenticating proxy.
    pub request_header: RequestHeaderConfig,
    /// `--enable-bootstrap-token-auth`.
    pub bootstrap_tokens: bool,
    pub webhook: Option<TokenWebhookConfig>,
}

/// One OIDC issuer from flags (`--oidc-*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcConfig {
    /// Issuer and claim mapping. Its CA bundle is read from `ca_file`.
    pub flags: OidcFlags,
    /// `--oidc-ca-file`: CA bundle of the issuer; `None` for the system's CAs.
    pub ca_file: Option<PathBuf>,
    /// `--oidc-signing-algs`.
    pub signing_algorithms: Vec<String>,
}

/// Token webhook (`--authentication-token-webhook-*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenWebhookConfig {
    /// The kubeconfig with its address.
    pub config_file: PathBuf,
    /// The version of `TokenReview`: `v1` or `v1beta1`.
    pub version: String,
    /// Cache lifetime of responses.
    pub cache_ttl: Duration,
}

/// An authenticating proxy (`--requestheader-*`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHeaderConfig {
    /// `--requestheader-client-ca-file`: CA of the proxy's client certificate; `None` disables the proxy.
    pub ca_file: Option<PathBuf>,
    /// `--requestheader-allowed-names`: allowed common names; empty for any.
    pub allowed_names: Vec<String>,
    /// `--requestheader-username-headers`.
    pub username_headers: Vec<String>,
    /// `--requestheader-uid-headers`.
    pub uid_headers: Vec<String>,
    /// `--requestheader-group-headers`.
    pub group_headers: Vec<String>,
    /// `--requestheader-extra-headers-prefix`.
    pub extra_prefixes: Vec<String>,
}

/// Changes to upstream's default admission plugins; see [`PLUGINS`](crate::admission::PLUGINS).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// `--enable-admission-plugins`.
    pub enabled: Vec<String>,
    /// `--disable-admission-plugins`.
    pub disabled: Vec<String>,
    /// `--admission-control-config-file`: configurations of plugins. Read once, at start.
    pub config_file: Option<PathBuf>,
}

/// Configuration of Services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceConfig {
    /// `--service-cluster-ip-range`: one range, or one of each IP family.
    pub cidrs: Vec<Cidr>,
    /// `--service-node-port-range`.
    pub node_ports: RangeInclusive<u16>,
    /// `--kubernetes-service-node-port`; 0 for none.
    pub kubernetes_node_port: u16,
    /// `--endpoint-reconciler-type`.
    pub endpoint_reconciler: EndpointReconciler,
}

/// Service account tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceAccountConfig {
    /// `--service-account-issuer`: the first one issues tokens, and all are accepted.
    pub issuers: Vec<String>,
    /// `--api-audiences`; see [`api_audiences`](Self::api_audiences).
    pub audiences: Vec<String>,
    /// `--service-account-key-file`: public keys for verification.
    pub key_files: Vec<PathBuf>,
    /// `--service-account-signing-key-file`.
    pub signing_key_file: Option<PathBuf>,
    /// `--service-account-signing-endpoint`: socket of an external signer, instead of a local key.
    pub signing_endpoint: Option<String>,
    /// `--service-account-jwks-uri`.
    pub jwks_uri: Option<String>,
    /// `--service-account-max-token-expiration`; 0 for no limit.
    pub token_expiration_max: Duration,
    /// `--service-account-extend-token-expiration`.
    pub extend_expiration: bool,
    /// `--service-account-lookup`.
    pub lookup: bool,
}

impl ServiceAccountConfig {
    /// Returns the audiences of this API, one of which a token must contain. The default is the list of
    /// issuers.
    pub fn api_audiences(&self) -> &[String] {
        if self.audiences.is_empty() { &self.issuers } else { &self.audiences }
    }
}

/// Configuration of Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodConfig {
    /// `--allow-privileged`.
    pub allow_privileged: bool,
    /// `--default-not-ready-toleration-seconds`.
    pub not_ready_toleration_seconds: i64,
    /// `--default-unreachable-toleration-seconds`.
    pub unreachable_toleration_seconds: i64,
}

/// Connections to kubelets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletConfig {
    /// `--kubelet-port`: default port of kubelets.
    pub port: u16,
    /// `--kubelet-preferred-address-types`, best first.
    pub address_types: Vec<String>,
    /// `--kubelet-client-certificate` and `--kubelet-client-key`.
    pub certificate: Option<CertificateFiles>,
    /// `--kubelet-certificate-authority`; without it the certificates of kubelets are not verified.
    pub authority: Option<PathBuf>,
}

impl Default for KubeletConfig {
    fn default() -> Self {
        let types = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
        let address_types = types.map(str::to_owned).to_vec();
        KubeletConfig { port: 10250, address_types, certificate: None, authority: None }
    }
}

impl Config {
    /// True if watch caches are filled on the first list or watch. An in-memory store from a snapshot may
    /// contain many objects that are never read. Forks start with the caches of their parent, which fills
    /// them immediately.
    pub(crate) fn fills_caches_lazily(&self) -> bool {
        let from_snapshot =
            matches!(&self.storage, StorageConfig::Memory(MemoryConfig { from: Some(_), .. }));
        from_snapshot && self.role == ServerRole::Member
    }

    /// True if decision data is compiled on demand, so that the start does not wait for it. This requires all
    /// objects in this process before the start, so that compilation is fast.
    pub(crate) fn compiles_lazily(&self) -> bool {
        self.fills_caches_lazily() || self.role == ServerRole::Fork
    }

    /// Returns the address of this server for other servers of the cluster.
    ///
    /// # Errors
    /// `--peer-advertise-port` is invalid.
    pub fn peer_address(&self) -> Result<Address, ConfigurationError> {
        let Some((host, port)) = &self.peers.address else {
            let host = self.advertise_address.to_string();
            return Ok(Address { host, port: self.serving.bind.address.port() });
        };
        let port = port
            .parse()
            .map_err(|_| ConfigurationError::Invalid(format!("--peer-advertise-port is no port: {port}")))?;
        Ok(Address { host: host.clone(), port })
    }

    /// Returns upstream's defaults with an in-memory store, on a free loopback port, with certificates in
    /// `dir`. For tests.
    pub fn for_tests(dir: PathBuf) -> Self {
        Config {
            storage: StorageConfig::Memory(MemoryConfig::default()),
            snapshot_file: None,
            snapshot_endpoint: false,
            builtin_controllers: false,
            host_name: system::host_name(),
            watch_cache: WatchCacheConfig::default(),
            serving: ServingConfig {
                bind: BindOptions { address: (Ipv4Addr::LOCALHOST, 0).into(), share_port: false },
                cert_dir: dir,
                certificate: None,
                sni: Vec::new(),
                tls: TlsOptions::default(),
                http2_streams_max: 100,
                livez_grace: Duration::ZERO,
                shutdown_delay: Duration::ZERO,
                send_retry_after: false,
                watch_grace: Duration::ZERO,
                storage_wait_max: Duration::from_secs(60),
                admin_kubeconfig: None,
            },
            authentication: AuthenticationConfig { anonymous: Anonymous::AllPaths, ..Default::default() },
            authorization: AuthorizationConfig::of_modes(&[Mode::Node, Mode::Rbac]),
            // No controller creates the service accounts that pods would need.
            admission: AdmissionConfig {
                disabled: vec!["ServiceAccount".to_owned()],
                ..AdmissionConfig::default()
            },
            chain: ChainOptions::default(),
            priority_and_fairness: true,
            runtime_config: RuntimeConfig::default(),
            gates: Gates::default(),
            emulation: EmulationConfig::default(),
            watch_min: Duration::from_secs(1800),
            event_ttl: Duration::from_secs(3600),
            memory_limit: Some(u64::MAX),
            object_count_period: Duration::from_secs(60),
            delete_collection_workers: 1,
            services: ServiceConfig {
                cidrs: vec![Cidr { network: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0)), prefix_len: 24 }],
                node_ports: 30_000..=32_767,
                kubernetes_node_port: 0,
                endpoint_reconciler: EndpointReconciler::Lease,
            },
            service_accounts: ServiceAccountConfig {
                issuers: vec!["https://kubernetes.default.svc".to_owned()],
                extend_expiration: true,
                lookup: true,
                ..ServiceAccountConfig::default()
            },
            pods: PodConfig {
                allow_privileged: true,
                not_ready_toleration_seconds: 300,
                unreachable_toleration_seconds: 300,
            },
            kubelets: KubeletConfig::default(),
            aggregation: AggregationConfig::default(),
            encryption: None,
            audit: AuditConfig::default(),
            egress: Egress::default(),
            tracing_config_file: None,
            peers: PeerConfig::default(),
            leadership: LeadershipTimes::default(),
            role: ServerRole::Member,
            // A loopback address cannot be an endpoint.
            advertise_address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
            ignored_settings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_size_disables_cache() {
        let check = |sizes: &[&str], group: &str, resource: &str, usual: bool, expected: bool| {
            let resources = WatchCacheConfig::parse_sizes(sizes.iter().copied()).unwrap();
            let config = WatchCacheConfig { enabled: true, resources };
            assert_eq!(config.caches(group, resource, usual), expected, "{sizes:?} {group}/{resource}");
            let off = WatchCacheConfig { enabled: false, ..config };
            assert!(!off.caches(group, resource, usual));
        };
        check(&[], "", "pods", true, true);
        check(&[], "", "events", false, false);
        check(&["pods#0"], "", "pods", true, false);
        check(&["pods#0"], "metrics.k8s.io", "pods", true, true);
        check(&["ingresses.networking.k8s.io#0"], "networking.k8s.io", "ingresses", true, false);
        check(&["events#100"], "", "events", false, true);
        check(&["pods#0", "pods#7"], "", "pods", true, true);
    }

    #[test]
    fn invalid_cache_sizes_are_rejected() {
        let check = |entry: &str, expected: &str| {
            assert_eq!(WatchCacheConfig::parse_sizes([entry]).unwrap_err().to_string(), expected);
        };
        check("pods", "invalid value of watch cache size: pods");
        check("a#b#1", "invalid value of watch cache size: a#b#1");
        check("pods#x", "invalid size of watch cache size: pods#x");
        check("pods#-1", "watch cache size cannot be negative: pods#-1");
    }
}
