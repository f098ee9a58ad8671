//! Tests of the life cycle of a server.
#![allow(clippy::unwrap_used)]

mod ending;

use std::collections::BTreeMap;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;

use super::*;
use crate::config::{AuditLogConfig, AuditMode, FileOptions, Format, MemoryConfig, StorageConfig};
use crate::test_cluster::{TestDir, TestServer};

/// Client certificate and key in PEM.
struct Identity(String, String);

async fn get(
    address: SocketAddr,
    trust: &str,
    identity: Option<&Identity>,
    path: &str,
    token: Option<&str>,
) -> (u16, String) {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(trust.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let builder =
        rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(Identity(certificate, key)) => builder
            .with_client_auth_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
            )
            .unwrap(),
    };
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = http::Request::get(path).header("host", "x");
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let response = sender.send_request(request.body(Empty::<bytes::Bytes>::new()).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn a_server_becomes_ready_serves_and_stops() {
    let server = TestServer::start().await.unwrap();
    let address = server.url().strip_prefix("https://").unwrap().parse().unwrap();
    let admin = Some(server.token());
    let nobody = Some(server.nobody_token());
    assert_eq!(get(address, server.ca_certificates(), None, "/readyz", admin).await, (200, "ok".to_owned()));
    // Health is public, discovery needs any user, and metrics need an administrator.
    assert_eq!(get(address, server.ca_certificates(), None, "/livez", None).await.0, 200);
    assert_eq!(get(address, server.ca_certificates(), None, "/api", None).await.0, 403);
    assert_eq!(get(address, server.ca_certificates(), None, "/api", nobody).await.0, 200);
    assert_eq!(get(address, server.ca_certificates(), None, "/metrics", nobody).await.0, 403);
    let dir = server.dir().to_owned();
    server.stop().await;
    assert!(TcpStream::connect(address).await.is_err());
    assert!(!dir.exists());
}

#[tokio::test]
async fn ignored_settings_are_counted_at_start() {
    let ignored = IgnoredSetting { name: "--a".to_owned(), reason: "why".to_owned() };
    let server = TestServer::start_with(|config| config.ignored_settings = vec![ignored]).await.unwrap();
    let address = server.url().strip_prefix("https://").unwrap().parse().unwrap();
    let page = get(address, server.ca_certificates(), None, "/metrics", Some(server.token())).await.1;
    for kind in WeakenedKind::ALL {
        let count = u32::from(kind == WeakenedKind::IgnoredSetting);
        let line = format!("mainstay_weakened_decisions_total{{kind=\"{}\"}} {count}\n", kind.name());
        assert!(page.contains(&line), "{line}");
    }
    server.stop().await;
}

#[tokio::test]
async fn reads_use_watch_cache_unless_disabled() {
    let check = async |change: fn(&mut Config), expected: bool| {
        let server = TestServer::start_with(change).await.unwrap();
        let address = server.url().strip_prefix("https://").unwrap().parse().unwrap();
        let trust = server.ca_certificates();
        let admin = Some(server.token());
        let (code, list) = get(address, trust, None, "/api/v1/namespaces", admin).await;
        assert!(code == 200 && list.contains("kube-system"), "{code} {list}");
        // The store contains the object, regardless of the cache.
        let stored = server.storage().get("/registry/namespaces/kube-system").await.unwrap();
        assert!(stored.kv.is_some());
        let page = get(address, trust, None, "/metrics", admin).await.1;
        let line = "apiserver_watch_cache_consistent_read_total{fallback=\"false\",group=\"\",resource=\"namespaces\",success=\"true\"} 1\n";
        assert_eq!(page.contains(line), expected);
        server.stop().await;
    };
    check(|_| {}, true).await;
    check(|config| config.watch_cache.enabled = false, false).await;
    check(
        |config| config.watch_cache.resources = vec![(String::new(), "namespaces".to_owned(), false)],
        false,
    )
    .await;
}

/// Starts a server that generates its administrator, sends a request as that user, and stops the server.
/// Returns the CA certificate.
async fn first_contact(dir: &std::path::Path) -> String {
    let mut config = Config::for_tests(dir.join("pki"));
    config.storage =
        StorageConfig::Embedded { dir: dir.join("store"), compaction_interval: None, from: None };
    let kubeconfig = dir.join("admin.kubeconfig");
    config.serving.admin_kubeconfig = Some(kubeconfig.clone());
    let mut running = start(config, system_env()).await.unwrap();
    running.ready().await.unwrap();
    let text: jsontree::Value = serde_json::from_slice(&std::fs::read(&kubeconfig).unwrap()).unwrap();
    let data = |pointer: &str| {
        String::from_utf8(STANDARD.decode(text.pointer(pointer).unwrap().as_str().unwrap()).unwrap()).unwrap()
    };
    let identity =
        Identity(data("/users/0/user/client-certificate-data"), data("/users/0/user/client-key-data"));
    let trust = data("/clusters/0/cluster/certificate-authority-data");
    assert_eq!(text["clusters"][0]["cluster"]["server"], format!("https://{}", running.address));
    assert_eq!(
        get(running.address, &trust, Some(&identity), "/readyz/ping", None).await,
        (200, "ok".to_owned())
    );
    assert_eq!(get(running.address, &trust, None, "/readyz/ping", None).await.0, 403);
    use std::os::unix::fs::PermissionsExt;
    for secret in ["admin.kubeconfig", "pki/mainstay-ca.key", "pki/apiserver.key"] {
        assert_eq!(
            std::fs::metadata(dir.join(secret)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{secret}"
        );
    }
    running.stop().await;
    std::fs::read_to_string(dir.join("pki/mainstay-ca.crt")).unwrap()
}

#[tokio::test]
async fn generated_administrator_works_after_restart() {
    let dir = TestDir::new().unwrap();
    let first = first_contact(dir.path()).await;
    assert_eq!(first_contact(dir.path()).await, first, "the authority is kept");
}

/// Returns all files below a directory with their contents.
fn files(dir: &std::path::Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                BTreeMap::from([(path.clone(), std::fs::read(&path).unwrap())])
            }
        })
        .collect()
}

