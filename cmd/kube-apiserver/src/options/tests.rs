//! Configurations that follow from flags.
#![allow(clippy::unwrap_used, clippy::panic)]

use component_base::features::{Effective, Gate, Gates, Release};

use super::*;

fn options(line: &str) -> Result<Config, OptionError> {
    let flags = Flags::parse(line.split_whitespace().map(str::to_owned)).unwrap();
    Options::from_flags(&flags).map(|options| options.config)
}

fn error(line: &str, expected: &str) {
    assert_eq!(options(line).unwrap_err().to_string(), expected, "{line}");
}

/// Flags that are required on etcd.
const ON_ETCD: &str = "--etcd-servers a:1 --service-account-issuer i --service-account-key-file k \
    --service-account-signing-key-file k";

#[test]
fn server_starts_without_flags() {
    let config = options("").unwrap();
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let data = user_data_dir(variable("XDG_DATA_HOME"), variable("HOME")).unwrap();
    let StorageConfig::Embedded { dir, compaction_interval, .. } = &config.storage else {
        panic!("{:?}", config.storage)
    };
    assert_eq!(dir, &data.join("store"));
    assert_eq!(*compaction_interval, Some(Duration::from_secs(300)));
    assert_eq!(config.serving.cert_dir, data.join("pki"));
    assert_eq!(config.serving.admin_kubeconfig, Some(data.join("admin.kubeconfig")));
    assert_eq!(config.serving.bind.address, "127.0.0.1:6443".parse().unwrap());
    assert_eq!(config.services.cidrs.len(), 1);
    assert_eq!(config.service_accounts.issuers, ["https://kubernetes.default.svc.cluster.local"]);
    assert_eq!(config.event_ttl, Duration::from_secs(3600));
    assert_eq!(config.chain.request_timeout, Duration::from_secs(60));
}

#[test]
fn flag_for_authorization_marks_a_server_of_a_tool() {
    let check = |line: &str, local: bool, controllers: bool| {
        let config = options(line).unwrap();
        let StorageConfig::Embedded { dir, .. } = &config.storage else { panic!("{:?}", config.storage) };
        let is_local = dir == std::path::Path::new("mainstay-data/store");
        assert_eq!((is_local, config.builtin_controllers), (local, controllers), "{line}");
    };
    check("", false, true);
    check("--embedded-controllers=false", false, false);
    check("--authorization-mode=Node,RBAC", true, false);
    check("--authorization-mode=Node,RBAC --embedded-controllers", true, true);
    assert!(!options(ON_ETCD).unwrap().builtin_controllers);
}

#[test]
fn flags_and_gates_without_effect_are_listed() {
    let names = |line: &str| {
        let ignored = options(line).unwrap().ignored_settings;
        assert!(ignored.iter().all(|setting| !setting.reason.is_empty()), "{ignored:?}");
        ignored.into_iter().map(|setting| setting.name).collect::<Vec<_>>()
    };
    assert!(names("").is_empty());
    assert_eq!(names("--external-hostname=a"), ["--external-hostname"]);
    let idle = |gate: &Gate| controlplane::features::idle(&Gates::default().with(*gate, true)).next();
    let line = |gate: Gate| format!("--feature-gates={gate:?}=true");
    // Some gates depend on others, so that they cannot be enabled alone.
    let alone = |gate: &Gate| options(&line(*gate)).is_ok();
    let gate = Gate::ALL.iter().filter_map(idle).find(alone).unwrap();
    assert_eq!(names(&line(gate)), [format!("--feature-gates={gate:?}")]);
}

#[test]
fn always_allow_disables_anonymous_auth() {
    let check = |line: &str, expected: Anonymous| {
        let line = format!("{ON_ETCD} {line}");
        assert_eq!(options(&line).unwrap().authentication.anonymous, expected, "{line}")
    };
    check("", Anonymous::Disabled);
    check("--anonymous-auth", Anonymous::Disabled);
    check("--authorization-mode=Node,RBAC", Anonymous::AllPaths);
    check("--authorization-mode=RBAC --anonymous-auth=false", Anonymous::Disabled);
    check("--authorization-mode=RBAC,AlwaysAllow", Anonymous::Disabled);
}

