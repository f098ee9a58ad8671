//! Generates missing certificates and the administrator's kubeconfig.
//!
//! Upstream only generates a self-signed serving certificate in `--cert-dir`, and without `--client-ca-file`
//! no client could authenticate. Here a generated CA signs the serving certificate. If no authentication
//! method is configured, it also signs an administrator's certificate. The kubeconfig is written to a file
//! that only its owner can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use server::tls::self_signed::{CertificatePair, Usage, authority, is_issued_by, issue, not_after, sec1_key};
use server::tls::{CertificateFiles, TlsFiles};

use super::kubeconfig;
use crate::config::{Config, StorageConfig};
use crate::error::RunError;
use crate::loopback::Loopback;

/// Generated certificates are renewed if their remaining validity is below this.
const REMAINING_MIN_SECONDS: i64 = 30 * 24 * 3600;

/// File names in `--cert-dir`: upstream's names for the serving certificate, and ours for the CA.
const SERVING: PairNames = PairNames { certificate: "apiserver.crt", key: "apiserver.key" };
const AUTHORITY: PairNames = PairNames { certificate: "mainstay-ca.crt", key: "mainstay-ca.key" };

/// The TLS files and the trusted certificates.
pub(super) struct Credentials {
    pub(super) files: TlsFiles,
    /// PEM certificates that a client needs to trust this server.
    pub(super) ca_certificates: String,
    authority: Option<CertificatePair>,
}

/// Generates missing files. Existing valid ones are kept.
///
/// # Errors
/// [`RunError::File`], [`RunError::Tls`].
pub(super) fn prepare(config: &Config, loopback: &Loopback, now: i64) -> Result<Credentials, RunError> {
    let serving = &config.serving;
    let dir = serving.cert_dir.as_path();
    let keeping = Durability::of(config);
    let generated =
        CertificateFiles { certificate: dir.join(SERVING.certificate), key: dir.join(SERVING.key) };
    // A pair from another source was placed here intentionally, and is used regardless of its validity.
    let found = generated.certificate.exists() && generated.key.exists();
    let is_generated = is_issued(&generated.certificate, &dir.join(AUTHORITY.certificate));
    let configured =
        serving.certificate.clone().or_else(|| (found && !is_generated).then(|| generated.clone()));
    let needs_authority = configured.is_none() || serving.admin_kubeconfig.is_some();
    let authority = if needs_authority {
        Some(pair(dir, AUTHORITY, now, keeping, || authority(&format!("mainstay-ca@{now}"), now))?)
    } else {
        None
    };
    let default = match (&configured, &authority) {
        (Some(files), _) => files.clone(),
        (None, Some(authority)) => {
            let usage = Usage::Server(names(config));
            pair(dir, SERVING, now, keeping, || issue(authority, "kube-apiserver", &[], &usage, now))?;
            generated
        }
        (None, None) => return Err(RunError::NoServingCertificate),
    };
    let mut client_authorities: Vec<_> = config.authentication.client_ca_file.iter().cloned().collect();
    if serving.admin_kubeconfig.is_some() {
        client_authorities.push(dir.join(AUTHORITY.certificate));
    }
    let served = fs::read_to_string(&default.certificate)
        .map_err(|source| RunError::read(&default.certificate, source))?;
    // The parent of a fork has generated the authority.
    let authority_file = dir.join(AUTHORITY.certificate);
    let is_signed = authority.is_none() && is_issued(&default.certificate, &authority_file);
    let signer =
        if is_signed { fs::read_to_string(&authority_file).unwrap_or_default() } else { String::new() };
    let trusted = authority.as_ref().map_or(signer.as_str(), |authority| authority.certificate.as_str());
    let ca_certificates = format!("{trusted}{served}");
    let proxy_authorities = config.authentication.request_header.ca_file.iter().cloned().collect();
    let sni = serving.sni.clone();
    let loopback = Some(loopback.certificate());
    let files = TlsFiles { default, sni, client_authorities, proxy_authorities, loopback };
    Ok(Credentials { files, ca_certificates, authority })
}