fn audit_log(path: PathBuf) -> AuditLogConfig {
    let file = FileOptions { path, bytes_max: None, backups_max: 0, days_max: 0, compress: false };
    AuditLogConfig { file: Some(file), format: Format::Json, mode: AuditMode::Blocking, truncate: None }
}

/// Every file that a start can write is in this directory, so that the next one is found too.
#[tokio::test]
async fn start_in_locked_directory_writes_nothing() {
    let dir = TestDir::new().unwrap();
    let store = dir.path().join("store");
    let embedded = StorageConfig::Embedded { dir: store.clone(), compaction_interval: None, from: None };
    let memory = StorageConfig::Memory(MemoryConfig { dir: Some(store.clone()), ..Default::default() });
    let locked = storage_embedded::LockedDirectory::lock(&store).unwrap();
    let before = files(dir.path());
    for storage in [embedded, memory] {
        let mut config = Config::for_tests(dir.path().join("pki"));
        config.storage = storage;
        config.serving.admin_kubeconfig = Some(dir.path().join("admin.kubeconfig"));
        config.snapshot_file = Some(dir.path().join("snapshot"));
        config.audit.log = Some(audit_log(dir.path().join("audit")));
        let error = start(config, system_env()).await.err().unwrap().to_string();
        let holder = format!("store.lock: the store is in use by process {}", std::process::id());
        assert!(error.ends_with(&holder), "{error}");
        assert_eq!(files(dir.path()), before);
    }
    drop(locked);
}

#[tokio::test]
async fn start_errors_have_messages() {
    let check = async |change: fn(&mut Config, &std::path::Path), expected: &str| {
        let dir = TestDir::new().unwrap();
        let mut config = Config::for_tests(dir.path().join("pki"));
        change(&mut config, dir.path());
        let error =
            start(config, system_env()).await.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    };
    check(
        |config, dir| {
            let path = dir.join("tokens.csv");
            std::fs::write(&path, "a,b\n").unwrap();
            config.authentication.token_file = Some(path);
        },
        "must have at least 3 columns",
    )
    .await;
    check(
        |config, dir| config.authentication.token_file = Some(dir.join("none.csv")),
        "none.csv: No such file",
    )
    .await;
    check(|config, dir| config.authentication.client_ca_file = Some(dir.join("none.crt")), "none.crt").await;
    check(
        |config, _| config.serving.bind.address = "192.0.2.1:1".parse().unwrap(),
        "failed to listen on 192.0.2.1:1",
    )
    .await;
}

