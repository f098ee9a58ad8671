//! Builds the configuration from flags: defaults that depend on other flags, and checks for conflicts.
//!
//! Upstream requires `--etcd-servers`, `--service-account-issuer` and the keys of its tokens. Without the first
//! flag this server is standalone: it uses the embedded store, generates a key and the credentials of an
//! administrator, and its defaults are safe on a shared machine (loopback, RBAC). On etcd it requires the others,
//! too, because several servers must accept each other's tokens; all defaults are upstream's.

mod audit;
mod authorization;
mod checks;
mod compatibility;
mod error;
mod metrics;
mod oidc;

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::quantity::Quantity;
use authentication::Anonymous;
use component_base::features::{Gate, Gates, Release};
use component_base::metrics::Selection;
use controlplane::config::{
    AdmissionConfig, AggregationConfig, AuthenticationConfig, Config, Egress, EmulationConfig,
    EncryptionConfig, EndpointReconciler, EtcdConfig, EtcdOverride, IgnoredSetting, KubeletConfig,
    LeadershipTimes, MemoryConfig, PeerConfig, PodConfig, RequestHeaderConfig, RuntimeConfig, ServerRole,
    ServiceAccountConfig, ServiceConfig, ServingConfig, StorageConfig, TokenWebhookConfig, WatchCacheConfig,
};
use controlplane::run::ConfigurationError;
use http::HeaderValue;
use server::tls::{CertificateFiles, TlsOptions, TlsVersion};
use server::{BindOptions, ChainOptions, InflightLimits, PageOptions};

use crate::flags::{CertKey, Flags};
use crate::temporary::{self, TemporaryDir};
pub(crate) use error::OptionError;

/// Default number of streams per HTTP/2 connection.
const HTTP2_STREAMS: u32 = 100;

/// Paths that a standalone server serves without credentials by default.
const HEALTH_CHECKS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// Default issuer of service account tokens (kubeadm's choice).
const SERVICE_ACCOUNT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Result of processing the flags.
pub(crate) struct Options {
    /// Configuration of the server.
    pub(crate) config: Config,
}

impl Options {
    /// Processes the flags.
    ///
    /// # Errors
    /// All errors, in upstream's format for one and for several errors.
    pub(crate) fn from_flags(flags: &Flags) -> Result<Self, OptionError> {
        let gates = compatibility::gates(flags)?;
        let mut errors = checks::all(flags, gates);
        errors.extend(compatibility::errors(flags, gates.effective()));
        let config = config(flags, gates, &mut errors);
        match config {
            Some(config) if errors.is_empty() => Ok(Options { config }),
            _ => Err(OptionError::Invalid(errors)),
        }
    }

    /// Creates the temporary directory of this process, if it needs one.
    ///
    /// # Errors
    /// [`OptionError::TemporaryDir`].
    pub(crate) fn temporary(&self, flags: &Flags) -> Result<TemporaryDir, OptionError> {
        let is_temporary = flags.bool("embedded-in-memory") && flags.optional("embedded-data-dir").is_none();
        let kubeconfig = self.config.serving.admin_kubeconfig.as_ref();
        let cert_dir = Some(&self.config.serving.cert_dir).filter(|_| !flags.is_set("cert-dir"));
        let file = kubeconfig.or(cert_dir).filter(|_| is_temporary);
        match file.and_then(|file| file.parent()) {
            Some(dir) => Ok(TemporaryDir::create(dir)?),
            None => Ok(TemporaryDir::none()),
        }
    }

    /// Logs the storage location.
    pub(crate) fn announce(&self) {
        let config = &self.config;
        let version = controlplane::run::version().git_version;
        match &config.storage {
            StorageConfig::Etcd(etcd) => tracing::info!(version, etcd = etcd.endpoints.join(","), "starting"),
            StorageConfig::Embedded { dir, .. } => {
                tracing::info!(version, dir = %dir.display(), "starting with the embedded store");
            }
            StorageConfig::Memory(_) => tracing::info!(version, "starting with a store in memory"),
        }
    }
}

