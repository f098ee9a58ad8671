//! Mutual TLS with etcd, with certificates created for the test.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use storage::{Error, Storage};
use storage_etcd3::{CustomDialer, Etcd, Io, Options, TlsFiles};
use tempfile::TempDir;
use tokio::net::TcpStream;

use crate::server::Cluster;

/// Writes `NAME.crt` and `NAME.key`, signed by `ca`.
fn sign(dir: &Path, name: &str, ca: &Issuer<'_, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, ca).unwrap();
    std::fs::write(dir.join(format!("{name}.crt")), certificate.pem()).unwrap();
    std::fs::write(dir.join(format!("{name}.key")), key.serialize_pem()).unwrap();
}

/// A CA whose certificate is in `NAME.crt`.
fn authority(dir: &Path, name: &str) -> Issuer<'static, KeyPair> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    std::fs::write(dir.join(format!("{name}.crt")), params.self_signed(&key).unwrap().pem()).unwrap();
    Issuer::new(params, key)
}

fn files(dir: &Path, ca: &str, identity: Option<&str>) -> TlsFiles {
    let file = |name: &str, kind: &str| dir.join(format!("{name}.{kind}"));
    TlsFiles {
        ca: Some(file(ca, "crt")),
        cert: identity.map(|name| file(name, "crt")),
        key: identity.map(|name| file(name, "key")),
    }
}

/// A cluster that requires certificates signed by `ca`, and the directory with `ca`, `client` and the
/// unrelated `other`.
async fn cluster() -> (TempDir, Cluster) {
    let dir = TempDir::new().unwrap();
    let ca = authority(dir.path(), "ca");
    let unrelated_ca = authority(dir.path(), "other");
    sign(dir.path(), "server", &ca);
    sign(dir.path(), "client", &ca);
    sign(dir.path(), "stranger", &unrelated_ca);
    let flag = |name: &str, file: &str| format!("--{name}={}", dir.path().join(file).display());
    let args = [
        flag("cert-file", "server.crt"),
        flag("key-file", "server.key"),
        flag("trusted-ca-file", "ca.crt"),
        "--client-cert-auth".to_owned(),
    ];
    let tls = files(dir.path(), "ca", Some("client"));
    let cluster =
        Cluster::start(1, "https", &args, |options| Options { tls: Some(tls.clone()), ..options }).await;
    (dir, cluster)
}

async fn health(cluster: &Cluster, tls: Option<TlsFiles>) -> Result<(), Error> {
    Etcd::new(Options { tls, ..cluster.options.clone() }).await?.healthy().await
}

#[tokio::test]
async fn tls_authenticates_both_sides() {
    let (dir, cluster) = cluster().await;
    let unavailable = |result| matches!(result, Err(Error::Unavailable(_)));
    health(&cluster, Some(files(dir.path(), "ca", Some("client")))).await.unwrap();
    assert!(unavailable(health(&cluster, Some(files(dir.path(), "ca", None))).await), "no identity");
    assert!(
        unavailable(health(&cluster, Some(files(dir.path(), "ca", Some("stranger")))).await),
        "a stranger"
    );
    assert!(
        unavailable(health(&cluster, Some(files(dir.path(), "other", Some("client")))).await),
        "a wrong server"
    );
    assert!(unavailable(health(&cluster, None).await), "the system's roots did not sign this server");
}

#[tokio::test]
async fn renewed_certificates_are_used_without_a_restart() {
    let (dir, cluster) = cluster().await;
    let tls = Some(files(dir.path(), "ca", Some("stranger")));
    let store = Etcd::new(Options { tls, ..cluster.options.clone() }).await.unwrap();
    assert!(store.healthy().await.is_err());
    for kind in ["crt", "key"] {
        let renewed = dir.path().join(format!("client.{kind}"));
        std::fs::copy(renewed, dir.path().join(format!("stranger.{kind}"))).unwrap();
    }
    store.healthy().await.unwrap();
}

#[tokio::test]
async fn custom_dialer_uses_mutual_tls() {
    let (dir, cluster) = cluster().await;
    let dials = Arc::new(AtomicUsize::new(0));
    let dial_count = Arc::clone(&dials);
    let port = cluster.members[0].client_port;
    // The name is resolved at the end of the tunnel only.
    let dialer = CustomDialer::new(move |host, dialed_port| {
        assert_eq!((host.as_str(), dialed_port), ("localhost", port));
        dial_count.fetch_add(1, Ordering::SeqCst);
        Box::pin(
            async move { Ok(Box::new(TcpStream::connect(("127.0.0.1", dialed_port)).await?) as Box<dyn Io>) },
        )
    });
    let endpoints = vec![format!("https://localhost:{port}")];
    let health = async |identity: &str| {
        let tls = Some(files(dir.path(), "ca", Some(identity)));
        let endpoints = endpoints.clone();
        let dialer = Some(dialer.clone());
        Etcd::new(Options { tls, endpoints, dialer, ..cluster.options.clone() }).await?.healthy().await
    };
    health("client").await.unwrap();
    assert!(dials.load(Ordering::SeqCst) > 0);
    assert!(matches!(health("stranger").await, Err(Error::Unavailable(_))));
}