/// On etcd, all defaults are upstream's.
#[test]
fn standalone_defaults_are_safe_and_flags_win() {
    let health = || Anonymous::Paths(["/healthz", "/livez", "/readyz"].map(str::to_owned).into());
    let check = |line: &str, address: &str, authorizers: &[&str], anonymous: Anonymous| {
        let config = options(line).unwrap();
        let names: Vec<_> =
            config.authorization.configuration.authorizers.iter().map(|one| &*one.name).collect();
        assert_eq!(config.serving.bind.address.ip().to_string(), address, "{line}");
        assert_eq!(names, authorizers, "{line}");
        assert_eq!(config.authentication.anonymous, anonymous, "{line}");
    };
    let safe = ["node", "rbac"];
    for store in ["", "--embedded-in-memory --embedded-data-dir /d"] {
        check(store, "127.0.0.1", &safe, health());
        check(&format!("{store} --bind-address=0.0.0.0"), "0.0.0.0", &safe, health());
        check(&format!("{store} --authorization-mode=RBAC"), "127.0.0.1", &["rbac"], Anonymous::AllPaths);
        check(&format!("{store} --anonymous-auth"), "127.0.0.1", &safe, Anonymous::AllPaths);
        check(&format!("{store} --anonymous-auth=false"), "127.0.0.1", &safe, Anonymous::Disabled);
        let open = format!("{store} --authorization-mode=AlwaysAllow");
        check(&open, "127.0.0.1", &["alwaysallow"], Anonymous::Disabled);
    }
    check(ON_ETCD, "0.0.0.0", &["alwaysallow"], Anonymous::Disabled);
}

#[test]
fn admin_kubeconfig_needs_missing_authentication() {
    let check = |line: &str, expected: Option<&str>| {
        assert_eq!(options(line).unwrap().serving.admin_kubeconfig, expected.map(PathBuf::from), "{line}");
    };
    check("--embedded-data-dir /d", Some("/d/admin.kubeconfig"));
    check(ON_ETCD, Some("/var/run/kubernetes/admin.kubeconfig"));
    check("--client-ca-file ca.crt", None);
    check("--token-auth-file tokens.csv", None);
}

#[test]
fn in_memory_server_removes_its_files() {
    let line = "--embedded-in-memory --embedded-from seed";
    let flags = Flags::parse(line.split(' ').map(str::to_owned)).unwrap();
    let read = Options::from_flags(&flags).unwrap();
    let dir = read.config.serving.cert_dir.parent().unwrap().to_owned();
    let StorageConfig::Memory(memory) = &read.config.storage else { panic!("{:?}", read.config) };
    assert_eq!(memory.from, Some(PathBuf::from("seed")));
    assert!(!dir.exists());
    let created = read.temporary(&flags).unwrap();
    assert!(dir.is_dir());
    assert!(read.temporary(&flags).is_err(), "it belongs to another server");
    drop(created);
    assert!(!dir.exists());
    let permanent = options("--embedded-in-memory --embedded-data-dir /d").unwrap();
    assert_eq!(permanent.serving.admin_kubeconfig, Some(PathBuf::from("/d/admin.kubeconfig")));
}

#[test]
fn etcd_servers_select_etcd() {
    let line = "--etcd-servers b:2 --etcd-prefix x/ --etcd-compaction-interval 0 --etcd-cafile ca";
    let config = options(&format!("{ON_ETCD} {line}")).unwrap();
    let StorageConfig::Etcd(etcd) = config.storage else { panic!("{:?}", config.storage) };
    assert_eq!((etcd.endpoints.join(" ").as_str(), etcd.prefix.as_str()), ("a:1 b:2", "/x"));
    assert_eq!((etcd.compaction_interval, etcd.ca), (None, Some(PathBuf::from("ca"))));
}