/// True if the server uses an embedded store, so that it is the only one of its cluster.
fn is_standalone(flags: &Flags) -> bool {
    flags.list("etcd-servers").is_empty()
}

/// True if the server runs its own controllers. A flag for authorization marks a server that a tool, such as envtest,
/// sets up as one part of a cluster; it gets controllers only on request.
fn runs_controllers(flags: &Flags) -> bool {
    let is_default = !flags.is_set("embedded-controllers");
    let wanted =
        if is_default { !authorization::is_configured(flags) } else { flags.bool("embedded-controllers") };
    is_standalone(flags) && wanted
}

/// Builds the configuration; `None` after a fatal error.
fn config(flags: &Flags, gates: Gates, errors: &mut Vec<String>) -> Option<Config> {
    let data_dir = flags.optional("embedded-data-dir").map_or_else(|| data_dir(flags, errors), PathBuf::from);
    let storage = storage(flags, &data_dir, errors);
    let authentication = authentication(flags);
    let watch_cache = watch_cache(flags, errors);
    let mut serving = serving(flags, &data_dir, &storage, &authentication, errors)?;
    serving.tls.ignores_uids = !gates.enabled(Gate::AllowParsingUserUIDFromCertAuth);
    let advertise_address =
        advertised_address(flags).unwrap_or_else(|| default_advertise_address(serving.bind.address.ip()));
    Some(Config {
        storage,
        snapshot_file: path(flags, "embedded-snapshot"),
        snapshot_endpoint: flags.bool("embedded-snapshot-endpoint"),
        builtin_controllers: runs_controllers(flags),
        encryption: path(flags, "encryption-provider-config").map(|file| EncryptionConfig {
            file,
            automatic_reload: flags.bool("encryption-provider-config-automatic-reload"),
        }),
        watch_cache,
        authentication,
        authorization: authorization::config(flags)?,
        admission: AdmissionConfig {
            enabled: flags.list("enable-admission-plugins"),
            disabled: flags.list("disable-admission-plugins"),
            config_file: path(flags, "admission-control-config-file"),
        },
        chain: chain(flags, gates, metrics::selection(flags, errors)),
        priority_and_fairness: flags.bool("enable-priority-and-fairness"),
        runtime_config: RuntimeConfig::parse(&pairs(flags, "runtime-config"))
            .map_err(|error| errors.push(error.to_string()))
            .unwrap_or_default(),
        gates,
        emulation: EmulationConfig {
            forward_compatible: flags.bool("emulation-forward-compatible"),
            runtime_config_forward_compatible: flags.bool("runtime-config-emulation-forward-compatible"),
        },
        watch_min: seconds(flags.int("min-request-timeout")),
        event_ttl: duration(flags, "event-ttl"),
        memory_limit: memory_limit(flags, errors),
        object_count_period: duration(flags, "etcd-count-metric-poll-period"),
        delete_collection_workers: usize::try_from(flags.int("delete-collection-workers"))
            .unwrap_or(1)
            .max(1),
        services: services(flags, advertise_address),
        service_accounts: service_accounts(flags),
        pods: PodConfig {
            allow_privileged: flags.bool("allow-privileged"),
            not_ready_toleration_seconds: flags.int("default-not-ready-toleration-seconds"),
            unreachable_toleration_seconds: flags.int("default-unreachable-toleration-seconds"),
        },
        kubelets: kubelets(flags),
        aggregation: aggregation(flags),
        audit: audit::config(flags),
        egress: egress(flags, errors),
        tracing_config_file: path(flags, "tracing-config-file"),
        peers: peers(flags),
        leadership: leadership(flags),
        host_name: controlplane::config::host_name(),
        role: ServerRole::Member,
        advertise_address,
        ignored_settings: ignored_settings(flags, gates),
        serving,
    })
}

/// Returns the flags and feature gates without effect.
fn ignored_settings(flags: &Flags, gates: Gates) -> Vec<IgnoredSetting> {
    let gates = controlplane::features::idle(&gates).map(|gate| IgnoredSetting {
        name: format!("--feature-gates={gate:?}"),
        reason: format!("behaviour is as in v{}", Release::THIS),
    });
    flags.ignored().chain(gates).collect()
}

