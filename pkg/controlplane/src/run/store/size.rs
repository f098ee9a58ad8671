//! Size of the store (`apiserver_storage_size_bytes`).

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use server::metrics::Collector;
use storage_etcd3::Etcd;
use tokio::time::sleep;

/// Source of the size.
pub(in super::super) enum Size {
    Unknown,
    /// Size of the files in a directory.
    Directory(PathBuf),
    /// Last reported size of each etcd cluster in bytes; 0 before the first report.
    Told(Vec<AtomicI64>),
}

impl Size {
    /// Creates the sizes of `clusters` clusters without reports.
    pub(super) fn of(clusters: usize) -> Self {
        Size::Told((0..clusters).map(|_| AtomicI64::new(0)).collect())
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
            Size::Told(clusters) => {
                let told = clusters.iter().enumerate();
                let told = told.map(|(number, bytes)| (format!("etcd-{number}"), bytes.load(Relaxed)));
                told.filter(|(_, bytes)| *bytes > 0).collect()
            }
        }
    }
}

impl Collector for Size {
    fn collect(&self, out: &mut String) {
        let name = "apiserver_storage_size_bytes";
        let stores = self.bytes();
        if stores.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "# HELP {name} [STABLE] Size of the storage database file physically allocated in bytes.\n\
             # TYPE {name} gauge"
        );
        for (store, bytes) in stores {
            let _ = writeln!(out, "{name}{{storage_cluster_id=\"{store}\"}} {bytes}");
        }
    }
}

/// Periodically fetches the size of cluster `number`.
pub(super) async fn ask(etcd: Arc<Etcd>, size: Arc<Size>, number: usize, every: Duration) {
    let Size::Told(clusters) = &*size else { return };
    let Some(told) = clusters.get(number) else { return };
    loop {
        match etcd.size_bytes().await {
            Ok(bytes) => told.store(bytes, Relaxed),
            Err(error) => tracing::debug!(%error, "failed to fetch the size of etcd"),
        }
        sleep(every).await;
    }
}
