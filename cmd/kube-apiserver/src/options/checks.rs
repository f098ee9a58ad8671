//! Flag validation at start: upstream's checks, and flags that this server refuses to ignore.

use std::net::IpAddr;

use component_base::features::{Gate, Gates};
use controlplane::admission::find_plugin;
use controlplane::config::Cidr;

use super::authorization;
use crate::flags::{FlagSupport, Flags};
use crate::logging::Format;

/// Default Service CIDR.
const SERVICE_CIDR: &str = "10.0.0.0/24";
/// Maximum size of a Service CIDR, as a power of two.
const SERVICE_CIDR_BITS_MAX: u8 = 20;

/// Upstream's storage media types, sorted.
const STORAGE_MEDIA_TYPES: [&str; 3] =
    ["application/json", "application/vnd.kubernetes.protobuf", "application/yaml"];

/// Returns all errors, in upstream's words where it has some.
pub(super) fn all(flags: &Flags, gates: Gates) -> Vec<String> {
    let mut errors = Vec::new();
    reject_unsupported(flags, &mut errors);
    generic(flags, &mut errors);
    etcd(flags, &mut errors);
    embedded(flags, &mut errors);
    serving(flags, &mut errors);
    service_accounts(flags, &mut errors);
    authorization::errors(flags, &mut errors);
    admission(flags, &mut errors);
    token_requests(flags, &mut errors);
    services(flags, &gates, &mut errors);
    errors.extend(advertised_address(flags));
    token_signer(flags, gates, &mut errors);
    request_headers(flags, gates, &mut errors);
    tracing(flags, &mut errors);
    peers(flags, gates, &mut errors);
    leadership(flags, &mut errors);
    super::audit::check(flags, &mut errors);
    super::oidc::check(flags, &mut errors);
    errors
}

fn reject_unsupported(flags: &Flags, errors: &mut Vec<String>) {
    for flag in flags.changed() {
        if let FlagSupport::Rejected(reason) = flag.support {
            errors.push(format!("--{} is not supported by this version of the server: {reason}", flag.name));
        }
    }
}

/// Rejects flags of the embedded store if it is not used.
fn embedded(flags: &Flags, errors: &mut Vec<String>) {
    if super::is_standalone(flags) {
        return;
    }
    let names = ["embedded-in-memory", "embedded-from", "embedded-snapshot", "embedded-snapshot-endpoint"];
    if flags.is_set("embedded-controllers") && flags.bool("embedded-controllers") {
        errors.push(
            "--embedded-controllers needs the embedded store, which is not used with --etcd-servers"
                .to_owned(),
        );
    }
    let is_set = |name: &&str| flags.optional(name).is_some_and(|value| value != "false");
    for name in names.iter().filter(|name| is_set(name)) {
        errors.push(format!("--{name} is about the embedded store, which is not used with --etcd-servers"));
    }
}

fn generic(flags: &Flags, errors: &mut Vec<String>) {
    let durations = [
        "livez-grace-period",
        "request-timeout",
        "storage-initialization-timeout",
        "shutdown-delay-duration",
    ];
    for name in durations {
        if flags.nanos(name) < 0 {
            errors.push(format!("--{name} can not be a negative value"));
        }
    }
    for name in ["max-requests-inflight", "max-mutating-requests-inflight", "min-request-timeout"] {
        if flags.int(name) < 0 {
            errors.push(format!("--{name} can not be negative value"));
        }
    }
    seats(flags, errors);
    if flags.nanos("shutdown-watch-termination-grace-period") < 0 {
        errors.push(
            "shutdown-watch-termination-grace-period, if provided, can not be a negative value".to_owned(),
        );
    }
    if !(0.0..=0.02).contains(&flags.float("goaway-chance")) {
        errors.push("--goaway-chance can not be less than 0 or greater than 0.02".to_owned());
    }
    for directive in flags.list("strict-transport-security-directives") {
        let value = directive.strip_prefix("max-age=").map(|value| value.parse::<u64>().is_ok());
        if !matches!((value, directive.as_str()), (Some(true), _) | (None, "includeSubDomains" | "preload")) {
            errors.push("--strict-transport-security-directives invalid, allowed values: max-age=expireTime, includeSubDomains, preload. see https://tools.ietf.org/html/rfc6797#section-6.1 for more information".to_owned());
        }
    }
    let format = flags.text("logging-format");
    if Format::from_name(format).is_none() {
        errors.push(format!("format: Invalid value: {format:?}: Unsupported log format"));
    }
    if format == "json" && !flags.text("vmodule").is_empty() {
        errors.push("vmodule: Forbidden: Only supported for text log format".to_owned());
    }
}

