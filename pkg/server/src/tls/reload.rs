//! Certificates change while the server runs: files are looked at every minute.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::{MissedTickBehavior, interval};

use super::{Tls, TlsContents, TlsFiles, TlsOptions};

/// How often files are read again, as upstream's.
const PERIOD: Duration = Duration::from_secs(60);

/// Keeps `tls` as the files are, for as long as it is polled. Files that cannot be used leave the last
/// good state in place, with a warning. Open connections keep the keys that they began with; who may vouch for
/// their clients is looked at for every request.
pub async fn keep_fresh(
    tls: Arc<ArcSwap<Tls>>,
    files: TlsFiles,
    options: TlsOptions,
    mut loaded: TlsContents,
) {
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let files = files.clone();
        let read = match tokio::task::spawn_blocking(move || files.read()).await {
            Ok(Ok(contents)) if contents == loaded => continue,
            Ok(Ok(contents)) => contents,
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot read the TLS files again");
                continue;
            }
            Err(_) => continue,
        };
        match Tls::new(&read, &options) {
            Ok(mut fresh) => {
                if read.has_authorities_of(&loaded) {
                    // What was judged by them still holds.
                    fresh.vouching = Arc::clone(&tls.load().vouching);
                }
                tls.store(Arc::new(fresh));
                loaded = read;
                tracing::info!("the TLS files changed and are in use");
            }
            Err(error) => tracing::warn!(%error, "the TLS files changed and cannot be used"),
        }
    }
}