/// Texts of upstream's `BuiltInAuthenticationOptions.Validate` and `validateTokenRequest`.
#[test]
fn etcd_requires_token_keys_and_issuer() {
    let issuer = "service-account-issuer is a required flag";
    let keys = "either `--service-account-key-file` or `--service-account-signing-endpoint` must be set";
    let neither = "--service-account-signing-key-file and --service-account-issuer are required flags";
    let together = "--service-account-signing-key-file, --service-account-issuer, and --api-audiences should be \
        specified together";
    let check = |line: &str, expected: &[&str]| {
        let flags = Flags::parse(line.split_whitespace().map(str::to_owned)).unwrap();
        let prefix = |error: &String| error.contains("service-account");
        let errors: Vec<_> = checks::all(&flags, Gates::default()).into_iter().filter(prefix).collect();
        assert_eq!(errors, expected, "{line}");
    };
    let on_etcd = |line: &str, expected: &[&str]| check(&format!("--etcd-servers a:1 {line}"), expected);
    on_etcd("", &[issuer, keys, neither]);
    on_etcd("--service-account-key-file k", &[issuer, neither]);
    on_etcd("--service-account-issuer i", &[keys, together]);
    on_etcd("--service-account-signing-key-file k", &[issuer, keys, together]);
    on_etcd("--api-audiences a --service-account-key-file k", &[issuer, together]);
    on_etcd("--service-account-issuer i --service-account-key-file k", &[together]);
    on_etcd("--service-account-issuer i --service-account-signing-key-file k", &[keys]);
    on_etcd("--service-account-issuer i --service-account-signing-endpoint @s", &[]);
    on_etcd("--service-account-signing-endpoint @s", &[issuer, keys, neither]);
    check(ON_ETCD, &[]);
    check("", &[]);
}

#[test]
fn events_can_use_a_separate_etcd() {
    let overrides = |value: &str| {
        let config = options(&format!("{ON_ETCD} --etcd-servers-overrides {value}"))?;
        let StorageConfig::Etcd(etcd) = config.storage else { panic!("{:?}", config.storage) };
        Ok::<_, OptionError>(etcd.overrides)
    };
    let overridden = overrides("/events#https://b:1;https://c:1,coordination.k8s.io/leases#d:1").unwrap();
    assert_eq!(overridden[0].endpoints, ["https://b:1", "https://c:1"]);
    let overridden: Vec<_> = overridden.iter().map(EtcdOverride::directory).collect();
    assert_eq!(overridden, ["events", "leases"]);
    for wrong in ["events#b:1", "/events", "/events#", "/events#b:1;", "a/b/c#d:1", "/events#b:1#c:1"] {
        let error = overrides(wrong).unwrap_err().to_string();
        assert!(error.contains("must be of format: group/resource#servers"), "{error}");
    }
}

#[test]
fn kubeadm_kind_and_envtest_flags_are_accepted() {
    let kubeadm = "--advertise-address=172.18.0.2 --allow-privileged=true --authorization-mode=Node,RBAC \
        --client-ca-file=/etc/kubernetes/pki/ca.crt \
        --enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true --etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt \
        --etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt --etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key \
        --etcd-servers=https://127.0.0.1:2379 --kubelet-client-certificate=/etc/kubernetes/pki/apiserver-kubelet-client.crt \
        --kubelet-client-key=/etc/kubernetes/pki/apiserver-kubelet-client.key \
        --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname \
        --proxy-client-cert-file=/etc/kubernetes/pki/front-proxy-client.crt --proxy-client-key-file=/etc/kubernetes/pki/front-proxy-client.key \
        --requestheader-allowed-names=front-proxy-client --requestheader-client-ca-file=/etc/kubernetes/pki/front-proxy-ca.crt \
        --requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group \
        --requestheader-username-headers=X-Remote-User --runtime-config= --secure-port=6443 \
        --service-account-issuer=https://kubernetes.default.svc.cluster.local --service-account-key-file=/etc/kubernetes/pki/sa.pub \
        --service-account-signing-key-file=/etc/kubernetes/pki/sa.key --service-cluster-ip-range=10.96.0.0/16 \
        --tls-cert-file=/etc/kubernetes/pki/apiserver.crt --tls-private-key-file=/etc/kubernetes/pki/apiserver.key";
    let config = options(kubeadm).unwrap();
    assert_eq!(config.services.cidrs.first().map(ToString::to_string).as_deref(), Some("10.96.0.0/16"));
    assert_eq!(config.service_accounts.issuers, ["https://kubernetes.default.svc.cluster.local"]);
    options("--authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir=/tmp/x \
        --client-ca-file=/tmp/x/ca.crt --disable-admission-plugins=ServiceAccount --etcd-servers=http://127.0.0.1:1 \
        --secure-port=40000 --service-account-issuer=https://127.0.0.1:40000/ --service-account-key-file=/tmp/x/sa.crt \
        --service-account-signing-key-file=/tmp/x/sa.key --service-cluster-ip-range=10.0.0.0/24 --allow-privileged=true")
    .unwrap();
}