/// True if a CA signed a certificate. Both are files and may be missing.
fn is_issued(certificate: &Path, authority: &Path) -> bool {
    match (fs::read_to_string(certificate), fs::read_to_string(authority)) {
        (Ok(certificate), Ok(authority)) => is_issued_by(&certificate, &authority),
        _ => false,
    }
}

/// Returns the URL of a server for clients on this machine.
pub(super) fn local_url(address: SocketAddr) -> String {
    let ip = address.ip();
    let host = if ip.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { ip };
    format!("https://{}", SocketAddr::new(host, address.port()))
}

/// Writes the administrator's kubeconfig, if configured.
///
/// # Errors
/// [`RunError::File`], [`RunError::Tls`].
pub(super) fn write_kubeconfig(
    config: &Config,
    credentials: &Credentials,
    address: SocketAddr,
    now: i64,
) -> Result<(), RunError> {
    let (Some(path), Some(authority)) = (&config.serving.admin_kubeconfig, &credentials.authority) else {
        return Ok(());
    };
    let admin = issue(authority, "admin", &["system:masters"], &Usage::Client, now)?;
    let server = local_url(address);
    let encode = |text: &str| STANDARD.encode(text);
    // Some clients, such as those in Java, cannot read PKCS#8 keys on elliptic curves.
    let key = sec1_key(&admin.key).unwrap_or(admin.key);
    let text = kubeconfig::render(
        &server,
        &encode(&credentials.ca_certificates),
        &encode(&admin.certificate),
        &encode(&key),
    );
    write_private(path, &text, Durability::of(config)).map_err(|source| RunError::read(path, source))
}

/// Returns the names and addresses in upstream's certificate.
fn names(config: &Config) -> Vec<String> {
    let mut names: Vec<String> = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut addresses = vec![
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
        config.advertise_address,
        config.serving.bind.address.ip(),
    ];
    addresses.extend(config.services.cidrs.first().map(|cidr| cidr.first_host()));
    addresses.retain(|address| !address.is_unspecified());
    addresses.sort_unstable();
    addresses.dedup();
    names.extend(addresses.iter().map(IpAddr::to_string));
    names
}

/// File names of a certificate and its key.
#[derive(Debug, Clone, Copy)]
struct PairNames {
    certificate: &'static str,
    key: &'static str,
}

/// Reads a pair from two files in `dir`. Generates a new one if a file is missing or the certificate is about
/// to expire.
fn pair(
    dir: &Path,
    names: PairNames,
    now: i64,
    keeping: Durability,
    make: impl FnOnce() -> Result<CertificatePair, server::tls::TlsError>,
) -> Result<CertificatePair, RunError> {
    let certificate_path = dir.join(names.certificate);
    let key_path = dir.join(names.key);
    let stored = fs::read_to_string(&certificate_path)
        .and_then(|certificate| Ok(CertificatePair { certificate, key: fs::read_to_string(&key_path)? }));
    match stored {
        Ok(pair) if not_after(&pair.certificate).is_some_and(|end| end > now + REMAINING_MIN_SECONDS) => {
            Ok(pair)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(RunError::read(&certificate_path, error))
        }
        _ => {
            let pair = make()?;
            write_private(&key_path, &pair.key, keeping)
                .map_err(|source| RunError::read(&key_path, source))?;
            write(&certificate_path, &pair.certificate, 0o644, keeping)
                .map_err(|source| RunError::read(&certificate_path, source))?;
            Ok(pair)
        }
    }
}

pub(super) fn write_private(path: &Path, text: &str, keeping: Durability) -> io::Result<()> {
    write(path, text, 0o600, keeping)
}

/// Durability of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Must survive a crash of the machine.
    Synced,
    /// Must survive as long as the process, like its store.
    Process,
}

impl Durability {
    /// Returns the durability for a server's files.
    pub(super) fn of(config: &Config) -> Self {
        match config.storage {
            StorageConfig::Memory(_) => Durability::Process,
            StorageConfig::Etcd(_) | StorageConfig::Embedded { .. } => Durability::Synced,
        }
    }
}

/// Writes a file atomically, with these permissions from the beginning.
fn write(path: &Path, text: &str, mode: u32, keeping: Durability) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    if keeping == Durability::Synced {
        file.sync_all()?;
    }
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests;
