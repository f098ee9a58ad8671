//! Claims about the network.
#![allow(clippy::unwrap_used)]

use tokio::net::TcpListener;

use super::*;
use crate::config::Config;

fn network() -> SystemNetwork {
    SystemNetwork::new(&Config::for_tests(std::path::PathBuf::new()).kubelets).unwrap()
}

async fn check(backend: Backend<'_>, expected: &str) {
    let error = network().connect(backend).await.err();
    assert_eq!(error.as_deref(), Some(expected));
}

#[tokio::test]
async fn failures_to_connect_are_worded_as_go_words_them() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let port = address.port().to_string();
    let refused = format!("dial tcp {address}: connect: connection refused");
    check(Backend { host: "127.0.0.1", port: &port, tls: None }, &refused).await;
    check(Backend { host: "127.0.0.1", port: &port, tls: Some(Trust::Anyone) }, &refused).await;
    let unknown = "dial tcp: lookup tcp/web: unknown port";
    check(Backend { host: "127.0.0.1", port: "web", tls: None }, unknown).await;
}

#[tokio::test]
async fn a_backend_that_hangs_up_is_no_tls_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = tokio::spawn(async move { drop(listener.accept().await.unwrap()) });
    let backend = Backend { host: "127.0.0.1", port: &port, tls: Some(Trust::Anyone) };
    assert!(network().connect(backend).await.is_err());
    server.await.unwrap();
}

#[tokio::test]
async fn an_address_is_its_own() {
    let found = network().addresses("::1").await.unwrap();
    assert_eq!(found, ["::1".parse::<IpAddr>().unwrap()]);
}

#[test]
fn files_that_are_missing_keep_a_server_from_starting() {
    let mut kubelets = Config::for_tests(std::path::PathBuf::new()).kubelets;
    kubelets.authority = Some("/nonexistent/ca.crt".into());
    let error = SystemNetwork::new(&kubelets).err().map(|error| error.to_string()).unwrap();
    assert!(error.starts_with("/nonexistent/ca.crt: No such file"), "{error}");
}
