//! What a server is told: plain data, filled from flags by the binary and by hand in tests.

mod audit;
mod authorization;
mod egress;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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

use crate::system;

/// Everything that one server process does differently from another.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where objects are kept.
    pub storage: StorageConfig,
    /// `--embedded-snapshot`: where a snapshot of the store is written on SIGUSR1 and in the end.
    pub snapshot_file: Option<PathBuf>,
    /// How they are encrypted there; `None` for not at all.
    pub encryption: Option<EncryptionConfig>,
    /// What is kept in memory of them.
    pub watch_cache: WatchCacheConfig,
    /// Where and how to listen.
    pub serving: ServingConfig,
    /// How clients prove who they are.
    pub authentication: AuthenticationConfig,
    /// Who decides what users may do.
    pub authorization: AuthorizationConfig,
    /// What is audited.
    pub audit: AuditConfig,
    /// Which admission plugins run.
    pub admission: AdmissionConfig,
    /// How requests are treated on their way.
    pub chain: ChainOptions,
    /// `--enable-priority-and-fairness`: what is limited is the work under way, as FlowSchemas and
    /// PriorityLevelConfigurations say, and not the number of requests.
    pub priority_and_fairness: bool,
    /// Which API groups, versions and resources are switched on or off.
    pub runtime_config: RuntimeConfig,
    /// The feature gates that are open, and the releases that decided (`--feature-gates`,
    /// `--emulated-version`, `--min-compatibility-version`).
    pub gates: Gates,
    /// Which APIs are served that are newer than the release that is emulated.
    pub emulation: EmulationConfig,
    /// Watches last at least this long unless the client asks otherwise (`--min-request-timeout`);
    /// each gets a random time between this and twice this.
    pub watch_min: Duration,
    /// `--event-ttl`: how long Events are kept.
    pub event_ttl: Duration,
    /// `--memory-limit`, in bytes; `None` for the limit of the control group, if it has one.
    pub memory_limit: Option<u64>,
    /// `--etcd-count-metric-poll-period`: how often objects are counted that are not cached; zero for no
    /// counts at all.
    pub object_count_period: Duration,
    /// `--delete-collection-workers`.
    pub delete_collection_workers: usize,
    /// Services.
    pub services: ServiceConfig,
    /// Tokens of service accounts.
    pub service_accounts: ServiceAccountConfig,
    /// Pods.
    pub pods: PodConfig,
    /// Kubelets.
    pub kubelets: KubeletConfig,
    /// API servers that answer for groups of their own.
    pub aggregation: AggregationConfig,
    /// `--egress-selector-config-file`: through which proxies others are called.
    pub egress: Egress,
    /// `--tracing-config-file`: which requests are recorded, and who is told.
    pub tracing_config_file: Option<PathBuf>,
    /// Other servers of the cluster.
    pub peers: PeerConfig,
    /// How servers agree on the one that elects leaders.
    pub leadership: LeadershipTimes,
    /// The name of this machine, by which servers of a cluster are told apart.
    pub host_name: String,
    /// What the server is in its cluster.
    pub standing: Standing,
    /// `--advertise-address`: where members of the cluster reach this server.
    pub advertise_address: IpAddr,
}

/// The name of this machine; empty if it has none.
pub fn host_name() -> String {
    system::host_name()
}

/// Other servers of the cluster.
#[derive(Debug, Clone, Default)]
pub struct PeerConfig {
    /// `--peer-ca-file`: who vouches for them. Without it no request is passed on to them.
    pub authority: Option<PathBuf>,
    /// `--peer-advertise-ip` and `--peer-advertise-port`: where they reach this one, if not where members of the cluster
    /// do.
    pub address: Option<(String, String)>,
}

/// What a server is in its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// One of several, which say in the cluster that they are there.
    Member,
    /// The only one that there will ever be.
    Alone,
    /// As before, in a cluster for which another server has seen to what has to be there.
    Fork,
}

/// Which APIs are served that are newer than the release that is emulated.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmulationConfig {
    /// `--emulation-forward-compatible`: the newer versions of what is served in an older one that is no
    /// alpha.
    pub forward_compatible: bool,
    /// `--runtime-config-emulation-forward-compatible`: those that `--runtime-config` names.
    pub runtime_config_forward_compatible: bool,
}

/// Where objects are kept.
#[derive(Debug, Clone)]
pub enum StorageConfig {
    /// A shared etcd cluster.
    Etcd(EtcdConfig),
    /// A store of this process alone, in this directory.
    Embedded {
        /// The directory, made when it does not exist.
        dir: PathBuf,
        /// `--etcd-compaction-interval`; `None` keeps all history.
        compaction_interval: Option<Duration>,
        /// `--embedded-from`: the snapshot that a store begins with which is empty.
        from: Option<PathBuf>,
    },
    /// `--embedded-in-memory`: a store that is gone with the process.
    Memory(MemoryConfig),
}

