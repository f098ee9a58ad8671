//! The certificates a server needs and was not given, and the kubeconfig of its administrator.
//!
//! Upstream makes a self-signed serving certificate in `--cert-dir` and stops there; without
//! `--client-ca-file` nobody could use it. Here the serving certificate is signed by an authority of
//! our own, and when nothing was configured by which anyone could prove an identity, that authority
//! also signs an administrator, whose kubeconfig is written to a file that only its owner can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use server::tls::self_signed::{CertificatePair, Usage, authority, is_issued_by, issue, not_after};
use server::tls::{CertificateFiles, TlsFiles};

use super::kubeconfig;
use crate::config::{Config, StorageConfig};
use crate::error::RunError;
use crate::loopback::Loopback;

/// A certificate that is valid for less than this is made anew.
const REMAINING_MIN_SECONDS: i64 = 30 * 24 * 3600;

/// The names under which upstream keeps the serving certificate in `--cert-dir`, and ours for the
/// authority.
const SERVING: (&str, &str) = ("apiserver.crt", "apiserver.key");
const AUTHORITY: (&str, &str) = ("mainstay-ca.crt", "mainstay-ca.key");

/// The files that TLS is made from, and who may be trusted.
pub(super) struct Credentials {
    pub(super) files: TlsFiles,
    /// PEM of what a client needs to trust this server.
    pub(super) trust: String,
    authority: Option<CertificatePair>,
}

/// Makes what is missing, and keeps what is there and still valid.
///
/// # Errors
/// [`RunError::File`], [`RunError::Tls`].
pub(super) fn prepare(config: &Config, loopback: &Loopback, now: i64) -> Result<Credentials, RunError> {
    let serving = &config.serving;
    let (dir, keeping) = (serving.cert_dir.as_path(), Keeping::of(config));
    let made = CertificateFiles { certificate: dir.join(SERVING.0), key: dir.join(SERVING.1) };
    // Whoever puts a pair there himself wants that one, however long it lasts.
    let found = made.certificate.exists() && made.key.exists();
    let own_make = is_issued(&made.certificate, &dir.join(AUTHORITY.0));
    let given = serving.certificate.clone().or_else(|| (found && !own_make).then(|| made.clone()));
    let own = given.is_none() || serving.admin_kubeconfig.is_some();
    let authority = if own {
        Some(pair(dir, AUTHORITY, (now, keeping), || authority(&format!("mainstay-ca@{now}"), now))?)
    } else {
        None
    };
    let default = match (&given, &authority) {
        (Some(files), _) => files.clone(),
        (None, Some(authority)) => {
            let usage = Usage::Server(names(config));
            pair(dir, SERVING, (now, keeping), || issue(authority, "kube-apiserver", &[], &usage, now))?;
            made
        }
        (None, None) => return Err(RunError::Credentials("no serving certificate".to_owned())),
    };
    let mut client_authorities: Vec<_> = config.authentication.client_ca_file.iter().cloned().collect();
    if serving.admin_kubeconfig.is_some() {
        client_authorities.push(dir.join(AUTHORITY.0));
    }
    let served = fs::read_to_string(&default.certificate)
        .map_err(|source| RunError::read(&default.certificate, source))?;
    let trust =
        format!("{}{served}", authority.as_ref().map_or("", |authority| authority.certificate.as_str()));
    let proxy_authorities = config.authentication.request_header.ca_file.iter().cloned().collect();
    let (sni, loopback) = (serving.sni.clone(), Some(loopback.certificate()));
    let files = TlsFiles { default, sni, client_authorities, proxy_authorities, loopback };
    Ok(Credentials { files, trust, authority })
}

/// Whether a certificate says that it is from an authority. Both are files, and may be missing.
fn is_issued(certificate: &Path, authority: &Path) -> bool {
    match (fs::read_to_string(certificate), fs::read_to_string(authority)) {
        (Ok(certificate), Ok(authority)) => is_issued_by(&certificate, &authority),
        _ => false,
    }
}

/// Writes the administrator's kubeconfig, if one is wanted.
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
    let host = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    let server = format!("https://{}", SocketAddr::new(host, address.port()));
    let encode = |text: &str| STANDARD.encode(text);
    let text = kubeconfig::render(
        &server,
        &encode(&credentials.trust),
        &encode(&admin.certificate),
        &encode(&admin.key),
    );
    write_private(path, &text, Keeping::of(config)).map_err(|source| RunError::read(path, source))
}

/// The names and addresses under which clients reach the server, as upstream's certificate has them.
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

/// The pair in two files of `dir`, or a new one when one of them is missing or the certificate is
/// about to expire.
fn pair(
    dir: &Path,
    (certificate_name, key_name): (&str, &str),
    (now, keeping): (i64, Keeping),
    make: impl FnOnce() -> Result<CertificatePair, server::tls::TlsError>,
) -> Result<CertificatePair, RunError> {
    let (certificate_path, key_path) = (dir.join(certificate_name), dir.join(key_name));
    let found = fs::read_to_string(&certificate_path)
        .and_then(|certificate| Ok(CertificatePair { certificate, key: fs::read_to_string(&key_path)? }));
    match found {
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
            write(&certificate_path, &pair.certificate, (0o644, keeping))
                .map_err(|source| RunError::read(&certificate_path, source))?;
            Ok(pair)
        }
    }
}

pub(super) fn write_private(path: &Path, text: &str, keeping: Keeping) -> io::Result<()> {
    write(path, text, (0o600, keeping))
}

/// For how long files have to stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// Also after the machine has crashed.
    Synced,
    /// As long as the process, as its store does.
    Process,
}

impl Keeping {
    /// What a server's files have to survive.
    pub(super) fn of(config: &Config) -> Self {
        match config.storage {
            StorageConfig::Memory(_) => Keeping::Process,
            StorageConfig::Etcd(_) | StorageConfig::Embedded { .. } => Keeping::Synced,
        }
    }
}

/// Writes a file whole or not at all, with these permissions from its first byte.
fn write(path: &Path, text: &str, (mode, keeping): (u32, Keeping)) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let _ = fs::remove_file(&temporary);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary)?;
    file.write_all(text.as_bytes())?;
    if keeping == Keeping::Synced {
        file.sync_all()?;
    }
    fs::rename(&temporary, path)
}

#[cfg(test)]
mod tests;