#[test]
fn advertised_address_must_fit_endpoints() {
    error(
        "--advertise-address ::1",
        "cannot use public IP ::1 with endpoint reconciler: <nil>: Invalid value: \"::1\": may not be in the loopback \
         range (127.0.0.0/8, ::1/128)",
    );
    let check = |address: &str, accepted: bool| {
        assert_eq!(options(&format!("--advertise-address {address}")).is_ok(), accepted, "{address}");
    };
    check("169.254.1.1", false);
    check("fe80::1", false);
    check("224.0.0.9", false);
    check("ff02::1", false);
    check("0.0.0.0", true);
    check("192.0.2.1", true);
    options("--advertise-address 127.0.0.1 --endpoint-reconciler-type none").unwrap();
}

#[test]
fn unsupported_security_flags_are_rejected() {
    error("--egress-selector-config-file /x", "egress-selector-config-file /x does not exist");
    error(
        "--egress-selector-config-file /dev/null",
        "failed to read egress selector config: Object 'Kind' is missing in ''",
    );
    assert!(options("--authorization-config=/x").is_err(), "there is no such file");
    options("--enable-admission-plugins NodeRestriction,AlwaysPullImages").unwrap();
    let config =
        options("--admission-control-config-file /x --enable-admission-plugins EventRateLimit").unwrap();
    assert_eq!(config.admission.config_file, Some("/x".into()));
}

#[test]
fn encryption_file_configures_encryption() {
    let encryption = |words: &str| options(words).unwrap().encryption;
    let expected = |automatic_reload| Some(EncryptionConfig { file: "/x".into(), automatic_reload });
    assert_eq!(encryption(""), None);
    assert_eq!(encryption("--encryption-provider-config /x"), expected(false));
    let reload = "--encryption-provider-config-automatic-reload";
    assert_eq!(encryption(&format!("--encryption-provider-config /x {reload}")), expected(true));
    error(reload, &format!("{reload} must be set with --encryption-provider-config"));
}

/// Every flag accepts its default value, and the empty value that upstream treats as default, without effect.
#[test]
fn default_and_empty_flag_values_are_accepted() {
    use crate::flags::{FLAGS, Kind};
    // Flags that upstream rejects when empty. All `oidc-*` flags belong here too, without an issuer and a
    // client.
    const NEVER_EMPTY: [&str; 4] =
        ["authorization-mode", "logging-format", "service-account-issuer", "tls-curve-preferences"];
    for flag in FLAGS {
        let default = flag.default.trim_start_matches('[').trim_end_matches(']').replace("<nil>", "");
        let says_nothing = |value: &str| {
            let words = [format!("--{}={value}", flag.name)];
            let flags = Flags::parse(words).map_err(|error| error.to_string());
            let started = flags
                .and_then(|flags| Options::from_flags(&flags).map(drop).map_err(|error| error.to_string()));
            assert_eq!(started, Ok(()), "--{}={value}", flag.name);
        };
        let scalar = matches!(
            flag.kind,
            Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Duration | Kind::Quantity
        ) || matches!(flag.kind, Kind::Level | Kind::Version | Kind::CertKey);
        if !default.is_empty() {
            says_nothing(&default);
        }
        if !scalar && !NEVER_EMPTY.contains(&flag.name) && !flag.name.starts_with("oidc-") {
            says_nothing("");
        }
    }
}