/// A store that is gone with the process.
#[derive(Debug, Clone, Default)]
pub struct MemoryConfig {
    /// `--etcd-compaction-interval`; `None` keeps history as far as there is room for it.
    pub compaction_interval: Option<Duration>,
    /// `--embedded-from`: the snapshot that it begins with.
    pub from: Option<PathBuf>,
    /// A store that other servers have, too, instead of one of its own: for tests of several servers.
    pub shared: Option<Arc<Memory>>,
}

/// The default of `--etcd-healthcheck-timeout`.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(2);

impl StorageConfig {
    /// What keys begin with.
    pub fn prefix(&self) -> &str {
        match self {
            StorageConfig::Etcd(etcd) => &etcd.prefix,
            StorageConfig::Embedded { .. } | StorageConfig::Memory(_) => "/registry",
        }
    }

    /// How long a health check may take.
    pub fn health_timeout(&self) -> Duration {
        match self {
            StorageConfig::Etcd(etcd) => etcd.health_timeout,
            StorageConfig::Embedded { .. } | StorageConfig::Memory(_) => HEALTH_TIMEOUT,
        }
    }

    /// What is in clusters of its own.
    pub fn overrides(&self) -> &[EtcdOverride] {
        match self {
            StorageConfig::Etcd(etcd) => &etcd.overrides,
            StorageConfig::Embedded { .. } | StorageConfig::Memory(_) => &[],
        }
    }
}

/// How to reach etcd, and what our keys begin with.
#[derive(Debug, Clone)]
pub struct EtcdConfig {
    /// `--etcd-servers`.
    pub endpoints: Vec<String>,
    /// `--etcd-servers-overrides`: resources that are in clusters of their own.
    pub overrides: Vec<EtcdOverride>,
    /// `--etcd-prefix`, without a slash at the end.
    pub prefix: String,
    /// `--etcd-cafile`.
    pub ca: Option<PathBuf>,
    /// `--etcd-certfile`.
    pub certificate: Option<PathBuf>,
    /// `--etcd-keyfile`.
    pub key: Option<PathBuf>,
    /// `--etcd-healthcheck-timeout`.
    pub health_timeout: Duration,
    /// `--lease-reuse-duration-seconds`.
    pub lease_reuse: Duration,
    /// `--etcd-compaction-interval`; `None` leaves compaction to others.
    pub compaction_interval: Option<Duration>,
    /// `--etcd-db-metric-poll-interval`: how often etcd is asked for its size; zero for never.
    pub size_interval: Duration,
}

/// A resource that is in another etcd cluster than the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdOverride {
    /// Its group, empty for the core's.
    pub group: String,
    /// Its plural.
    pub resource: String,
    /// The members of that cluster.
    pub endpoints: Vec<String>,
}

impl EtcdOverride {
    /// Reads what `--etcd-servers-overrides` lists: `group/resource#server;server`.
    ///
    /// # Errors
    /// In upstream's words.
    pub fn parse(entry: &str) -> Result<Self, String> {
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
        parse().ok_or_else(|| wrong.to_owned())
    }

    /// What the keys of the resource begin with below the store's prefix; `None` if no resource that is
    /// built in has this name.
    pub fn directory(&self) -> Option<&'static str> {
        let named = |row: &&Resource<'_>| (row.group, row.plural) == (&*self.group, &*self.resource);
        ::api::resources::all().filter(named).find_map(|row| row.storage.map(|storage| storage.prefix))
    }
}

/// How stored objects are encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionConfig {
    /// `--encryption-provider-config`: who encrypts what.
    pub file: PathBuf,
    /// `--encryption-provider-config-automatic-reload`: whether a new text of the file counts without a restart.
    pub automatic_reload: bool,
}

/// Which resources are kept in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchCacheConfig {
    /// `--watch-cache`: whether any are.
    pub enabled: bool,
    /// `--watch-cache-sizes`: group and plural of a resource, and whether it is kept. Others are as
    /// their rows say.
    pub resources: Vec<(String, String, bool)>,
}

impl Default for WatchCacheConfig {
    fn default() -> Self {
        WatchCacheConfig { enabled: true, resources: Vec::new() }
    }
}

impl WatchCacheConfig {
    /// Whether a resource is kept in memory; `usual` is what its row says.
    pub fn caches(&self, group: &str, resource: &str, usual: bool) -> bool {
        let named = self.resources.iter().rev().find(|(g, r, _)| (&**g, &**r) == (group, resource));
        self.enabled && named.map_or(usual, |(_, _, kept)| *kept)
    }