/// Rejects zero seats, which would block all requests.
fn seats(flags: &Flags, errors: &mut Vec<String>) {
    let [reading, mutating] =
        ["max-requests-inflight", "max-mutating-requests-inflight"].map(|name| flags.int(name));
    if flags.bool("enable-priority-and-fairness") && reading.saturating_add(mutating) <= 0 {
        errors.push(format!(
            "invalid configuration: MaxRequestsInFlight={reading} and MaxMutatingRequestsInFlight={mutating}; they must add up to something positive"
        ));
    }
}

fn etcd(flags: &Flags, errors: &mut Vec<String>) {
    if !matches!(flags.text("storage-backend"), "" | "etcd3") {
        errors.push(
            "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'"
                .to_owned(),
        );
    }
    let file = "encryption-provider-config";
    let reload = "encryption-provider-config-automatic-reload";
    if flags.optional(file).is_none() && flags.bool(reload) {
        errors.push(format!("--{reload} must be set with --{file}"));
    }
    let media_type = flags.text("storage-media-type");
    if !media_type.is_empty() && !STORAGE_MEDIA_TYPES.contains(&media_type) {
        errors.push(format!(
            "--storage-media-type {media_type:?} invalid, allowed values: {}",
            STORAGE_MEDIA_TYPES.join(", ")
        ));
    }
}

fn serving(flags: &Flags, errors: &mut Vec<String>) {
    let port = flags.int("secure-port");
    if !(1..=65_535).contains(&port) {
        errors.push(format!(
            "--secure-port {port} must be between 1 and 65535, inclusive. It cannot be turned off with 0"
        ));
    }
    if flags.optional("tls-cert-file").is_some() != flags.optional("tls-private-key-file").is_some() {
        errors.push("--tls-cert-file and --tls-private-key-file must be specified together".to_owned());
    }
}

fn tracing(flags: &Flags, errors: &mut Vec<String>) {
    let missing = |path: &&str| !std::path::Path::new(path).exists();
    for flag in ["tracing-config-file", "egress-selector-config-file"] {
        if let Some(path) = flags.optional(flag).filter(missing) {
            errors.push(format!("{flag} {path} does not exist"));
        }
    }
}

fn peers(flags: &Flags, gates: Gates, errors: &mut Vec<String>) {
    for name in ["peer-ca-file", "peer-advertise-ip", "peer-advertise-port"] {
        if flags.optional(name).is_some() && !gates.enabled(Gate::UnknownVersionInteroperabilityProxy) {
            errors.push(format!(
                "--{name} requires UnknownVersionInteroperabilityProxy feature to be turned on"
            ));
        }
    }
}

fn leadership(flags: &Flags, errors: &mut Vec<String>) {
    let names = ["lease-duration", "renew-deadline", "retry-period"];
    let names = names.map(|name| format!("coordinated-leadership-{name}"));
    for pair in names.windows(2) {
        if let [longer, shorter] = pair
            && flags.nanos(longer) <= flags.nanos(shorter)
        {
            errors.push(format!("--{longer} must be greater than --{shorter}"));
        }
    }
}

