//! Parsing and validation of configurations, with upstream's error messages.
#![allow(clippy::unwrap_used)]

use super::*;

fn read(selections: &str) -> Result<EgressSelectorConfiguration, crate::Error> {
    let text = format!(
        "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections: {selections}"
    );
    EgressSelectorConfiguration::read(text.as_bytes())
}

#[test]
fn both_versions_parse_all_members() {
    for version in ["v1alpha1", "v1beta1"] {
        let text = format!(
            "apiVersion: apiserver.k8s.io/{version}
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      tcp: {{url: u, tlsConfig: {{caBundle: a, clientKey: k, clientCert: c, tlsServerName: other}}}}
      uds: {{udsName: s}}
"
        );
        let tls = TlsConfig {
            ca_bundle: "a".to_owned(),
            client_key: "k".to_owned(),
            client_cert: "c".to_owned(),
            tls_server_name: "other".to_owned(),
        };
        let transport = Transport {
            tcp: Some(TcpTransport { url: "u".to_owned(), tls_config: Some(tls) }),
            uds: Some(UdsTransport { uds_name: "s".to_owned() }),
        };
        let connection = Connection { proxy_protocol: "HTTPConnect".to_owned(), transport: Some(transport) };
        let selection = EgressSelection { name: "cluster".to_owned(), connection };
        let read = EgressSelectorConfiguration::read(text.as_bytes()).unwrap();
        assert_eq!(read.egress_selections, Some(vec![selection]));
    }
}

#[test]
fn master_is_an_alias_of_controlplane() {
    let name = |input: &str| {
        let read = read(&format!("[{{name: {input}, connection: {{proxyProtocol: Direct}}}}]")).unwrap();
        read.egress_selections.unwrap().remove(0).name
    };
    assert_eq!(name("master"), "controlplane");
    assert_eq!(name("Master"), "Master");
}

#[test]
fn invalid_files_are_rejected() {
    let check = |text: &str, expected: &str| {
        let refused = EgressSelectorConfiguration::read(text.as_bytes()).unwrap_err();
        assert_eq!(refused.to_string(), expected, "{text}");
    };
    let of = |version: &str, rest: &str| {
        format!("{{apiVersion: {version}, kind: EgressSelectorConfiguration{rest}}}")
    };
    check(
        &of("apiserver.k8s.io/v1", ""),
        "no kind \"EgressSelectorConfiguration\" is registered for version \"apiserver.k8s.io/v1\" in scheme \
         \"k8s.io/apiserver/pkg/server/egressselector/config.go:33\"",
    );
    check(
        &of("apiserver.k8s.io/v1beta1", ", egressSelections: [{name: a, conection: {}}], more: 1"),
        "strict decoding error: unknown field \"egressSelections[0].conection\", unknown field \"more\"",
    );
}

/// Asserts the validation errors of one or two selections.
fn check(selections: &str, expected: Option<&str>) {
    assert_eq!(read(selections).unwrap().validate().as_deref(), expected, "{selections}");
}

#[test]
fn connections_are_validated_like_upstream() {
    let one = |connection: &str, expected: Option<&str>| {
        check(&format!("[{{name: cluster, connection: {connection}}}]"), expected);
    };
    let uds = "{proxyProtocol: GRPC, transport: {uds: {udsName: /s}}}";
    one("{proxyProtocol: Direct}", None);
    one(uds, None);
    one(&uds.replace("GRPC", "HTTPConnect"), None);
    one("{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://127.0.0.1:1'}}}", None);
    one(
        "{proxyProtocol: Direct, transport: {}}",
        Some(
            "service.connection.transport: Invalid value: \"direct\": config must be absent for direct connect",
        ),
    );
    one(
        "{}",
        Some(
            "service.connection.protocol: Unsupported value: \"\": supported values: \"Direct\", \"HTTPConnect\", \"GRPC\"",
        ),
    );
    one(
        "{proxyProtocol: HTTPConnect}",
        Some("service.connection.transport: Required value: transport must be set for HTTPConnect"),
    );
    one(
        "{proxyProtocol: GRPC}",
        Some("service.connection.transport: Required value: transport must be set for GRPC"),
    );
    one(
        "{proxyProtocol: HTTPConnect, transport: {}}",
        Some("service.connection.tcp: Required value: One of TCP or UDS must be set"),
    );
    one(
        "{proxyProtocol: HTTPConnect, transport: {tcp: {url: 'http://h'}, uds: {}}}",
        Some(
            "service.connection.tcp: Invalid value: {\"URL\":\"http://h\",\"TLSConfig\":null}: TCP and UDS cannot both be set",
        ),
    );
    one(
        "{proxyProtocol: GRPC, transport: {tcp: {url: 'http://h'}}}",
        Some("service.connection.uds: Required value: UDS must be set with GRPC"),
    );
    one(
        "{proxyProtocol: GRPC, transport: {uds: {}}}",
        Some("service.connection.udsName: Invalid value: \"nil\": must be present for UDS connections"),
    );
}

#[test]
fn proxy_urls_are_validated_like_upstream() {
    let one = |tcp: &str, expected: Option<&str>| {
        let connection = format!("{{proxyProtocol: HTTPConnect, transport: {{tcp: {tcp}}}}}");
        check(&format!("[{{name: cluster, connection: {connection}}}]"), expected);
    };
    one(
        "{url: 'http://h:1', tlsConfig: {}}",
        Some(
            "service.connection.tlsConfig: Invalid value: \"nil\": config must not be present when using HTTP",
        ),
    );
    one(
        "{url: 'https://h:1'}",
        Some("service.connection.tlsConfig: Required value: TLSConfig must be present when using HTTPS"),
    );
    one(
        "{url: 'h:1'}",
        Some(
            "service.connection.url: Invalid value: \"h:1\": supported connection protocols are http:// and https://",
        ),
    );
    one(
        "{url: 'https://h:1', tlsConfig: {caBundle: /no/ca, clientKey: /no/key}}",
        Some(
            "[service.connection.tlsConfig.caBundle: Invalid value: \"/no/ca\": TLS config ca bundle does not exist, \
             service.connection.tlsConfig.clientCert: Invalid value: \"nil\": Using TLS requires clientCert, \
             service.connection.tlsConfig.clientKey: Invalid value: \"/no/key\": TLS client key does not exist]",
        ),
    );
    one(
        "{url: 'https://h:1', tlsConfig: {clientCert: /dev/null}}",
        Some(
            "service.connection.tlsConfig.clientKey: Invalid value: \"nil\": Using TLS requires requires clientKey",
        ),
    );
}

#[test]
fn network_names_are_unique_ignoring_case() {
    let named = |names: &[&str]| {
        let direct = |name: &&str| format!("{{name: {name}, connection: {{proxyProtocol: Direct}}}}");
        format!("[{}]", names.iter().map(direct).collect::<Vec<_>>().join(","))
    };
    check(&named(&["Cluster", "etcd", "master"]), None);
    check(&named(&["cluster", "CLUSTER"]), Some("service.connection[1]: Duplicate value: \"cluster\""));
    check(
        &named(&["nodes"]),
        Some(
            "service.connection: Unsupported value: \"nodes\": supported values: \"cluster\", \"controlplane\", \"etcd\"",
        ),
    );
}