    /// Reads what `--watch-cache-sizes` lists: `resource[.group]#size`. Caches size themselves, so the
    /// only size that means anything is 0, for none.
    ///
    /// # Errors
    /// What is wrong with an entry, in upstream's words.
    pub fn parse_sizes<'a>(
        sizes: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<(String, String, bool)>, String> {
        let parse = |entry: &str| {
            let parts = entry.split_once('#').filter(|(_, size)| !size.contains('#'));
            let (resource, size) =
                parts.ok_or_else(|| format!("invalid value of watch cache size: {entry}"))?;
            let size: i64 = size.parse().map_err(|_| format!("invalid size of watch cache size: {entry}"))?;
            if size < 0 {
                return Err(format!("watch cache size cannot be negative: {entry}"));
            }
            let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
            Ok((group.to_owned(), resource.to_owned(), size > 0))
        };
        sizes.into_iter().map(parse).collect()
    }
}

/// Where and how to listen.
#[derive(Debug, Clone)]
pub struct ServingConfig {
    /// The socket.
    pub bind: BindOptions,
    /// `--cert-dir`: where certificates of our own making are.
    pub cert_dir: PathBuf,
    /// `--tls-cert-file` and `--tls-private-key-file`; `None` to make one.
    pub certificate: Option<CertificateFiles>,
    /// `--tls-sni-cert-key`.
    pub sni: Vec<(CertificateFiles, Vec<String>)>,
    /// Versions, suites, HTTP/2.
    pub tls: TlsOptions,
    /// `--http2-max-streams-per-connection`.
    pub http2_streams_max: u32,
    /// `--livez-grace-period`.
    pub livez_grace: Duration,
    /// `--shutdown-delay-duration`: how long to go on serving, not ready, before connections are
    /// turned away.
    pub shutdown_delay: Duration,
    /// `--shutdown-send-retry-after`: whether new requests are told to come again, before connections are
    /// closed.
    pub send_retry_after: bool,
    /// `--shutdown-watch-termination-grace-period`: how long watches may go on after that.
    pub watch_grace: Duration,
    /// `--storage-initialization-timeout`: how long the store may take to answer at start.
    pub storage_wait_max: Duration,
    /// Where to write a kubeconfig for an administrator, and print how to use it. Only set when
    /// nothing else was configured by which anyone could prove an identity.
    pub admin_kubeconfig: Option<PathBuf>,
}

/// How clients prove who they are.
#[derive(Debug, Clone, Default)]
pub struct AuthenticationConfig {
    /// `--client-ca-file`.
    pub client_ca_file: Option<PathBuf>,
    /// `--token-auth-file`.
    pub token_file: Option<PathBuf>,
    /// `--anonymous-auth`, where a file does not say it.
    pub anonymous: bool,
    /// Whether `--anonymous-auth` was given, so that a file may not say it too.
    pub anonymous_is_given: bool,
    /// `--authentication-config`: issuers of tokens, and who may be anonymous.
    pub configuration_file: Option<PathBuf>,
    /// One issuer of tokens, where there is no such file, and the authorities (`--oidc-ca-file`) that it is from.
    pub oidc: Option<OidcConfig>,
    /// A proxy that says in headers who its clients are.
    pub request_header: RequestHeaderConfig,
    /// `--enable-bootstrap-token-auth`.
    pub bootstrap_tokens: bool,
    /// Who else is asked about tokens.
    pub webhook: Option<TokenWebhookConfig>,
}

/// One issuer of tokens (`--oidc-*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcConfig {
    /// What it is and what its tokens mean. Authorities are read from `ca_file`.
    pub flags: OidcFlags,
    /// `--oidc-ca-file`: authorities that its certificate has to be from, if not the system's.
    pub ca_file: Option<PathBuf>,
    /// `--oidc-signing-algs`.
    pub signing_algorithms: Vec<String>,
}

/// Who else is asked about tokens (`--authentication-token-webhook-*`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenWebhookConfig {
    /// The kubeconfig that says where it is.
    pub config_file: PathBuf,
    /// The version of `TokenReview` that it is asked with: `v1` or `v1beta1`.
    pub version: String,
    /// How long its answers are remembered.
    pub cache_ttl: Duration,
}

/// A proxy that says in headers who its clients are (`--requestheader-*`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHeaderConfig {
    /// `--requestheader-client-ca-file`: by whose certificates the proxy logs in; without one there is no
    /// such proxy.
    pub ca_file: Option<PathBuf>,
    /// `--requestheader-allowed-names`: the proxy's common names; empty for any.
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

/// Which admission plugins run besides and instead of upstream's default ones; see
/// [`PLUGINS`](crate::admission::PLUGINS).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// `--enable-admission-plugins`.
    pub enabled: Vec<String>,
    /// `--disable-admission-plugins`.
    pub disabled: Vec<String>,
    /// `--admission-control-config-file`: what plugins are told. Read once, at start.
    pub config_file: Option<PathBuf>,
}