fn service_accounts(flags: &Flags, errors: &mut Vec<String>) {
    let issuers = flags.list("service-account-issuer");
    for (index, issuer) in issuers.iter().enumerate() {
        if issuer.is_empty() {
            errors.push("service-account-issuer should not be an empty string".to_owned());
        } else if issuers.iter().take(index).any(|previous| previous == issuer) {
            errors.push(format!("service-account-issuer {issuer:?} is already specified"));
        }
    }
    if !super::is_standalone(flags) {
        if issuers.is_empty() {
            errors.push("service-account-issuer is a required flag".to_owned());
        }
        if flags.list("service-account-key-file").is_empty() && !has_external_signer(flags) {
            errors.push(
                "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set"
                    .to_owned(),
            );
        }
    }
    if let Some(uri) = flags.optional("service-account-jwks-uri")
        && !uri.to_ascii_lowercase().starts_with("https:")
    {
        errors.push(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"));
    }
    let lifetime = flags.nanos("service-account-max-token-expiration");
    let hour = 3600 * 1_000_000_000;
    let longest = (1_i64 << 32) * 1_000_000_000;
    if lifetime != 0 && !(hour..=longest).contains(&lifetime) {
        errors.push(
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds".to_owned(),
        );
    }
}

/// Requires a token issuer on etcd, where several servers verify each other's tokens (upstream's
/// `validateTokenRequest`). The only server of an embedded store generates its key.
fn token_requests(flags: &Flags, errors: &mut Vec<String>) {
    if super::is_standalone(flags) {
        return;
    }
    let has_key = flags.optional("service-account-signing-key-file").is_some();
    let is_attempted = has_key || has_issuer(flags) || !flags.list("api-audiences").is_empty();
    if !is_attempted {
        errors.push(
            "--service-account-signing-key-file and --service-account-issuer are required flags".to_owned(),
        );
    } else if !has_issuer(flags) || !(has_key || has_external_signer(flags)) {
        errors.push(
            "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be \
             specified together"
                .to_owned(),
        );
    }
}

/// True if the first issuer, which signs tokens, has a name.
fn has_issuer(flags: &Flags) -> bool {
    flags.list("service-account-issuer").first().is_some_and(|issuer| !issuer.is_empty())
}

/// True if an external signer has the keys. Upstream connects to it only with an issuer.
fn has_external_signer(flags: &Flags) -> bool {
    flags.optional("service-account-signing-endpoint").is_some() && has_issuer(flags)
}

/// Rejects a local signing key together with an external signer.
fn token_signer(flags: &Flags, gates: Gates, errors: &mut Vec<String>) {
    let Some(endpoint) = flags.optional("service-account-signing-endpoint") else { return };
    if flags.optional("service-account-signing-key-file").is_some()
        || !flags.list("service-account-key-file").is_empty()
    {
        errors.push(
            "can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with \
             `--service-account-signing-endpoint` (They are mutually exclusive)"
                .to_owned(),
        );
    }
    if !gates.enabled(Gate::ExternalServiceAccountTokenSigner) {
        errors.push(
            "setting `--service-account-signing-endpoint` requires enabling ExternalServiceAccountTokenSigner \
             feature gate"
                .to_owned(),
        );
    }
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    if endpoint.strip_prefix('@').is_some_and(|name| !name.split('.').all(word)) {
        errors.push(format!(
            "invalid value {endpoint:?} passed for `--service-account-signing-endpoint`, when prefixed with @ must \
             be a valid abstract socket name"
        ));
    }
}

fn request_headers(flags: &Flags, gates: Gates, errors: &mut Vec<String>) {
    let uids = flags.list("requestheader-uid-headers");
    let mut blank = |flag: &str| {
        if flags.list(flag).iter().any(|value| value.trim().is_empty()) {
            errors.push(format!("empty value in {flag:?}"));
        }
    };
    for flag in [
        "requestheader-username-headers",
        "requestheader-group-headers",
        "requestheader-extra-headers-prefix",
        "requestheader-allowed-names",
    ] {
        blank(flag);
    }
    if gates.enabled(Gate::RemoteRequestHeaderUID) {
        blank("requestheader-uid-headers");
        if !uids.is_empty() && !uids.iter().any(|name| name.eq_ignore_ascii_case("X-Remote-Uid")) {
            errors.push("--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work".to_owned());
        }
    } else if !uids.is_empty() {
        errors.push(
            "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be enabled"
                .to_owned(),
        );
    }
    if !flags.list("requestheader-allowed-names").is_empty() {
        return;
    }
    let read = |flag: &str| flags.optional(flag).and_then(|path| std::fs::read(path).ok());
    if let (Some(clients), Some(proxies)) = (read("client-ca-file"), read("requestheader-client-ca-file"))
        && server::tls::share_certificates(&clients, &proxies)
    {
        errors.push("--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users".to_owned());
    }
}

fn admission(flags: &Flags, errors: &mut Vec<String>) {
    let enabled = flags.list("enable-admission-plugins");
    let disabled = flags.list("disable-admission-plugins");
    for (flag, names) in [("enable", &enabled), ("disable", &disabled)] {
        for name in names {
            if find_plugin(name).is_none() {
                errors.push(format!("{flag}-admission-plugins plugin {name:?} is unknown"));
            }
        }
    }
    let overlap: Vec<&str> =
        enabled.iter().filter(|name| disabled.contains(name)).map(String::as_str).collect();
    if !overlap.is_empty() {
        errors.push(format!(
            "[{}] in enable-admission-plugins and disable-admission-plugins overlapped",
            overlap.join(" ")
        ));
    }
}

/// Returns the Service CIDRs, or the default.
pub(super) fn cidrs(flags: &Flags) -> Vec<Cidr> {
    let text = flags.optional("service-cluster-ip-range").unwrap_or(SERVICE_CIDR);
    text.split(',').filter_map(|cidr| Cidr::parse(cidr.trim())).collect()
}

/// Returns the inclusive NodePort range. An empty range is upstream's default.
pub(super) fn node_ports(flags: &Flags) -> (u16, u16) {
    let port = |port: i64| u16::try_from(port).unwrap_or(0);
    match crate::flags::ports(flags.text("service-node-port-range")) {
        Ok((low, high)) if high > 0 => (port(low), port(high)),
        _ => (30_000, 32_767),
    }
}

/// Rejects an address that Endpoints cannot contain, if the server maintains Endpoints with it (upstream's
/// `EndpointReconciler.ValidateIP`).
fn advertised_address(flags: &Flags) -> Option<String> {
    let address = super::advertised_address(flags)?;
    if flags.text("endpoint-reconciler-type") == "none" {
        return None;
    }
    let (is_link_local, is_local_multicast) = match address.to_canonical() {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.octets().starts_with(&[0xff, 0x02])),
    };
    let reason = if address.to_canonical().is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    } else if is_link_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    } else if is_local_multicast {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
    } else {
        return None;
    };
    Some(format!(
        "cannot use public IP {address} with endpoint reconciler: <nil>: Invalid value: \"{address}\": {reason}"
    ))
}