/// Returns the address and CA for peer servers.
fn peers(flags: &Flags) -> PeerConfig {
    PeerConfig {
        authority: path(flags, "peer-ca-file"),
        address: flags
            .optional("peer-advertise-ip")
            .zip(flags.optional("peer-advertise-port"))
            .map(|(ip, port)| (ip.to_owned(), port.to_owned())),
    }
}

/// Returns the lease times of coordinated leader election.
fn leadership(flags: &Flags) -> LeadershipTimes {
    LeadershipTimes {
        lease_duration: duration(flags, "coordinated-leadership-lease-duration"),
        renew_deadline: duration(flags, "coordinated-leadership-renew-deadline"),
        retry_period: duration(flags, "coordinated-leadership-retry-period"),
    }
}

/// Returns the egress proxies.
fn egress(flags: &Flags, errors: &mut Vec<String>) -> Egress {
    let file = path(flags, "egress-selector-config-file").filter(|path| path.exists());
    let read = file.map(|path| controlplane::config::egress(&path)).transpose();
    read.map_err(|error| errors.push(error.to_string())).ok().flatten().unwrap_or_default()
}

/// Returns the watch cache settings of resources.
fn watch_cache(flags: &Flags, errors: &mut Vec<String>) -> WatchCacheConfig {
    let sizes = flags.list("watch-cache-sizes");
    let resources = WatchCacheConfig::parse_sizes(sizes.iter().map(String::as_str));
    let resources = resources.map_err(|error| errors.push(error.to_string())).unwrap_or_default();
    WatchCacheConfig { enabled: flags.bool("watch-cache"), resources }
}

fn storage(flags: &Flags, data_dir: &std::path::Path, errors: &mut Vec<String>) -> StorageConfig {
    let every = duration(flags, "etcd-compaction-interval");
    let compaction_interval = (!every.is_zero()).then_some(every);
    let from = path(flags, "embedded-from");
    if flags.bool("embedded-in-memory") {
        let dir = flags.optional("embedded-data-dir").map(|_| data_dir.join("store"));
        return StorageConfig::Memory(MemoryConfig { compaction_interval, from, dir, shared: None });
    }
    if is_standalone(flags) {
        return StorageConfig::Embedded { dir: data_dir.join("store"), compaction_interval, from };
    }
    StorageConfig::Etcd(EtcdConfig {
        endpoints: flags.list("etcd-servers"),
        overrides: etcd_overrides(flags, errors),
        prefix: format!("/{}", flags.text("etcd-prefix").trim_matches('/')),
        ca: path(flags, "etcd-cafile"),
        certificate: path(flags, "etcd-certfile"),
        key: path(flags, "etcd-keyfile"),
        health_timeout: duration(flags, "etcd-healthcheck-timeout"),
        readiness_timeout: duration(flags, "etcd-readycheck-timeout"),
        lease_reuse: seconds(flags.int("lease-reuse-duration-seconds")),
        compaction_interval,
        size_interval: duration(flags, "etcd-db-metric-poll-interval"),
    })
}

fn etcd_overrides(flags: &Flags, errors: &mut Vec<String>) -> Vec<EtcdOverride> {
    let entries = flags.list("etcd-servers-overrides");
    let parsed: Result<_, _> = entries.iter().map(|entry| EtcdOverride::parse(entry)).collect();
    parsed.map_err(|error: ConfigurationError| errors.push(error.to_string())).unwrap_or_default()
}

/// Returns the memory limit; `None` uses the limit of the cgroup.
fn memory_limit(flags: &Flags, errors: &mut Vec<String>) -> Option<u64> {
    let text = flags.optional("memory-limit")?;
    let bytes = text.parse::<Quantity>().ok().and_then(|bytes| u64::try_from(bytes.value()).ok());
    if bytes.is_none() {
        errors.push(format!("--memory-limit must be a quantity of bytes: {text}"));
    }
    bytes.map(|bytes| if bytes == 0 { u64::MAX } else { bytes })
}

