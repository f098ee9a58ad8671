//! Clients that write as fast as possible and record the acknowledged writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const WRITERS: usize = 8;
/// Pause of a writer after a failure, to avoid a busy loop.
const REST: Duration = Duration::from_millis(20);
const LIMIT: Duration = Duration::from_secs(120);

/// Counts of writes so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    pub(crate) acknowledged: usize,
    pub(crate) failed: usize,
}

#[derive(Default)]
struct Record {
    /// Last acknowledged value of each object.
    acknowledged: BTreeMap<String, &'static str>,
    failures: Vec<kube::Error>,
}

/// Several active writers. They stop when it is dropped.
pub(crate) struct Load {
    record: Arc<Mutex<Record>>,
    progress: watch::Receiver<Progress>,
    writers: JoinSet<()>,
}

impl Load {
    /// Starts writers with object names that start with `prefix`.
    pub(crate) fn start(client: &Client, prefix: &str) -> Self {
        let record = Arc::new(Mutex::new(Record::default()));
        let (sender, progress) = watch::channel(Progress::default());
        let sender = Arc::new(sender);
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let api = Api::default_namespaced(client.clone());
            writers.spawn(write(api, format!("{prefix}-{writer}"), Arc::clone(&record), Arc::clone(&sender)));
        }
        Self { record, progress, writers }
    }

    /// Returns the present progress.
    pub(crate) fn progress(&self) -> Progress {
        *self.progress.borrow()
    }

    /// Waits until the progress satisfies `predicate`.
    pub(crate) async fn until(&mut self, predicate: impl FnMut(&Progress) -> bool) {
        let reached = timeout(LIMIT, self.progress.wait_for(predicate)).await;
        let reached = reached.map(|progress| progress.is_ok());
        assert_eq!(reached, Ok(true), "after {LIMIT:?}: {:?}", *self.progress.borrow());
    }

    /// Stops the writers.
    pub(crate) async fn stop(mut self) -> Outcome {
        self.writers.shutdown().await;
        let record = std::mem::take(&mut *self.record.lock().unwrap());
        Outcome { acknowledged: record.acknowledged, failures: record.failures }
    }
}

/// Results of the writers.
pub(crate) struct Outcome {
    acknowledged: BTreeMap<String, &'static str>,
    pub(crate) failures: Vec<kube::Error>,
}

impl Outcome {
    /// Fails unless the server has all acknowledged writes.
    pub(crate) async fn assert_on_server(&self, client: &Client) {
        let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let list = api.list(&ListParams::default()).await.unwrap();
        let value = |object: &ConfigMap| object.data.as_ref().and_then(|data| data.get("k").cloned());
        let stored: BTreeMap<_, _> =
            list.items.iter().map(|object| (object.metadata.name.clone().unwrap(), value(object))).collect();
        assert!(!self.acknowledged.is_empty(), "writes were acknowledged");
        for (name, expected) in &self.acknowledged {
            let stored =
                stored.get(name).unwrap_or_else(|| panic!("{name} was acknowledged and is lost")).as_deref();
            // An unacknowledged write may have happened.
            assert!(
                stored == Some(*expected) || *expected == CREATED && stored == Some(PATCHED),
                "{name}: {stored:?}"
            );
        }
    }
}

const CREATED: &str = "created";
const PATCHED: &str = "patched";

/// Creates objects and patches each once, forever.
async fn write(
    api: Api<ConfigMap>,
    prefix: String,
    record: Arc<Mutex<Record>>,
    progress: Arc<watch::Sender<Progress>>,
) {
    let note = async |name: &str, value: &'static str, result: Result<ConfigMap, kube::Error>| {
        let ok = result.is_ok();
        {
            let mut record = record.lock().unwrap();
            match result {
                Ok(_) => drop(record.acknowledged.insert(name.to_owned(), value)),
                Err(error) => record.failures.push(error),
            }
        }
        progress.send_modify(|progress| if ok { progress.acknowledged += 1 } else { progress.failed += 1 });
        if !ok {
            sleep(REST).await;
        }
        ok
    };
    for n in 0_u64.. {
        let name = format!("{prefix}-{n}");
        let object = json!({"metadata": {"name": name}, "data": {"k": CREATED}});
        let object: ConfigMap = serde_json::from_value(object).unwrap();
        if !note(&name, CREATED, api.create(&PostParams::default(), &object).await).await {
            continue;
        }
        let patch = Patch::Merge(json!({"data": {"k": PATCHED}}));
        note(&name, PATCHED, api.patch(&name, &PatchParams::default(), &patch).await).await;
    }
}
