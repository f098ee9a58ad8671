//! Periodic check of the certificates that the server presents: to clients, kubelets, extension API servers, other
//! API servers and etcd. An expired one stops connections, so the operator must know before.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, fs, io};

use apimachinery::time::UnixTime;
use component_base::clock::Clock;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use server::tls::TlsFiles;
use server::tls::self_signed::not_after;
use tokio::time::sleep;

use crate::config::{Config, StorageConfig};

/// Interval of checks. It is shorter than the time for which the console shows a decision.
const CHECK_INTERVAL: Duration = Duration::from_secs(300);
/// Certificates whose remaining validity is below this are reported: a week, as in upstream's alert for client
/// certificates.
const REMAINING_MIN_SECONDS: i64 = 7 * 24 * 3600;

/// Reason why a certificate is reported.
#[derive(Debug, thiserror::Error)]
enum ExpiryProblem {
    /// The time is that of its end.
    #[error("the certificate has expired at {}", .0.rfc3339())]
    Expired(UnixTime),
    #[error("the certificate expires at {}", .0.rfc3339())]
    ExpiresSoon(UnixTime),
    #[error("the file cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    #[error("the file contains no certificate")]
    NoCertificate,
}

/// Certificate files of a server.
pub(super) struct CertificateExpiry {
    files: Vec<PathBuf>,
    clock: Arc<dyn Clock>,
    weakened: WeakenedDecisions,
}

impl CertificateExpiry {
    /// Collects the certificates in `serving` and the client certificates of `config`.
    pub(super) fn new(
        config: &Config,
        serving: &TlsFiles,
        clock: &Arc<dyn Clock>,
        weakened: &WeakenedDecisions,
    ) -> Self {
        let mut files = vec![serving.default.certificate.clone()];
        files.extend(serving.sni.iter().map(|(files, _)| files.certificate.clone()));
        files.extend(config.kubelets.certificate.iter().map(|files| files.certificate.clone()));
        files.extend(config.aggregation.certificate.iter().map(|files| files.certificate.clone()));
        if let StorageConfig::Etcd(etcd) = &config.storage {
            files.extend(etcd.certificate.clone());
        }
        files.sort_unstable();
        files.dedup();
        CertificateExpiry { files, clock: Arc::clone(clock), weakened: weakened.clone() }
    }

    /// Checks the files now and every five minutes. Never returns.
    pub(super) async fn run(self) {
        let this = Arc::new(self);
        loop {
            let checking = Arc::clone(&this);
            // A failure is a panic, which the runtime has reported.
            let _ = tokio::task::spawn_blocking(move || checking.check()).await;
            sleep(CHECK_INTERVAL).await;
        }
    }

    fn check(&self) {
        let now = self.clock.now().seconds;
        for file in &self.files {
            if let Err(problem) = check_file(file, now) {
                self.weakened.record(WeakenedKind::CertificateExpiry, &file.display().to_string(), &problem);
            }
        }
    }
}

impl fmt::Debug for CertificateExpiry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateExpiry").field("files", &self.files).finish_non_exhaustive()
    }
}

fn check_file(file: &Path, now: i64) -> Result<(), ExpiryProblem> {
    let pem = fs::read_to_string(file).map_err(ExpiryProblem::Unreadable)?;
    let end = not_after(&pem).ok_or(ExpiryProblem::NoCertificate)?;
    if end <= now {
        Err(ExpiryProblem::Expired(UnixTime::from_seconds(end)))
    } else if end.saturating_sub(now) < REMAINING_MIN_SECONDS {
        Err(ExpiryProblem::ExpiresSoon(UnixTime::from_seconds(end)))
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use component_base::clock::TestClock;
    use server::tls::self_signed::authority;

    use super::*;

    const NOW: i64 = 1_700_000_000;

    #[test]
    fn week_before_expiry_is_reported() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.crt");
        let certificate = authority("a", NOW).unwrap().certificate;
        fs::write(&path, &certificate).unwrap();
        let end = not_after(&certificate).unwrap();
        let text = |now: i64| check_file(&path, now).err().map(|problem| problem.to_string());
        let shown = UnixTime::from_seconds(end).rfc3339();
        assert_eq!(text(end - REMAINING_MIN_SECONDS), None);
        assert_eq!(
            text(end - REMAINING_MIN_SECONDS + 1),
            Some(format!("the certificate expires at {shown}"))
        );
        assert_eq!(text(end), Some(format!("the certificate has expired at {shown}")));
    }

    #[test]
    fn all_presented_certificates_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| {
            let path = dir.path().join(name);
            fs::write(&path, "no certificate").unwrap();
            path
        };
        let pair =
            |name: &str| server::tls::CertificateFiles { certificate: path(name), key: PathBuf::new() };
        let mut config = Config::for_tests(dir.path().to_owned());
        config.kubelets.certificate = Some(pair("kubelet"));
        config.aggregation.certificate = Some(pair("proxy"));
        let serving = TlsFiles {
            default: pair("default"),
            sni: vec![(pair("sni"), Vec::new())],
            client_authorities: Vec::new(),
            proxy_authorities: Vec::new(),
            loopback: None,
        };
        let weakened = WeakenedDecisions::default();
        let clock: Arc<dyn Clock> = Arc::new(TestClock::at(UnixTime::from_seconds(NOW)));
        CertificateExpiry::new(&config, &serving, &clock, &weakened).check();
        let name = |path: &str| Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = weakened.recent().iter().map(|decision| name(&decision.name)).collect();
        names.sort_unstable();
        assert_eq!(names, ["default", "kubelet", "proxy", "sni"]);
        assert!(
            weakened.recent().iter().all(|decision| decision.cause == "the file contains no certificate")
        );
    }
}
