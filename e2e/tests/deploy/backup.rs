//! Backup and restore of both stores (docs/backup.md).

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use e2e::{process, tools};

use super::host::SimulatedHost;

const LIMIT: Duration = Duration::from_secs(60);

fn flags(store: &[&str]) -> Vec<String> {
    const OTHERS: [&str; 7] = [
        "--client-ca-file=/etc/kubernetes/pki/ca.crt",
        "--tls-cert-file=/etc/kubernetes/pki/apiserver.crt",
        "--tls-private-key-file=/etc/kubernetes/pki/apiserver.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=/etc/kubernetes/pki/sa.pub",
        "--service-account-signing-key-file=/etc/kubernetes/pki/sa.key",
        "--authorization-mode=RBAC",
    ];
    store.iter().chain(&OTHERS).map(|flag| (*flag).to_owned()).collect()
}

#[test]
fn etcd_snapshot_restores_objects() {
    let mut host = SimulatedHost::new();
    let flags = flags(&[
        "--etcd-servers=here",
        "--etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt",
        "--etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt",
        "--etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key",
    ]);
    let snapshot = host.path("snapshot.db");
    let server = host.run(&flags);
    server.kubectl().ok("create configmap kept --from-literal=a=b");
    assert!(host.etcdctl(&["snapshot", "save", snapshot.to_str().unwrap()]));
    server.kubectl().ok("create configmap later --from-literal=a=b");
    drop(server);

    let data = host.path("restored");
    let mut restore = Command::new(tools::program("etcdctl"));
    restore.env("ETCDCTL_API", "3").args(["snapshot", "restore"]).arg(&snapshot).arg("--data-dir").arg(&data);
    let restored = process::run(&mut restore, "", LIMIT);
    assert!(restored.status.success(), "{restored:?}");
    host.restart_etcd(&data);
    let server = host.run(&flags);
    let names = server.kubectl().ok("get configmaps -o name");
    assert!(names.contains("configmap/kept") && !names.contains("configmap/later"), "{names}");
    server.kubectl().ok("create configmap new --from-literal=a=b");
}

#[test]
fn embedded_store_copy_restores_objects() {
    let host = SimulatedHost::new();
    let data = "/var/lib/kube-apiserver";
    let copy = "/var/lib/copy";
    let at = |dir: &str| flags(&[&format!("--embedded-data-dir={dir}")]);
    let server = host.run(&at(data));
    server.kubectl().ok("create configmap kept --from-literal=a=b");
    server.stop(LIMIT);
    copy_files(&host.path(data).join("store"), &host.path(copy).join("store"));
    let server = host.run(&at(copy));
    assert!(server.kubectl().ok("get configmaps -o name").contains("configmap/kept"));
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
