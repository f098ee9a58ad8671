//! Size of the store (`apiserver_storage_size_bytes`).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use component_base::metrics::{Family, Gauge, MetricsRegistry, Stability};
use storage_etcd3::Etcd;
use tokio::time::sleep;

const BYTES: Family<Gauge, 1> = Family::gauge(
    Stability::Stable,
    "apiserver_storage_size_bytes",
    "Size of the storage database file physically allocated in bytes.",
    ["storage_cluster_id"],
);

/// Source of the size.
pub(in super::super) enum Size {
    Unknown,
    /// Size of the files in a directory.
    Directory(PathBuf),
    /// Last reported size of each etcd cluster in bytes; 0 before the first report.
    Reported(Vec<AtomicI64>),
}

impl Size {
    /// Creates the sizes of `clusters` clusters without reports.
    pub(super) fn of(clusters: usize) -> Self {
        Size::Reported((0..clusters).map(|_| AtomicI64::new(0)).collect())
    }

    /// Returns label values, numbered like etcd clusters in upstream, with sizes in bytes.
    fn bytes(&self) -> Vec<(String, i64)> {
        match self {
            Size::Unknown => Vec::new(),
            Size::Directory(dir) => {
                let Ok(files) = std::fs::read_dir(dir) else { return Vec::new() };
                let sizes =
                    files.flatten().filter_map(|file| i64::try_from(file.metadata().ok()?.len()).ok());
                vec![("embedded".to_owned(), sizes.sum())]
            }
            Size::Reported(clusters) => {
                let sizes = clusters.iter().enumerate();
                let sizes = sizes.map(|(number, bytes)| (format!("etcd-{number}"), bytes.load(Relaxed)));
                sizes.filter(|(_, bytes)| *bytes > 0).collect()
            }
        }
    }
}

impl Size {
    /// Registers the metric.
    pub(in super::super) fn register(self: &Arc<Self>, registry: &MetricsRegistry) {
        let size = Arc::clone(self);
        registry.collect(&[&BYTES], move |page| {
            let mut samples = page.family(&BYTES);
            size.bytes().iter().for_each(|(store, bytes)| samples.add([store], *bytes));
        });
    }
}

/// Periodically fetches the size of cluster `number`.
pub(super) async fn poll(etcd: Arc<Etcd>, size: Arc<Size>, number: usize, every: Duration) {
    let Size::Reported(clusters) = &*size else { return };
    let Some(reported) = clusters.get(number) else { return };
    loop {
        match etcd.size_bytes().await {
            Ok(bytes) => reported.store(bytes, Relaxed),
            Err(error) => tracing::debug!(%error, "failed to fetch the size of etcd"),
        }
        sleep(every).await;
    }
}