#[tokio::test]
async fn start_hooks_are_listed_as_upstream_does() {
    let server = TestServer::start().await.unwrap();
    let address = server.url().strip_prefix("https://").unwrap().parse().unwrap();
    let page = get(address, server.ca_certificates(), None, "/readyz?verbose", Some(server.token())).await.1;
    let hooks: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("[+]poststarthook/")?.strip_suffix(" ok")).collect();
    assert!(page.contains("\n[+]autoregister-completion ok\n"), "{page}");
    let expected = [
        "start-apiserver-admission-initializer",
        "generic-apiserver-start-informers",
        "priority-and-fairness-config-consumer",
        "priority-and-fairness-filter",
        "storage-object-count-tracker-hook",
        "start-apiextensions-informers",
        "start-apiextensions-controllers",
        "crd-informer-synced",
        "start-system-namespaces-controller",
        "peer-endpoint-reconciler-controller",
        "start-cluster-authentication-info-controller",
        "start-kube-apiserver-identity-lease-controller",
        "start-kube-apiserver-identity-lease-garbage-collector",
        "storage-readiness",
        "start-legacy-token-tracking-controller",
        "start-service-ip-repair-controllers",
        "rbac/bootstrap-roles",
        "scheduling/bootstrap-system-priority-classes",
        "priority-and-fairness-config-producer",
        "bootstrap-controller",
        "start-kubernetes-service-cidr-controller",
        "start-kube-aggregator-informers",
        "apiservice-status-local-available-controller",
        "apiservice-status-remote-available-controller",
        "apiservice-registration-controller",
        "apiservice-discovery-controller",
        "kube-apiserver-autoregistration",
        "apiservice-openapi-controller",
        "apiservice-openapiv3-controller",
    ];
    assert_eq!(hooks, expected);
    server.stop().await;
}

#[tokio::test]
async fn server_is_registered_while_ready() {
    use futures::StreamExt;
    use storage::{EventKind, WatchItem, WatchOptions};

    let server = TestServer::start().await.unwrap();
    let address: SocketAddr = server.url().strip_prefix("https://").unwrap().parse().unwrap();
    let storage = server.storage();
    // The slice is written last.
    let slice = "/registry/endpointslices/default/kubernetes";
    let options = WatchOptions { start: 1, exact: true, ..WatchOptions::default() };
    let mut events = storage.watch(slice, options).await.unwrap();
    while !matches!(events.next().await, Some(Ok(WatchItem::Event(event))) if event.kind == EventKind::Create)
    {
    }
    let read = async |path: &str| {
        let page = get(address, server.ca_certificates(), None, path, Some(server.token())).await.1;
        serde_json::from_str::<jsontree::Value>(&page).unwrap()
    };
    let ip = "192.0.2.1";
    let port = address.port();
    let ports = jsontree::json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let endpoints = read("/api/v1/namespaces/default/endpoints/kubernetes").await;
    assert_eq!(endpoints["subsets"], jsontree::json!([{"addresses": [{"ip": ip}], "ports": ports}]));
    let slice = read("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes").await;
    assert_eq!(slice["endpoints"][0]["addresses"], jsontree::json!([ip]));
    let service = read("/api/v1/namespaces/default/services/kubernetes").await;
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port);
    let leases = read("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases").await;
    assert_eq!(
        leases["items"][0]["metadata"]["labels"]["apiserver.kubernetes.io/identity"],
        "kube-apiserver"
    );
    let peer = &leases["items"][0]["metadata"]["annotations"]["kubernetes.io/peer-advertise-address"];
    assert_eq!(peer, &jsontree::json!(format!("{ip}:{port}")));

    server.stop().await;
    assert_eq!(storage.count("/registry/masterleases/").await.unwrap(), 0);
    assert_eq!(storage.count("/registry/leases/").await.unwrap(), 0);
    let endpoints = storage.get("/registry/services/endpoints/default/kubernetes").await.unwrap().kv.unwrap();
    assert!(!endpoints.value.windows(ip.len()).any(|window| window == ip.as_bytes()));
}

#[tokio::test]
async fn authentication_data_is_published_in_config_map() {
    let dir = TestDir::new().unwrap();
    let mut config = Config::for_tests(dir.path().join("pki"));
    let kubeconfig = dir.path().join("admin.kubeconfig");
    config.serving.admin_kubeconfig = Some(kubeconfig);
    let mut running = start(config, system_env()).await.unwrap();
    running.ready().await.unwrap();
    let key = "/registry/configmaps/kube-system/extension-apiserver-authentication";
    let stored = running.storage().get(key).await.unwrap().kv.unwrap();
    let authority = std::fs::read(dir.path().join("pki/mainstay-ca.crt")).unwrap();
    assert!(stored.value.windows(authority.len()).any(|window| window == authority));
    running.stop().await;
}