/// Returns the requests that may be anonymous, unless a file configures them. Upstream's default is all of them,
/// except with AlwaysAllow. The default of a standalone server is health checks only, unless its authorization is
/// configured: then the authorizers decide, as upstream.
fn anonymous(flags: &Flags) -> Anonymous {
    let is_given = flags.is_set("anonymous-auth");
    if !flags.bool("anonymous-auth") {
        return Anonymous::Disabled;
    }
    if authorization::allows_everything(flags) {
        if is_given {
            tracing::warn!(
                "anonymous authentication is disabled because AlwaysAllow would give it full access"
            );
        }
        return Anonymous::Disabled;
    }
    if is_standalone(flags) && !is_given && !authorization::is_configured(flags) {
        return Anonymous::Paths(HEALTH_CHECKS.map(str::to_owned).into());
    }
    Anonymous::AllPaths
}

fn authentication(flags: &Flags) -> AuthenticationConfig {
    AuthenticationConfig {
        client_ca_file: path(flags, "client-ca-file"),
        token_file: path(flags, "token-auth-file"),
        anonymous: anonymous(flags),
        anonymous_is_given: flags.is_set("anonymous-auth"),
        configuration_file: path(flags, "authentication-config"),
        oidc: oidc::config(flags),
        request_header: RequestHeaderConfig {
            ca_file: path(flags, "requestheader-client-ca-file"),
            allowed_names: flags.list("requestheader-allowed-names"),
            username_headers: flags.list("requestheader-username-headers"),
            uid_headers: flags.list("requestheader-uid-headers"),
            group_headers: flags.list("requestheader-group-headers"),
            extra_prefixes: flags.list("requestheader-extra-headers-prefix"),
        },
        bootstrap_tokens: flags.bool("enable-bootstrap-token-auth"),
        webhook: path(flags, "authentication-token-webhook-config-file").map(|config_file| {
            TokenWebhookConfig {
                config_file,
                version: flags.text("authentication-token-webhook-version").to_owned(),
                cache_ttl: duration(flags, "authentication-token-webhook-cache-ttl"),
            }
        }),
    }
}

fn serving(
    flags: &Flags,
    data_dir: &std::path::Path,
    storage: &StorageConfig,
    authentication: &AuthenticationConfig,
    errors: &mut Vec<String>,
) -> Option<ServingConfig> {
    let port = u16::try_from(flags.int("secure-port")).ok()?;
    let embedded = !matches!(storage, StorageConfig::Etcd(_));
    let ip = if embedded && !flags.is_set("bind-address") {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    } else {
        flags.text("bind-address").trim().parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    };
    let cert_dir = if flags.is_set("cert-dir") || !embedded {
        PathBuf::from(flags.text("cert-dir"))
    } else {
        data_dir.join("pki")
    };
    let nobody_could_log_in = authentication.client_ca_file.is_none()
        && authentication.token_file.is_none()
        && authentication.webhook.is_none()
        && authentication.request_header.ca_file.is_none();
    let kubeconfig = if embedded { data_dir } else { &cert_dir }.join("admin.kubeconfig");
    let certificate = path(flags, "tls-cert-file").zip(path(flags, "tls-private-key-file"));
    Some(ServingConfig {
        bind: BindOptions {
            address: SocketAddr::new(ip, port),
            share_port: flags.bool("permit-port-sharing"),
        },
        certificate: certificate.map(|(certificate, key)| CertificateFiles { certificate, key }),
        sni: flags
            .list("tls-sni-cert-key")
            .iter()
            .filter_map(|text| CertKey::parse(text).ok())
            .map(sni)
            .collect(),
        tls: tls(flags, errors)?,
        http2_streams_max: match u32::try_from(flags.int("http2-max-streams-per-connection")) {
            Ok(0) | Err(_) => HTTP2_STREAMS,
            Ok(streams) => streams,
        },
        livez_grace: duration(flags, "livez-grace-period"),
        shutdown_delay: duration(flags, "shutdown-delay-duration"),
        send_retry_after: flags.bool("shutdown-send-retry-after"),
        watch_grace: duration(flags, "shutdown-watch-termination-grace-period"),
        storage_wait_max: duration(flags, "storage-initialization-timeout"),
        admin_kubeconfig: nobody_could_log_in.then_some(kubeconfig),
        cert_dir,
    })
}