/// What the server knows about Services.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceConfig {
    /// `--service-cluster-ip-range`: one, or one of each family.
    pub cidrs: Vec<Cidr>,
    /// `--service-node-port-range`.
    pub node_ports: RangeInclusive<u16>,
    /// `--kubernetes-service-node-port`; 0 for none.
    pub kubernetes_node_port: u16,
    /// `--endpoint-reconciler-type`.
    pub endpoint_reconciler: EndpointReconciler,
}

/// Tokens of service accounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceAccountConfig {
    /// `--service-account-issuer`; the first one issues, all are accepted.
    pub issuers: Vec<String>,
    /// `--api-audiences`; see [`api_audiences`](Self::api_audiences).
    pub audiences: Vec<String>,
    /// `--service-account-key-file`: keys that tokens may be signed with.
    pub key_files: Vec<PathBuf>,
    /// `--service-account-signing-key-file`.
    pub signing_key_file: Option<PathBuf>,
    /// `--service-account-signing-endpoint`: the socket of a process that signs instead of a key here.
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
    /// The names of this API, one of which a token has to be meant for: its issuers, unless told
    /// otherwise.
    pub fn api_audiences(&self) -> &[String] {
        if self.audiences.is_empty() { &self.issuers } else { &self.audiences }
    }
}

/// What the server knows about Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PodConfig {
    /// `--allow-privileged`.
    pub allow_privileged: bool,
    /// `--default-not-ready-toleration-seconds`.
    pub not_ready_toleration_seconds: i64,
    /// `--default-unreachable-toleration-seconds`.
    pub unreachable_toleration_seconds: i64,
}

/// How this server gets to kubelets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletConfig {
    /// `--kubelet-port`: the port of kubelets that do not say theirs.
    pub port: u16,
    /// `--kubelet-preferred-address-types`, best first.
    pub address_types: Vec<String>,
    /// `--kubelet-client-certificate` and `--kubelet-client-key`.
    pub certificate: Option<CertificateFiles>,
    /// `--kubelet-certificate-authority`; without one kubelets are believed to be who they say they are.
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
    /// Whether watch caches are filled when somebody first lists or watches: a store in memory that begins with a snapshot
    /// may have much that nobody will ask for. Forks begin with all caches of their parent, which it fills at once.
    pub(crate) fn fills_caches_when_asked(&self) -> bool {
        let begun = matches!(&self.storage, StorageConfig::Memory(MemoryConfig { from: Some(_), .. }));
        begun && self.standing == Standing::Member
    }

    /// Whether what requests are decided by is compiled from objects when one depends on it, so that a start does not wait
    /// for it: where all objects are in this process before the server begins, so that this cannot take long.
    pub(crate) fn compiles_when_asked(&self) -> bool {
        self.fills_caches_when_asked() || self.standing == Standing::Fork
    }

    /// Where other servers of the cluster reach this one.
    ///
    /// # Errors
    /// `--peer-advertise-port` is no port.
    pub fn peer_address(&self) -> Result<Address, String> {
        let Some((host, port)) = &self.peers.address else {
            let host = self.advertise_address.to_string();
            return Ok(Address { host, port: self.serving.bind.address.port() });
        };
        let port = port.parse().map_err(|_| format!("--peer-advertise-port is no port: {port}"))?;
        Ok(Address { host: host.clone(), port })
    }

    /// Upstream's defaults over a store in memory, listening on any free port of this machine alone,
    /// with certificates in `dir`. For tests.
    pub fn for_tests(dir: PathBuf) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Config {
            storage: StorageConfig::Memory(MemoryConfig::default()),
            snapshot_file: None,
            host_name: system::host_name(),
            watch_cache: WatchCacheConfig::default(),
            serving: ServingConfig {
                bind: BindOptions { address, share_port: false },
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
            authentication: AuthenticationConfig { anonymous: true, ..AuthenticationConfig::default() },
            authorization: AuthorizationConfig::of_modes(&[Mode::Node, Mode::Rbac]),
            // Nobody makes the accounts that pods would need.
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
            standing: Standing::Member,
            // No endpoint may be an address of this machine alone.
            advertise_address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_cached_unless_its_size_is_zero() {
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
    fn a_cache_size_is_a_resource_and_a_number() {
        let check = |entry: &str, expected: &str| {
            assert_eq!(WatchCacheConfig::parse_sizes([entry]), Err(expected.to_owned()));
        };
        check("pods", "invalid value of watch cache size: pods");
        check("a#b#1", "invalid value of watch cache size: a#b#1");
        check("pods#x", "invalid size of watch cache size: pods#x");
        check("pods#-1", "watch cache size cannot be negative: pods#-1");
    }
}
