//! Certificates and keys in kubeadm's layout of `/etc/kubernetes/pki`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_RSA_SHA256, RsaKeySize,
};

type Authority = CertifiedIssuer<'static, KeyPair>;

/// kubeadm uses RSA keys.
fn key() -> KeyPair {
    KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, RsaKeySize::_2048).unwrap()
}

/// Creates all files in `dir`, and an admin certificate beside them (`admin.crt`, `admin.key`).
pub(crate) fn make(dir: &Path) {
    std::fs::create_dir_all(dir.join("etcd")).unwrap();
    let names = ["kubernetes", "kubernetes.default.svc", "localhost", "127.0.0.1", "10.96.0.1"];
    let ca = authority(dir, "ca", "kubernetes");
    leaf(dir, "apiserver", &ca, ("kube-apiserver", ""), &names);
    leaf(
        dir,
        "apiserver-kubelet-client",
        &ca,
        ("kube-apiserver-kubelet-client", "kubeadm:cluster-admins"),
        &[],
    );
    leaf(dir, "admin", &ca, ("kubernetes-super-admin", "system:masters"), &[]);
    let etcd = authority(dir, "etcd/ca", "etcd-ca");
    leaf(dir, "etcd/server", &etcd, ("etcd", ""), &["localhost", "127.0.0.1"]);
    leaf(dir, "apiserver-etcd-client", &etcd, ("kube-apiserver-etcd-client", ""), &[]);
    let proxy = authority(dir, "front-proxy-ca", "front-proxy-ca");
    leaf(dir, "front-proxy-client", &proxy, ("front-proxy-client", ""), &[]);
    let accounts = key();
    write(dir, "sa.key", &accounts.serialize_pem());
    write(dir, "sa.pub", &accounts.public_key_pem());
}

fn authority(dir: &Path, file: &str, name: &str) -> Authority {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(params, key()).unwrap();
    write(dir, &format!("{file}.crt"), &authority.pem());
    authority
}

/// Issues a client certificate for a common name and an organization; with names it is a server certificate
/// too.
fn leaf(dir: &Path, file: &str, authority: &Authority, subject: (&str, &str), names: &[&str]) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, subject.0);
    if !subject.1.is_empty() {
        params.distinguished_name.push(DnType::OrganizationName, subject.1);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    let key = key();
    let leaf = params.signed_by(&key, authority).unwrap();
    write(dir, &format!("{file}.crt"), &leaf.pem());
    write(dir, &format!("{file}.key"), &key.serialize_pem());
}

/// Writes a file. Like kubeadm's, keys are readable only for their owner.
fn write(dir: &Path, file: &str, text: &str) {
    let path = dir.join(file);
    std::fs::write(&path, text).unwrap();
    let mode = if file.ends_with(".key") { 0o600 } else { 0o644 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