fn sni(CertKey { certificate, key, names }: CertKey) -> (CertificateFiles, Vec<String>) {
    (CertificateFiles { certificate: certificate.into(), key: key.into() }, names)
}

fn tls(flags: &Flags, errors: &mut Vec<String>) -> Option<TlsOptions> {
    let mut note = |error: server::tls::TlsError| errors.push(error.to_string());
    let suites = TlsOptions::parse_suites(&flags.list("tls-cipher-suites")).map_err(&mut note).ok();
    let min_version = TlsVersion::parse(flags.text("tls-min-version")).map_err(&mut note).ok();
    let curves = flags.list("tls-curve-preferences");
    Some(TlsOptions {
        min_version: min_version?,
        suites: suites?,
        curves: curves.iter().filter_map(|number| number.trim().parse().ok()).collect(),
        http1_only: flags.bool("disable-http2-serving"),
        ignores_uids: false,
    })
}

fn chain(flags: &Flags, gates: Gates, metrics: Selection) -> ChainOptions {
    let limit = |name: &str| usize::try_from(flags.int(name)).unwrap_or(0);
    let hsts = flags.list("strict-transport-security-directives").join("; ");
    ChainOptions {
        request_timeout: duration(flags, "request-timeout"),
        inflight: InflightLimits {
            reading_max: limit("max-requests-inflight"),
            mutating_max: limit("max-mutating-requests-inflight"),
        },
        goaway_chance: flags.float("goaway-chance"),
        hsts: HeaderValue::from_str(&hsts).ok().filter(|value| !value.is_empty()),
        gates,
        pages: PageOptions {
            flags: gates.enabled(Gate::ComponentFlagz).then(|| flags.all().into()),
            statusz: gates.enabled(Gate::ComponentStatusz),
            cbor: gates.enabled(Gate::CBORServingAndStorage),
            // Set by the code that started logging.
            debugging: None,
            metrics,
            // Set when the store is opened.
            snapshot: None,
        },
        ..ChainOptions::default()
    }
}

fn services(flags: &Flags, advertise_address: IpAddr) -> ServiceConfig {
    let (low, high) = checks::node_ports(flags);
    ServiceConfig {
        cidrs: checks::cidrs(flags),
        node_ports: low..=high,
        kubernetes_node_port: u16::try_from(flags.int("kubernetes-service-node-port")).unwrap_or(0),
        endpoint_reconciler: endpoint_reconciler(flags, advertise_address),
    }
}

/// Returns the strategy for the endpoint of this server. A machine without a network has only a loopback address, which
/// Endpoints cannot contain.
fn endpoint_reconciler(flags: &Flags, advertise_address: IpAddr) -> EndpointReconciler {
    match flags.text("endpoint-reconciler-type") {
        _ if advertise_address.is_loopback() => EndpointReconciler::None,
        "none" => EndpointReconciler::None,
        "master-count" => {
            let count = usize::try_from(flags.int("apiserver-count")).unwrap_or(1);
            EndpointReconciler::MasterCount(count.max(1))
        }
        _ => EndpointReconciler::Lease,
    }
}

