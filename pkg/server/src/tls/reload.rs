//! Reloads the TLS files while the server runs: when their metadata change, and every minute.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use tokio::time::{MissedTickBehavior, interval};

use super::{Tls, TlsContents, TlsError, TlsFiles, TlsOptions};

/// Interval of metadata checks. Upstream uses file notifications; this is fast enough for operators.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Number of checks between two reads of files with unchanged metadata: a minute, as in upstream.
const CHECKS_PER_READ: u32 = 60;
/// Subject of weakened decisions. The cause contains the path.
const NAME: &str = "TLS files";

/// Metadata of a file: inode, length and write time. `None` if it does not exist.
type FileMetadata = Option<(u64, u64, u64, i64, i64)>;

impl TlsFiles {
    fn file_metadata(&self) -> Vec<FileMetadata> {
        let pairs = std::iter::once(&self.default).chain(self.sni.iter().map(|(files, _)| files));
        let paths = pairs.flat_map(|files| [&files.certificate, &files.key]);
        let paths = paths.chain(&self.client_authorities).chain(&self.proxy_authorities);
        let fields = |metadata: fs::Metadata| {
            (metadata.dev(), metadata.ino(), metadata.size(), metadata.mtime(), metadata.mtime_nsec())
        };
        paths.map(|path| fs::metadata(path).ok().map(fields)).collect()
    }
}

/// Updates `tls` from the files for as long as it is polled. Invalid files leave the last valid state in
/// place and are recorded in `weakened`. Open connections keep the keys of their handshake; their client certificates are
/// checked against the current CAs for every request.
pub async fn reload_files(
    tls: Arc<ArcSwap<Tls>>,
    files: TlsFiles,
    options: TlsOptions,
    mut loaded: TlsContents,
    weakened: WeakenedDecisions,
) {
    let mut ticks = interval(CHECK_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last_metadata = None;
    let mut checks = 0_u32;
    loop {
        ticks.tick().await;
        checks = checks.saturating_add(1);
        let files = files.clone();
        let previous = last_metadata.clone();
        let overdue = checks >= CHECKS_PER_READ;
        let check = move || {
            let metadata = files.file_metadata();
            let read = (overdue || previous.as_ref() != Some(&metadata)).then(|| files.read());
            (metadata, read)
        };
        let Ok((metadata, read)) = tokio::task::spawn_blocking(check).await else { continue };
        last_metadata = Some(metadata);
        if let Some(read) = read {
            checks = 0;
            if let Err(error) = apply_contents(&tls, &options, &mut loaded, read) {
                weakened.record(WeakenedKind::StaleConfiguration, NAME, &error);
            }
        }
    }
}

/// # Errors
/// The files are unusable.
fn apply_contents(
    tls: &ArcSwap<Tls>,
    options: &TlsOptions,
    loaded: &mut TlsContents,
    contents: Result<TlsContents, TlsError>,
) -> Result<(), TlsError> {
    let contents = contents?;
    if contents == *loaded {
        return Ok(());
    }
    let mut new = Tls::new(&contents, options)?;
    if contents.has_authorities_of(loaded) {
        // Verdicts of the previous CAs are still valid.
        new.authorities = Arc::clone(&tls.load().authorities);
    }
    tls.store(Arc::new(new));
    *loaded = contents;
    tracing::info!("reloaded changed TLS files");
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::testing::NOW;
    use crate::tls::CertificateFiles;
    use crate::tls::self_signed::authority;

    #[tokio::test(start_paused = true)]
    async fn changed_files_are_reloaded() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let write = |name: &str, text: &str| fs::write(path(name), text).unwrap();
        let server = authority("server", NOW).unwrap();
        let client = authority("client", NOW).unwrap();
        write("s.crt", &server.certificate);
        write("s.key", &server.key);
        write("c.crt", &client.certificate);
        let files = TlsFiles {
            default: CertificateFiles { certificate: path("s.crt"), key: path("s.key") },
            sni: Vec::new(),
            client_authorities: vec![path("c.crt")],
            proxy_authorities: Vec::new(),
            loopback: None,
        };
        let options = TlsOptions::default();
        let contents = files.read().unwrap();
        let first = Arc::new(Tls::new(&contents, &options).unwrap());
        let tls = Arc::new(ArcSwap::new(Arc::clone(&first)));
        let weakened = WeakenedDecisions::default();
        let reload = reload_files(Arc::clone(&tls), files, options, contents, weakened.clone());
        let changes = async {
            let changed = async |previous: &Arc<Tls>| {
                let start = Instant::now();
                while Arc::ptr_eq(&tls.load(), previous) {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                assert!(start.elapsed() <= Duration::from_secs(3), "{:?}", start.elapsed());
                tls.load_full()
            };
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert!(Arc::ptr_eq(&tls.load(), &first), "nothing has changed");
            write("s.crt", &format!("{}\n", server.certificate));
            let second = changed(&first).await;
            assert!(Arc::ptr_eq(&first.authorities, &second.authorities), "the authorities are the same");
            write("c.crt", &server.certificate);
            let third = changed(&second).await;
            assert!(!Arc::ptr_eq(&second.authorities, &third.authorities));
            assert_eq!(weakened.count(WeakenedKind::StaleConfiguration), 0);
            write("c.crt", "no certificate");
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert!(Arc::ptr_eq(&tls.load(), &third), "what cannot be used is not");
            let cause = weakened.recent().remove(0).cause;
            assert!(cause.contains("c.crt"), "{cause}");
        };
        tokio::select! {
            () = reload => {}
            done = timeout(Duration::from_secs(60), changes) => done.unwrap(),
        }
    }
}
