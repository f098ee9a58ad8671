//! Connections through fake proxies in this process.
#![allow(clippy::unwrap_used)]

use component_base::metrics::MetricsRegistry;
use tempfile::TempDir;
use tokio::net::TcpListener;

use super::*;
use crate::testing::{Connect, Keys, Konnectivity, assert_echoes, dialer, echo, egress};
use crate::{Egress, Network};

fn socket() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("proxy.sock");
    (dir, path)
}

#[tokio::test]
async fn connects_through_tcp_proxy() {
    let mut proxy = Connect::tcp(None, None).await;
    let other = echo().await;
    let dialer = dialer(&format!(
        "{{proxyProtocol: HTTPConnect, transport: {{tcp: {{url: 'http://127.0.0.1:{}'}}}}}}",
        proxy.port
    ));
    assert_echoes(&mut dialer.dial(&other).await.unwrap()).await;
    let head = format!("CONNECT {}:{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", other.host, other.port);
    assert_eq!(proxy.seen.recv().await.unwrap(), head);
}

#[tokio::test]
async fn tls_proxy_uses_mutual_authentication() {
    let keys = Keys::new("127.0.0.1");
    let dir = TempDir::new().unwrap();
    let other = echo().await;
    let mut proxy = Connect::tcp(Some(keys.acceptor()), None).await;
    let tls_dialer = |tls: &str| {
        let url = format!("https://127.0.0.1:{}", proxy.port);
        dialer(&format!(
            "{{proxyProtocol: HTTPConnect, transport: {{tcp: {{url: '{url}', tlsConfig: {tls}}}}}}}"
        ))
    };
    let files = keys.write(dir.path());
    assert_echoes(&mut tls_dialer(&files).dial(&other).await.unwrap()).await;
    assert!(proxy.seen.recv().await.unwrap().starts_with("CONNECT "));
    let named = files.replace('}', ", tlsServerName: elsewhere}");
    let error = tls_dialer(&named).dial(&other).await.err().unwrap().to_string();
    assert!(
        error.contains("certificate is not valid for any names, but wanted to match elsewhere"),
        "{error}"
    );
}

#[tokio::test]
async fn connects_through_unix_socket_proxy() {
    let (_dir, path) = socket();
    let other = echo().await;
    let mut proxy = Connect::unix(&path);
    let dialer =
        dialer(&format!("{{proxyProtocol: HTTPConnect, transport: {{uds: {{udsName: {path:?}}}}}}}"));
    assert_echoes(&mut dialer.dial(&other).await.unwrap()).await;
    assert!(proxy.seen.recv().await.unwrap().starts_with("CONNECT "));
}

#[tokio::test]
async fn connects_through_konnectivity() {
    let (_dir, path) = socket();
    let other = echo().await;
    let _packets = Konnectivity::honest(&path);
    let dialer = dialer(&format!("{{proxyProtocol: GRPC, transport: {{uds: {{udsName: {path:?}}}}}}}"));
    let mut first = dialer.dial(&other).await.unwrap();
    assert_echoes(&mut first).await;
    assert_echoes(&mut dialer.dial(&other).await.unwrap()).await;
    assert_echoes(&mut first).await;
}

#[tokio::test]
async fn dials_are_counted_by_proxy_and_stage() {
    let (_dir, path) = socket();
    let other = echo().await;
    let connection = format!("{{proxyProtocol: HTTPConnect, transport: {{uds: {{udsName: {path:?}}}}}}}");
    let egress = egress("cluster", &connection).unwrap();
    let registry = MetricsRegistry::default();
    egress.register(&registry);
    let page = || registry.to_string();
    assert_eq!(page(), "");
    let dialer = egress.dialer(Network::Cluster).unwrap();
    let error = dialer.dial(&other).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("dial unix {}: connect: no such file or directory", path.display())
    );
    let mut proxy = Connect::unix(&path);
    dialer.dial(&other).await.unwrap();
    proxy.seen.recv().await.unwrap();
    let labels = "protocol=\"http_connect\",transport=\"uds\"";
    let page = page();
    for line in [
        format!("apiserver_egress_dialer_dial_start_total{{{labels}}} 2\n"),
        format!("apiserver_egress_dialer_dial_duration_seconds_count{{{labels}}} 1\n"),
        "apiserver_egress_dialer_dial_failure_count{protocol=\"http_connect\",stage=\"connect\",transport=\"uds\"} 1\n"
            .to_owned(),
    ] {
        assert!(page.contains(&line), "{line}\n{page}");
    }
}