#[test]
fn all_upstream_storage_media_types_are_accepted() {
    for form in ["", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"] {
        options(&format!("--storage-media-type={form}")).unwrap();
    }
    error(
        "--storage-media-type=text/plain",
        "--storage-media-type \"text/plain\" invalid, allowed values: application/json, application/vnd.kubernetes.protobuf, application/yaml",
    );
}

#[test]
fn endpoint_reconciler_can_be_disabled() {
    let check = |line: &str, expected: EndpointReconciler| {
        let config = options(&format!("--advertise-address 192.0.2.1 {line}")).unwrap();
        assert_eq!(config.services.endpoint_reconciler, expected, "{line}");
    };
    check("", EndpointReconciler::Lease);
    check("--endpoint-reconciler-type=", EndpointReconciler::Lease);
    check("--endpoint-reconciler-type lease", EndpointReconciler::Lease);
    check("--endpoint-reconciler-type none", EndpointReconciler::None);
    check("--endpoint-reconciler-type master-count", EndpointReconciler::MasterCount(1));
    check("--endpoint-reconciler-type master-count --apiserver-count 3", EndpointReconciler::MasterCount(3));
    error("--apiserver-count 0", "--apiserver-count should be a positive number, but value '0' provided");
    error("--endpoint-reconciler-type Lease", "Reconciler not implemented: Lease");
}

#[test]
fn loopback_address_is_no_endpoint() {
    let flags = Flags::parse(std::iter::empty()).unwrap();
    let strategy = |address: &str| endpoint_reconciler(&flags, address.parse().unwrap());
    assert_eq!(strategy("127.0.0.1"), EndpointReconciler::None);
    assert_eq!(strategy("192.0.2.1"), EndpointReconciler::Lease);
}

#[test]
fn conflicting_flags_are_rejected() {
    error(
        "--secure-port 0",
        "--secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0",
    );
    error(
        &format!("{ON_ETCD} --embedded-from seed"),
        "--embedded-from is about the embedded store, which is not used with --etcd-servers",
    );
    assert!(options(&format!("{ON_ETCD} --embedded-snapshot-endpoint")).is_err());
    error(
        &format!("{ON_ETCD} --embedded-in-memory"),
        "--embedded-in-memory is about the embedded store, which is not used with --etcd-servers",
    );
    let no_seats = "--max-requests-inflight 0 --max-mutating-requests-inflight 0";
    error(
        no_seats,
        "invalid configuration: MaxRequestsInFlight=0 and MaxMutatingRequestsInFlight=0; they must add up to something positive",
    );
    assert!(
        !options(&format!("{no_seats} --enable-priority-and-fairness=false")).unwrap().priority_and_fairness
    );
    error("--goaway-chance 0.5", "--goaway-chance can not be less than 0 or greater than 0.02");
    error("--authorization-mode rbac", "authorization-mode \"rbac\" is not a valid mode");
    error("--authorization-mode=", "at least one authorization-mode must be passed");
    error(
        "--authorization-mode=RBAC,RBAC",
        "authorization-mode [\"RBAC\" \"RBAC\"] has mode specified more than once",
    );
    error("--authorization-mode=ABAC", "authorization-mode ABAC's authorization policy file not passed");
    error("--enable-admission-plugins Nope", "enable-admission-plugins plugin \"Nope\" is unknown");
    error(
        "--storage-backend etcd2",
        "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'",
    );
    error(
        "--service-account-issuer a --service-account-issuer b --service-account-issuer a",
        "service-account-issuer \"a\" is already specified",
    );
    error("--service-account-issuer=", "service-account-issuer should not be an empty string");
    error(
        "--service-account-jwks-uri http://x",
        "service-account-jwks-uri requires https scheme, parsed as: http://x",
    );
    for lifetime in ["59m59s", "1193046h28m17s", "-1h"] {
        error(
            &format!("--service-account-max-token-expiration={lifetime}"),
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
        );
    }
    options("--service-account-max-token-expiration=1193046h28m16s").unwrap();
    error("--tls-min-version 1.2", "unknown tls version \"1.2\"");
    error("--tls-cipher-suites X", "Cipher suite X not supported or doesn't exist");
    options("--service-cluster-ip-range 10.0.0.0/8,fd00::/64").unwrap();
    error(
        "--emulated-version=1.34 --feature-gates=DisableAllocatorDualWrite=false --service-cluster-ip-range \
         10.0.0.0/8,fd00::/64",
        "[specified --service-cluster-ip-range is too large; for 32-bit addresses, the mask must be >= 12, specified \
         --service-cluster-ip-range[1] is too large; for 128-bit addresses, the mask must be >= 108]",
    );
    error(
        "--service-cluster-ip-range 10.0.0.0/24,10.1.0.0/24",
        "--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family",
    );
    error("--service-cluster-ip-range 10.0.0.0", "service-cluster-ip-range \"10.0.0.0\" is not a valid cidr");
    error(
        "--secure-port 0 --goaway-chance 1",
        "[--goaway-chance can not be less than 0 or greater than 0.02, --secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0]",
    );
}