fn service_accounts(flags: &Flags) -> ServiceAccountConfig {
    let files = |name: &str| flags.list(name).into_iter().map(PathBuf::from).collect();
    let mut issuers = flags.list("service-account-issuer");
    if issuers.is_empty() {
        issuers.push(SERVICE_ACCOUNT_ISSUER.to_owned());
    }
    ServiceAccountConfig {
        issuers,
        audiences: flags.list("api-audiences"),
        key_files: files("service-account-key-file"),
        signing_key_file: path(flags, "service-account-signing-key-file"),
        signing_endpoint: flags.optional("service-account-signing-endpoint").map(str::to_owned),
        jwks_uri: flags.optional("service-account-jwks-uri").map(str::to_owned),
        token_expiration_max: duration(flags, "service-account-max-token-expiration"),
        extend_expiration: flags.bool("service-account-extend-token-expiration"),
        lookup: flags.bool("service-account-lookup"),
    }
}

fn kubelets(flags: &Flags) -> KubeletConfig {
    let certificate = path(flags, "kubelet-client-certificate").zip(path(flags, "kubelet-client-key"));
    KubeletConfig {
        port: u16::try_from(flags.int("kubelet-port")).unwrap_or(0),
        address_types: flags.list("kubelet-preferred-address-types"),
        certificate: certificate.map(|(certificate, key)| CertificateFiles { certificate, key }),
        authority: path(flags, "kubelet-certificate-authority"),
    }
}

fn aggregation(flags: &Flags) -> AggregationConfig {
    let certificate = path(flags, "proxy-client-cert-file").zip(path(flags, "proxy-client-key-file"));
    AggregationConfig {
        certificate: certificate.map(|(certificate, key)| CertificateFiles { certificate, key }),
        endpoint_routing: flags.bool("enable-aggregator-routing"),
        forward_redirects: !flags.bool("aggregator-reject-forwarding-redirect"),
    }
}

fn pairs(flags: &Flags, name: &str) -> Vec<(String, String)> {
    let text = |part: &str| part.trim().to_owned();
    let items = flags.list(name);
    items
        .iter()
        .filter(|item| !item.is_empty())
        .map(|item| match item.split_once('=') {
            Some((key, value)) => (text(key), text(value)),
            None => (text(item), String::new()),
        })
        .collect()
}

fn path(flags: &Flags, name: &str) -> Option<PathBuf> {
    flags.optional(name).map(PathBuf::from)
}

fn duration(flags: &Flags, name: &str) -> Duration {
    Duration::from_nanos(u64::try_from(flags.nanos(name)).unwrap_or(0))
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// Returns the default directory of the embedded store. An in-memory store needs only certificates and the
/// admin kubeconfig, which are in a temporary directory.
fn data_dir(flags: &Flags, errors: &mut Vec<String>) -> PathBuf {
    if flags.bool("embedded-in-memory") {
        return temporary::unused_path();
    }
    if !is_standalone(flags) {
        return PathBuf::new();
    }
    if authorization::is_configured(flags) {
        // Tools start several servers, each in a directory of its own.
        return PathBuf::from("mainstay-data");
    }
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    user_data_dir(variable("XDG_DATA_HOME"), variable("HOME")).unwrap_or_else(|| {
        errors.push(
            "--embedded-data-dir is required: neither XDG_DATA_HOME nor HOME is set to an absolute path"
                .to_owned(),
        );
        PathBuf::new()
    })
}

/// Returns the directory for the user's data of this program (XDG Base Directory Specification). Relative paths
/// are invalid and ignored.
fn user_data_dir(data_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let home = home.map(|home| home.join(".local/share"));
    let base = [data_home, home].into_iter().flatten().find(|path| path.is_absolute())?;
    Some(base.join("mainstay"))
}

/// Returns `--advertise-address`; `None` if it is absent or unspecified.
fn advertised_address(flags: &Flags) -> Option<IpAddr> {
    let address = flags.optional("advertise-address")?.trim().parse().ok();
    address.filter(|address: &IpAddr| !address.is_unspecified())
}

/// Returns the default advertise address: the bind address if it is reachable from outside, otherwise the
/// source address of an outgoing connection. No packet is sent to determine it.
fn default_advertise_address(bound: IpAddr) -> IpAddr {
    if !bound.is_unspecified() && !bound.is_loopback() {
        return bound;
    }
    let outward = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    outward().filter(|address| !address.is_unspecified()).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}

#[cfg(test)]
mod tests;