/// Checks that the bitmaps of the Service CIDRs are small.
fn bitmap_sizes(cidrs: &[Cidr], errors: &mut Vec<String>) {
    let names = ["--service-cluster-ip-range", "--service-cluster-ip-range[1]"];
    for (cidr, name) in cidrs.iter().zip(names) {
        let bits = if cidr.network.is_ipv4() { 32 } else { 128 };
        if bits - cidr.prefix_len > SERVICE_CIDR_BITS_MAX {
            errors.push(format!(
                "specified {name} is too large; for {bits}-bit addresses, the mask must be >= {}",
                bits - SERVICE_CIDR_BITS_MAX
            ));
        }
    }
}

fn services(flags: &Flags, gates: &Gates, errors: &mut Vec<String>) {
    match flags.text("endpoint-reconciler-type") {
        "" | "lease" | "master-count" | "none" => {}
        other => errors.push(format!("Reconciler not implemented: {other}")),
    }
    let count = flags.int("apiserver-count");
    if count <= 0 {
        errors.push(format!("--apiserver-count should be a positive number, but value '{count}' provided"));
    }
    let text = flags.optional("service-cluster-ip-range").unwrap_or(SERVICE_CIDR);
    let cidr_count = text.split(',').count();
    let cidrs = cidrs(flags);
    if cidrs.len() < cidr_count {
        errors.push(format!("service-cluster-ip-range {text:?} is not a valid cidr"));
    }
    if cidr_count > 2 {
        errors.push("--service-cluster-ip-range must not contain more than two entries".to_owned());
    }
    if !gates.enabled(Gate::DisableAllocatorDualWrite) {
        bitmap_sizes(&cidrs, errors);
    }
    if let [first, second] = cidrs.as_slice()
        && first.network.is_ipv4() == second.network.is_ipv4()
    {
        errors.push(
            "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family"
                .to_owned(),
        );
    }
    let port = flags.int("kubernetes-service-node-port");
    if !(0..=65_535).contains(&port) {
        errors.push(format!("--kubernetes-service-node-port {port} must be between 0 and 65535, inclusive. If 0, the Kubernetes master service will be of type ClusterIP"));
    }
}
