//! A client that constantly writes and reads, and records the responses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::history::{MARK, Observation, Outcome, RecordedCall, WriteKind, mark};
use super::random::Random;

/// Number of objects that all clients share.
const NAMES: usize = 40;
/// Pause before a retry after a 429 response.
const AGAIN: Duration = Duration::from_millis(40);
/// Response timeout of a client.
const PATIENCE: Duration = Duration::from_secs(5);

/// Observations of all clients.
pub(super) struct Record {
    noted: Mutex<Vec<RecordedCall>>,
    start: Instant,
    /// Pause between the requests of one client.
    pause: Duration,
    /// Latest acknowledged revision.
    pub(super) floor: AtomicI64,
    marks: AtomicU64,
    /// True during planned operations, in which no request may fail.
    pub(super) planned: AtomicBool,
    /// Errors during planned operations.
    pub(super) failed_in_plan: Mutex<Vec<String>>,
    pub(super) failures: AtomicU64,
    pub(super) stop: AtomicBool,
}

impl Record {
    pub(super) fn new(pause: Duration) -> Self {
        Record {
            noted: Mutex::default(),
            start: Instant::now(),
            pause,
            floor: AtomicI64::default(),
            marks: AtomicU64::default(),
            planned: AtomicBool::default(),
            failed_in_plan: Mutex::default(),
            failures: AtomicU64::default(),
            stop: AtomicBool::default(),
        }
    }

    /// Returns the time since the start of the run.
    pub(super) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Records the result of a request that started at `start`.
    pub(super) fn note(&self, start: Duration, observation: Observation) {
        let call = RecordedCall { start, ended: self.now(), observation };
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    pub(super) fn take(&self) -> Vec<RecordedCall> {
        std::mem::take(&mut self.noted.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn acknowledged(&self, revision: i64) {
        self.floor.fetch_max(revision, Ordering::SeqCst);
    }

    /// Returns the outcome of a failed write, and stores failures during planned operations.
    fn failed(&self, planned: bool, operation: &str, error: &kube::Error) -> Outcome {
        if let kube::Error::Api(status) = error
            && (400..500).contains(&status.code)
        {
            return Outcome::Refused(status.code);
        }
        self.lost(planned, &format!("{operation}: {error:?}"));
        Outcome::Unknown
    }

    fn lost(&self, planned: bool, message: &str) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if planned && self.planned.load(Ordering::SeqCst) {
            self.failed_in_plan.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
        }
    }
}

pub(super) async fn run(client: Client, record: Arc<Record>, mut random: Random) {
    let api: Api<ConfigMap> = Api::namespaced(client, "chaos");
    while !record.stop.load(Ordering::Relaxed) {
        let name = format!("o{:02}", random.below(NAMES));
        let planned = record.planned.load(Ordering::SeqCst);
        let action = random.below(10);
        let step = step(&api, &record, &name, action, planned);
        if timeout(PATIENCE, step).await.is_err() {
            record.lost(planned, &format!("no answer to {action} of {name}"));
        }
        sleep(record.pause).await;
    }
}

/// Guard that records an unknown outcome if the write is abandoned.
struct Pending<'a> {
    record: &'a Record,
    start: Duration,
    /// Builds the record of an outcome.
    observe: Box<dyn Fn(Outcome) -> Observation + Send + 'a>,
    outcome: Outcome,
}

impl<'a> Pending<'a> {
    fn new(record: &'a Record, observe: impl Fn(Outcome) -> Observation + Send + 'a) -> Self {
        Pending { record, start: record.now(), observe: Box::new(observe), outcome: Outcome::Unknown }
    }