#[test]
fn gates_follow_emulation_and_flags() {
    let check = |line: &str, gate: Gate, expected: bool| {
        assert_eq!(options(line).unwrap().gates.enabled(gate), expected, "{line}");
    };
    let cbor = Gate::CBORServingAndStorage;
    check("", cbor, false);
    check("--feature-gates CBORServingAndStorage=true", cbor, true);
    check("--feature-gates kube:CBORServingAndStorage=1,kube:OpenAPIEnums=F", cbor, true);
    check("--feature-gates CBORServingAndStorage=t --feature-gates CBORServingAndStorage=0", cbor, false);
    check("--feature-gates AllAlpha=true,GenericWorkload=true", cbor, true);
    check("", Gate::MutatingAdmissionPolicy, true);
    check("--emulated-version 1.35", Gate::MutatingAdmissionPolicy, false);
    check("--emulated-version kube=1.35", Gate::MutatingAdmissionPolicy, false);
    check("--emulated-version=", Gate::MutatingAdmissionPolicy, true);
}

#[test]
fn releases_follow_from_each_other() {
    let check = |line: &str, emulation: u32, oldest: u32| {
        let emulation = Release::minor_of_1(emulation);
        let oldest = Release::minor_of_1(oldest);
        let expected = Effective { emulation, min_compatibility: oldest };
        assert_eq!(options(line).unwrap().gates.effective(), expected, "{line}");
    };
    check("", 37, 36);
    check("--emulated-version=1.35", 35, 34);
    check("--emulated-version=v1.34.0", 34, 34);
    check("--min-compatibility-version=1.37", 37, 37);
    check("--emulated-version=kube=1.36 --min-compatibility-version=kube=1.34", 36, 34);
}

#[test]
fn emulation_forward_compatibility_needs_emulation() {
    let option = |line: &str| options(line).unwrap().emulation;
    let flags = "--emulation-forward-compatible --runtime-config-emulation-forward-compatible";
    let emulation = option(&format!("{flags} --emulated-version=1.35"));
    assert!(emulation.forward_compatible && emulation.runtime_config_forward_compatible);
    let text = "cannot be set to true if the emulation version is the same as the binary version";
    error(
        flags,
        &format!(
            "[ServerRunOptions.EmulationForwardCompatible {text}, \
             ServerRunOptions.RuntimeConfigEmulationForwardCompatible {text}]"
        ),
    );
}

