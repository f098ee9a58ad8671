//! What really happened, from etcd itself, past every proxy and every server under test.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etcd_client::{Client, EventType, GetOptions, WatchOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::objects::{Color, Event, Kind, Object, Scope};

/// Between attempts to reach an etcd that is gone.
const PAUSE: Duration = Duration::from_millis(100);
const LIMIT: Duration = Duration::from_secs(30);

/// One change of one of our objects.
#[derive(Debug, Clone, Copy)]
struct Change {
    revision: i64,
    object: Object,
    /// Its color afterwards; `None` when it is gone.
    after: Option<Color>,
}

/// Listens to etcd until it is dropped.
pub(crate) struct Recorder {
    url: String,
    changes: Arc<Mutex<Vec<Change>>>,
    seen: watch::Receiver<i64>,
    _task: JoinSet<()>,
}

impl Recorder {
    /// Begins with all that has happened.
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

    /// Waits until everything that has happened is recorded, and says up to which revision that is.
    pub(crate) async fn fence(&mut self) -> i64 {
        let done = self.client().await.put("/fence", "", None).await.unwrap();
        let revision = done.header().unwrap().revision();
        let reached = timeout(LIMIT, self.seen.wait_for(|seen| *seen >= revision)).await;
        assert!(reached.is_ok_and(|reached| reached.is_ok()), "the recorder does not come to {revision}");
        revision
    }

    /// Has etcd forget everything before the present.
    pub(crate) async fn compact(&mut self) {
        let revision = self.fence().await;
        self.client().await.compact(revision, None).await.unwrap();
    }

    /// All that is recorded.
    pub(crate) fn history(&self) -> History {
        History { changes: self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone() }
    }
}

async fn record(url: String, changes: Arc<Mutex<Vec<Change>>>, seen: watch::Sender<i64>) {
    loop {
        // It ends when etcd goes away.
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
    // An etcd that does not answer would leave the watch waiting.
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

/// What happened to our objects, in order.
pub(crate) struct History {
    changes: Vec<Change>,
}

impl History {
    /// What somebody who watches `scope` is told from after `after` to `until`.
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

    /// What is in `scope` at a revision, with the revision of its last change.
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

    /// Whether an object was as `found` says (last changed at a revision, or absent) at some time
    /// that was not before `floor`.
    pub(crate) fn was(&self, object: Object, found: Option<i64>, floor: i64) -> bool {
        let mut changes = self.changes.iter().filter(|change| change.object == object).peekable();
        let mut now: Option<i64> = None;
        loop {
            let next = changes.next();
            let lasted = next.is_none_or(|next| next.revision > floor);
            if now == found && lasted {
                return true;
            }
            let Some(next) = next else { return false };
            now = next.after.map(|_| next.revision);
        }
    }

    /// Whether an object was changed by this revision.
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
    fn a_watcher_is_told_what_enters_changes_and_leaves() {
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
    fn a_read_is_current_if_what_it_found_lasted_until_it_began() {
        let check = |found: Option<i64>, floor: i64, expected: bool| {
            assert_eq!(history().was(A, found, floor), expected, "{found:?} {floor}");
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