#[tokio::test]
async fn proxy_errors_are_returned_and_counted() {
    let response = Some("HTTP/1.1 502 Bad Gateway\r\n\r\n".to_owned());
    let proxy = Connect::tcp(None, response).await;
    let url = format!("http://127.0.0.1:{}", proxy.port);
    let connection = format!("{{proxyProtocol: HTTPConnect, transport: {{tcp: {{url: '{url}'}}}}}}");
    let egress = egress("cluster", &connection).unwrap();
    let nobody = Address { host: "10.0.0.1".to_owned(), port: 443 };
    let error = egress.dialer(Network::Cluster).unwrap().dial(&nobody).await.err().unwrap();
    let message = format!(
        "proxy error from 127.0.0.1:{} while dialing 10.0.0.1:443, code 502: 502 Bad Gateway",
        proxy.port
    );
    assert_eq!(error, client::Error::connect(message));
    let registry = MetricsRegistry::default();
    egress.register(&registry);
    let page = registry.to_string();
    assert!(
        page.contains("failure_count{protocol=\"http_connect\",stage=\"proxy\",transport=\"tcp\"} 1"),
        "{page}"
    );
}

#[test]
fn addresses_cannot_inject_requests() {
    let check = |host: &str, expected: Option<&str>| {
        let actual = target(&Address { host: host.to_owned(), port: 1 });
        assert_eq!(actual.ok().as_deref(), expected, "{host:?}");
    };
    check("10.0.0.1", Some("10.0.0.1:1"));
    check("fd00::1", Some("[fd00::1]:1"));
    check("svc.example.com", Some("svc.example.com:1"));
    check("", None);
    check("a b", None);
    check("a\r\nX: y", None);
}

#[test]
fn unlisted_and_direct_networks_have_no_proxy() {
    let none = Egress::default();
    assert!(!none.is_configured() && none.dial_path(Network::Etcd).is_none());
    let direct = egress("etcd", "{proxyProtocol: Direct}").unwrap();
    assert!(direct.is_configured() && direct.dialer(Network::Etcd).is_none());
    assert!(matches!(direct.dial_path(Network::Etcd), Some(DialPath::Direct)));
    assert!(direct.dial_path(Network::Cluster).is_none());
}

#[test]
fn errors_name_unusable_files() {
    let dir = TempDir::new().unwrap();
    let files = Keys::new("h").write(dir.path());
    let check = |tls: &str, url: &str, expected: &str| {
        let connection =
            format!("{{proxyProtocol: HTTPConnect, transport: {{tcp: {{url: '{url}', tlsConfig: {tls}}}}}}}");
        let error = egress("cluster", &connection).err().unwrap().to_string();
        let prefix =
            "failed to setup egress selector: failed to create dialer for egressSelection \"cluster\": ";
        let rest = error.strip_prefix(prefix).unwrap_or_else(|| panic!("{error}"));
        assert!(rest.starts_with(expected), "{rest}");
    };
    check(&files, "https://h", "invalid proxy server url \"https://h\": missing port in address");
    check(&files.replace("client.key", "ca.crt"), "https://h:1", "failed to read key pair ");
    check(&files.replace("ca.crt", "client.key"), "https://h:1", "failed to append CA cert to the cert pool");
}

#[tokio::test(start_paused = true)]
async fn proxy_dial_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let dialer = dialer(&format!("{{proxyProtocol: HTTPConnect, transport: {{tcp: {{url: '{url}'}}}}}}"));
    let other = Address { host: "h".to_owned(), port: 1 };
    assert!(dialer.dial(&other).await.err().unwrap().to_string().ends_with("i/o timeout"));
}