#[test]
fn gate_and_release_errors_equal_upstreams() {
    error("--feature-gates X", "missing bool value for X");
    error(
        "--feature-gates X=y",
        "invalid value of X=y, err: strconv.ParseBool: parsing \"y\": invalid syntax",
    );
    error("--feature-gates X=true", "unrecognized feature gate: X");
    error("--feature-gates wardle:X=true", "component not registered: wardle");
    error(
        "--feature-gates kube:AllAlpha=true,AllBeta=true",
        "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
    );
    error(
        "--feature-gates HostnameOverride=false,WinDSR=false",
        "[cannot set feature gate HostnameOverride to false, feature is locked to true, cannot set feature \
         gate WinDSR to false, feature is locked to true]",
    );
    error(
        "--emulated-version 1.35 --feature-gates AtomicFIFO=true",
        "cannot set feature gate AtomicFIFO to true, feature is PreAlpha at emulated version 1.35, min \
         compatibility version 1.34",
    );
    error("--emulated-version wardle=1.2", "component not registered: wardle");
    error("--emulated-version x", "could not parse \"x\" as version");
    error("--emulated-version 1.35.1", "patch version not allowed, got: kube=1.35.1");
    error("--emulated-version 1.35,kube=1.34", "duplicate version flag, kube=1.35 and kube=1.34");
    error("--emulated-version 1.38", "emulation version 1.38 is not between [1.34, 1.37.0]");
    error(
        "--min-compatibility-version 1.33",
        "minCompatibilityVersion version 1.33 is not between [1.34, 1.37]",
    );
}

#[test]
fn request_header_errors_equal_upstreams() {
    error("--requestheader-username-headers ,", "empty value in \"requestheader-username-headers\"");
    error(
        "--requestheader-uid-headers X-Uid",
        "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API aggregation will not work",
    );
    error(
        "--requestheader-uid-headers X-Remote-Uid --feature-gates RemoteRequestHeaderUID=false",
        "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be enabled",
    );
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.crt");
    let pem = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
    std::fs::write(&path, pem).unwrap();
    let path = path.display();
    let flags = format!("--client-ca-file {path} --requestheader-client-ca-file {path}");
    error(
        &flags,
        "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users",
    );
    options(&format!("{flags} --requestheader-allowed-names front")).unwrap();
}

#[test]
fn authorizers_come_from_modes_or_file() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let names = |line: &str| {
        let configuration = options(line).unwrap().authorization.configuration;
        configuration.authorizers.into_iter().map(|authorizer| authorizer.name).collect::<Vec<_>>()
    };
    assert_eq!(names(""), ["node", "rbac"]);
    assert_eq!(names(ON_ETCD), ["alwaysallow"]);
    let kubeconfig = write("kubeconfig", "");
    let webhook =
        format!("--authorization-mode=RBAC,Webhook --authorization-webhook-config-file={kubeconfig}");
    assert_eq!(names(&webhook), ["rbac", "default"]);
    error(
        &format!("{webhook} --authorization-webhook-version=v2"),
        "unsupported webhook authorizer version \"v2\", supported versions are \"v1\", \"v1beta1\"",
    );
    error(
        "--authorization-mode=Webhook",
        "authorization-mode Webhook's authorization config file not passed",
    );
    error(
        "--authorization-mode=RBAC --authorization-webhook-config-file=/x",
        "cannot specify --authorization-webhook-config-file without mode Webhook",
    );
    let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n";
    let good = write("good", &format!("{head}- {{type: AlwaysDeny, name: alwaysdeny}}\n"));
    assert_eq!(names(&format!("--authorization-config={good}")), ["alwaysdeny"]);
    let denying = options(&format!("{ON_ETCD} --authorization-config={good}")).unwrap();
    assert_eq!(denying.authentication.anonymous, Anonymous::AllPaths);
    for flag in ["--authorization-mode=RBAC", "--authorization-webhook-version=v1"] {
        error(
            &format!("--authorization-config={good} {flag}"),
            "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined",
        );
    }
    let bad = write("bad", head);
    error(
        &format!("--authorization-config={bad}"),
        "authorizers: Required value: at least one authorization mode must be defined",
    );
    error("--authorization-config=/nope", "open /nope: no such file or directory");
}

#[test]
fn data_is_in_the_users_data_home() {
    let path = |text: &str| Some(PathBuf::from(text));
    let check = |data_home: Option<PathBuf>, home: Option<PathBuf>, expected: Option<&str>| {
        assert_eq!(user_data_dir(data_home, home), expected.map(PathBuf::from));
    };
    check(path("/x"), path("/home/a"), Some("/x/mainstay"));
    check(None, path("/home/a"), Some("/home/a/.local/share/mainstay"));
    check(path("relative"), path("/home/a"), Some("/home/a/.local/share/mainstay"));
    check(path(""), None, None);
    check(None, path(""), None);
}
