//! The true history, read from etcd directly, bypassing all proxies and servers under test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etcd_client::{Client, EventType, GetOptions, WatchOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::objects::{Color, Event, Kind, Object, Scope};

/// Pause between attempts to reach an unavailable etcd.
const PAUSE: Duration = Duration::from_millis(100);
const LIMIT: Duration = Duration::from_secs(30);

/// A change of a test object.
#[derive(Debug, Clone, Copy)]
struct Change {
    revision: i64,
    object: Object,
    /// The color after the change; `None` after a deletion.
    after: Option<Color>,
}

/// Records changes from etcd until dropped.
pub(crate) struct Recorder {
    url: String,
    changes: Arc<Mutex<Vec<Change>>>,
    seen: watch::Receiver<i64>,
    _task: JoinSet<()>,
}

impl Recorder {
    /// Starts with the complete history.
    pub(crate) fn start(url: String) -> Self {
        let changes = Arc::new(Mutex::new(Vec::new()));
        let (sender, seen) = watch::channel(0);
        let mut task = JoinSet::new();
        task.spawn(record(url.clone(), Arc::clone(&changes), sender));
        Recorder { url, changes, seen, _task: task }
    }

    async fn client(&self) -> Client {
        Client::connect([&self.url], None).await.unwrap()
    }

    /// Waits until everything so far is recorded. Returns the revision.
    pub(crate) async fn fence(&mut self) -> i64 {
        let done = self.client().await.put("/fence", "", None).await.unwrap();
        let revision = done.header().unwrap().revision();
        let reached = timeout(LIMIT, self.seen.wait_for(|seen| *seen >= revision)).await;
        assert!(reached.is_ok_and(|reached| reached.is_ok()), "the recorder does not come to {revision}");
        revision
    }

    /// Compacts etcd at the current revision.
    pub(crate) async fn compact(&mut self) {
        let revision = self.fence().await;
        self.client().await.compact(revision, None).await.unwrap();
    }

    /// Returns the recorded history.
    pub(crate) fn history(&self) -> History {
        History { changes: self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone() }
    }
}

async fn record(url: String, changes: Arc<Mutex<Vec<Change>>>, seen: watch::Sender<i64>) {
    loop {
        // It ends when etcd disconnects.
        let _ = follow(&url, &changes, &seen).await;
        sleep(PAUSE).await;
    }
}

async fn follow(
    url: &str,
    changes: &Mutex<Vec<Change>>,
    seen: &watch::Sender<i64>,
) -> Result<(), etcd_client::Error> {
    let mut client = Client::connect([url], None).await?;
    // With an unresponsive etcd the watch would hang.
    client.get("/fence", Some(GetOptions::new())).await?;
    let start = *seen.borrow() + 1;
    let options = WatchOptions::new().with_prefix().with_start_revision(start);
    let mut responses = client.watch("/", Some(options)).await?;
    while let Some(response) = responses.message().await? {
        assert_eq!(response.compact_revision(), 0, "the recorder came too late for {start}");
        for event in response.events() {
            let kv = event.kv().unwrap();
            if let Some(object) = Object::of_key(kv.key_str()?) {
                let after = (event.event_type() == EventType::Put)
                    .then(|| Color::of(kv.value()).expect("our objects have a color"));
                let change = Change { revision: kv.mod_revision(), object, after };
                changes.lock().unwrap_or_else(PoisonError::into_inner).push(change);
            }
            seen.send_replace(kv.mod_revision());
        }
    }
    Ok(())
}

/// Changes of the test objects, in order.
pub(crate) struct History {
    changes: Vec<Change>,
}

impl History {
    /// Returns the events that a watcher of `scope` must receive after `after` up to `until`.
    pub(crate) fn events(&self, scope: Scope, after: i64, until: i64) -> Vec<Event> {
        let mut colors: BTreeMap<Object, Color> = BTreeMap::new();
        let mut events = Vec::new();
        for Change { revision, object, after: color } in self.changes.iter().copied() {
            let before = match color {
                Some(color) => colors.insert(object, color),
                None => colors.remove(&object),
            };
            let inside = |color: Option<Color>| color.is_some_and(|color| scope.has(object, color));
            let kind = match (inside(before), inside(color)) {
                (false, true) => Kind::Added,
                (true, true) => Kind::Modified,
                (true, false) => Kind::Deleted,
                (false, false) => continue,
            };
            if after < revision && revision <= until {
                events.push(Event { kind, object, revision });
            }
        }
        events
    }

    /// Returns the objects in `scope` at a revision, with the revisions of their last changes.
    pub(crate) fn state(&self, scope: Scope, at: i64) -> BTreeMap<Object, i64> {
        let mut state = BTreeMap::new();
        for change in self.changes.iter().take_while(|change| change.revision <= at) {
            match change.after {
                Some(color) if scope.has(change.object, color) => {
                    state.insert(change.object, change.revision)
                }
                _ => state.remove(&change.object),
            };
        }
        state
    }

    /// Returns true if an object had the state `state` (a last-change revision, or absent) at some time at or
    /// after `floor`.
    pub(crate) fn was(&self, object: Object, state: Option<i64>, floor: i64) -> bool {
        let mut changes = self.changes.iter().filter(|change| change.object == object).peekable();
        let mut now: Option<i64> = None;
        loop {
            let next = changes.next();
            let lasted = next.is_none_or(|next| next.revision > floor);
            if now == state && lasted {
                return true;
            }
            let Some(next) = next else { return false };
            now = next.after.map(|_| next.revision);
        }
    }

    pub(crate) fn changed(&self, object: Object, revision: i64) -> bool {
        self.changes.iter().any(|change| change.object == object && change.revision == revision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Object = Object { writer: 0, slot: 0 };

    fn history() -> History {
        let red = Some(Color::Red);
        let changes = [(2, red), (4, Some(Color::Blue)), (6, red), (8, None)];
        let changes = changes.map(|(revision, after)| Change { revision, object: A, after });
        History { changes: changes.to_vec() }
    }

    #[test]
    fn watcher_events_cover_enter_change_and_leave() {
        let check = |scope: Scope, after: i64, expected: &[(Kind, i64)]| {
            let expected: Vec<_> =
                expected.iter().map(|&(kind, revision)| Event { kind, object: A, revision }).collect();
            assert_eq!(history().events(scope, after, 100), expected, "{scope:?}");
        };
        use Kind::{Added, Deleted, Modified};
        check(Scope::Name(A), 0, &[(Added, 2), (Modified, 4), (Modified, 6), (Deleted, 8)]);
        check(Scope::Name(A), 4, &[(Modified, 6), (Deleted, 8)]);
        let red = Scope::Color(A.resource(), Color::Red);
        check(red, 0, &[(Added, 2), (Deleted, 4), (Added, 6), (Deleted, 8)]);
        check(Scope::Node(A.node() + 1), 0, &[]);
    }

    #[test]
    fn read_is_current_if_state_lasted_to_start() {
        let check = |state: Option<i64>, floor: i64, expected: bool| {
            assert_eq!(history().was(A, state, floor), expected, "{state:?} {floor}");
        };
        check(None, 0, true);
        check(None, 2, true);
        check(Some(2), 3, true);
        check(Some(2), 4, false);
        check(Some(6), 7, true);
        check(Some(6), 8, false);
        check(Some(5), 0, false);
    }
}