    fn ends(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        self.record.note(self.start, (self.observe)(self.outcome));
    }
}

async fn step(api: &Api<ConfigMap>, record: &Record, name: &str, action: usize, planned: bool) {
    match action {
        0..=6 => write(api, record, name, action, planned).await,
        7 => delete(api, record, name, planned).await,
        8 => get(api, record, name, planned).await,
        _ => list(api, record, planned).await,
    }
}

async fn write(api: &Api<ConfigMap>, record: &Record, name: &str, action: usize, planned: bool) {
    let mark = mark(record.marks.fetch_add(1, Ordering::Relaxed));
    let how = match action {
        0..=2 => WriteKind::Create,
        3 | 4 => match api.get_opt(name).await {
            Ok(Some(current)) => WriteKind::Update(revision(&current)),
            _ => return,
        },
        _ => WriteKind::Patch,
    };
    let observation =
        |outcome| Observation::Write { name: name.to_owned(), how, mark: mark.clone(), outcome };
    let pending = Pending::new(record, observation);
    let response = loop {
        let response = write_once(api, name, how, &mark).await;
        if !again(&response).await {
            break response;
        }
    };
    let outcome = match response {
        Ok(object) => {
            let revision = revision(&object);
            record.acknowledged(revision);
            Outcome::Done(Some(revision))
        }
        Err(error) => record.failed(planned, "write", &error),
    };
    pending.ends(outcome);
}

async fn write_once(
    api: &Api<ConfigMap>,
    name: &str,
    how: WriteKind,
    mark: &str,
) -> Result<ConfigMap, kube::Error> {
    let object = |version: Option<String>| -> ConfigMap {
        let metadata = json!({"name": name, "resourceVersion": version});
        serde_json::from_value(json!({"metadata": metadata, "data": {"mark": mark}})).unwrap()
    };
    match how {
        WriteKind::Create => api.create(&PostParams::default(), &object(None)).await,
        WriteKind::Update(revision) => {
            api.replace(name, &PostParams::default(), &object(Some(revision.to_string()))).await
        }
        WriteKind::Patch => {
            let patch = Patch::Merge(json!({"data": {"mark": mark}}));
            api.patch(name, &PatchParams::default(), &patch).await
        }
    }
}

/// Waits and returns true if the server requested a retry.
async fn again<T>(response: &Result<T, kube::Error>) -> bool {
    let again = matches!(response, Err(kube::Error::Api(status)) if status.code == 429);
    if again {
        sleep(AGAIN).await;
    }
    again
}

async fn delete(api: &Api<ConfigMap>, record: &Record, name: &str, planned: bool) {
    let floor = record.floor.load(Ordering::SeqCst);
    let pending =
        Pending::new(record, |outcome| Observation::Delete { name: name.to_owned(), floor, outcome });
    let response = loop {
        let response = api.delete(name, &DeleteParams::default()).await;
        if !again(&response).await {
            break response;
        }
    };
    let outcome = match response {
        Ok(_) => Outcome::Done(None),
        Err(error) => record.failed(planned, "delete", &error),
    };
    pending.ends(outcome);
}

async fn get(api: &Api<ConfigMap>, record: &Record, name: &str, planned: bool) {
    let start = record.now();
    let floor = record.floor.load(Ordering::SeqCst);
    match api.get_opt(name).await {
        Ok(found) => {
            let found = found.map(|object| (revision(&object), mark_of(&object)));
            record.note(start, Observation::Get { name: name.to_owned(), floor, found });
        }
        Err(error) => drop(record.failed(planned, "get", &error)),
    }
}

async fn list(api: &Api<ConfigMap>, record: &Record, planned: bool) {
    let start = record.now();
    let floor = record.floor.load(Ordering::SeqCst);
    match api.list(&ListParams::default()).await {
        Ok(list) => {
            let revision = list.metadata.resource_version.unwrap().parse().unwrap();
            record.note(start, Observation::List { floor, revision, items: items(&list.items) });
        }
        Err(error) => drop(record.failed(planned, "list", &error)),
    }
}

/// Returns the test objects by name, with their revisions.
pub(super) fn items(objects: &[ConfigMap]) -> BTreeMap<String, i64> {
    let ours = objects.iter().filter(|object| is_ours(object));
    ours.map(|object| (object.metadata.name.clone().unwrap(), revision(object))).collect()
}

/// Returns true for a test object; other objects belong to the server.
pub(super) fn is_ours(object: &ConfigMap) -> bool {
    object.data.as_ref().is_some_and(|data| data.get("mark").is_some_and(|mark| mark.starts_with(MARK)))
}

pub(super) fn revision(object: &ConfigMap) -> i64 {
    object.metadata.resource_version.as_ref().unwrap().parse().unwrap()
}

fn mark_of(object: &ConfigMap) -> String {
    object.data.as_ref().unwrap()["mark"].clone()
}
