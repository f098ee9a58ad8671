//! Clients that constantly write and read, and a record of the responses.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::sleep;

use super::history::History;
use super::link::{Answer, Broken, Link};
use super::objects::{Color, Object, Resource, SLOTS, Scope, namespace, node};

/// Pause between requests of one client.
const PAUSE: Duration = Duration::from_millis(30);

/// Responses so far.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Objects with the revisions of acknowledged writes.
    acknowledged: Vec<(Object, i64)>,
    reads: Vec<Read>,
    /// Error responses by status code.
    pub(crate) refusals: BTreeMap<u16, usize>,
    /// Requests without a response.
    pub(crate) broken: usize,
    /// Responses that no server may return.
    wrongs: Vec<String>,
}

/// A consistent read.
#[derive(Debug)]
struct Read {
    /// Latest revision acknowledged before the read began.
    floor: i64,
    found: Found,
}

#[derive(Debug)]
enum Found {
    Object(Object, Option<i64>),
    List { scope: Scope, revision: i64, items: BTreeMap<Object, i64> },
}

/// The record shared by all clients.
#[derive(Debug, Default)]
pub(crate) struct Load {
    record: Mutex<Record>,
    acknowledged: watch::Sender<usize>,
}

impl Load {
    pub(crate) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of acknowledged writes, as it grows.
    pub(crate) fn acknowledged(&self) -> watch::Receiver<usize> {
        self.acknowledged.subscribe()
    }

    fn floor(&self) -> i64 {
        self.record().acknowledged.iter().map(|(_, revision)| *revision).max().unwrap_or(0)
    }

    /// Creates, changes and deletes the objects of one writer until it is stopped.
    pub(crate) async fn write(self: Arc<Self>, writer: u8, link: Arc<Link>, stop: watch::Receiver<bool>) {
        for round in 0_usize.. {
            for slot in 0..SLOTS {
                let object = Object { writer, slot };
                let color =
                    if (round + usize::from(slot)).is_multiple_of(2) { Color::Red } else { Color::Blue };
                let collection = object.collection();
                let name = format!("{}/{object}", object.collection());
                let labels = |color: Color| json!({"metadata": {"labels": {"color": color.value()}}});
                let note = json!({"metadata": {"annotations": {"round": round.to_string()}}});
                // The last object of each round stays until the next round.
                let stays = slot + 1 == SLOTS;
                let writes = [
                    ("POST", &collection, body(object, color)),
                    ("PATCH", &name, labels(color.other()).to_string()),
                    ("PATCH", &name, note.to_string()),
                    ("DELETE", &name, json!({"gracePeriodSeconds": 0}).to_string()),
                ];
                for (method, path, body) in &writes[..if stays { 3 } else { 4 }] {
                    if *stop.borrow() {
                        return;
                    }
                    self.note_write(object, link.send(method, path, body).await);
                    sleep(PAUSE).await;
                }
            }
        }
    }

    fn note_write(&self, object: Object, response: Result<Answer, Broken>) {
        let mut record = self.record();
        let Some(response) = record.admit(response, &[404, 409]) else { return };
        let document = response.document();
        // The response to a deletion can be a Status, which has no revision.
        if let Ok(revision) = document.metadata.resource_version.parse() {
            record.acknowledged.push((object, revision));
        }
        drop(record);
        self.acknowledged.send_modify(|count| *count += 1);
    }

    /// Makes consistent reads until it is stopped.
    pub(crate) async fn read(self: Arc<Self>, link: Arc<Link>, stop: watch::Receiver<bool>) {
        for number in 0_usize.. {
            if *stop.borrow() {
                return;
            }
            let scope = Scope::of_watcher(number * 7);
            if let Scope::Name(object) = scope {
                self.read_one(object, &link).await;
            } else {
                self.read_list(scope, &link).await;
            }
            sleep(PAUSE).await;
        }
    }

    async fn read_one(&self, object: Object, link: &Link) {
        let floor = self.floor();
        let response = link.send("GET", &format!("{}/{object}", object.collection()), "").await;
        let mut record = self.record();
        let Some(response) = record.admit(response, &[404]) else { return };
        let revision = (response.code == 200).then(|| response.document().metadata.revision());
        record.reads.push(Read { floor, found: Found::Object(object, revision) });
    }

    async fn read_list(&self, scope: Scope, link: &Link) {
        let floor = self.floor();
        let response = link.send("GET", &scope.path(), "").await;
        let mut record = self.record();
        let Some(response) = record.admit(response, &[]) else { return };
        let list = response.document();
        let items = list.items.iter().map(|item| &item.metadata);
        let items = items.filter_map(|item| Some((Object::parse(&item.name)?, item.revision()))).collect();
        let found = Found::List { scope, revision: list.metadata.revision(), items };
        record.reads.push(Read { floor, found });
    }
}

impl Record {
    /// Returns the response if it is a success or has an expected status code; otherwise only counts it.
    fn admit(&mut self, response: Result<Answer, Broken>, expected: &[u16]) -> Option<Answer> {
        let Ok(response) = response else {
            self.broken += 1;
            return None;
        };
        if response.code < 300 || expected.contains(&response.code) {
            return Some(response);
        }
        *self.refusals.entry(response.code).or_default() += 1;
        let status = response.document();
        if !matches!(response.code, 429 | 500 | 503 | 504) || status.kind != "Status" {
            self.wrongs.push(format!("{} {}", response.code, status.message));
        }
        None
    }

    /// Returns the number of error responses.
    pub(crate) fn refused(&self) -> usize {
        self.refusals.values().sum()
    }

    /// Fails unless all acknowledged writes happened, and all reads were consistent.
    pub(crate) fn check(&self, history: &History) {
        assert_eq!(self.wrongs, [""; 0]);
        assert!(!self.acknowledged.is_empty() && !self.reads.is_empty(), "there were writes and reads");
        for &(object, revision) in &self.acknowledged {
            // A deletion or change without effect returns the revision of another write.
            assert!(history.changed(object, revision), "{object} was acknowledged with {revision}");
        }
        for Read { floor, found } in &self.reads {
            match found {
                Found::Object(object, found) => {
                    let current = history.was(*object, *found, *floor);
                    assert!(current, "{object} was {found:?} in a read that began after {floor}");
                }
                Found::List { scope, revision, items } => {
                    assert!(revision >= floor, "a list of {scope:?} at {revision} began after {floor}");
                    assert_eq!(items, &history.state(*scope, *revision), "{scope:?} at {revision}");
                }
            }
        }
    }
}

fn body(object: Object, color: Color) -> String {
    let kind = match object.resource() {
        Resource::Pods => "Pod",
        Resource::ConfigMaps => "ConfigMap",
    };
    let mut body = json!({
        "apiVersion": "v1", "kind": kind,
        "metadata": {
            "name": object.to_string(),
            "namespace": namespace(object.namespace()),
            "labels": {"color": color.value()},
        },
    });
    if object.resource() == Resource::Pods {
        body["spec"] = json!({"nodeName": node(object.node()), "containers": [{"name": "c", "image": "i"}]});
    }
    body.to_string()
}
