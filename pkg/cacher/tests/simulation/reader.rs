//! A client that gets and lists, and compares the results with the true history.

use std::sync::Arc;
use std::time::Duration;

use cacher::{Error, Freshness, ListQuery, Page};
use storage::Revision;
use tokio::task::yield_now;
use tokio::time::sleep;

use super::kinds::{Kind, View};
use super::random::Random;
use super::session::Checked;
use super::session::is;
use super::world::{Violation, World, violation};

/// Maximum time after a compaction at which older states may still be served.
const COMPACTED_WITHIN: Duration = Duration::from_secs(1);
/// Maximum number of pages of a list.
const PAGES_MAX: usize = 100;

pub struct Reader {
    pub world: Arc<World>,
    pub random: Random,
    pub name: String,
}

impl Reader {
    /// Reads until the storm is over.
    pub async fn run(mut self) -> Result<(), Violation> {
        while self.world.is_stormy() {
            let time = self.random.millis(0..700);
            sleep(time).await;
            for _ in 0..self.random.below(3) {
                yield_now().await;
            }
            let read = if self.random.chance(400) { self.get().await } else { self.list().await };
            read.map_err(|problem| Violation(format!("{}: {problem}", self.name)))?;
        }
        Ok(())
    }

    /// A random freshness near the present, so that the cache can sometimes rebuild the state.
    fn freshness(&mut self, exact: bool) -> Freshness {
        let newest = self.world.request_state().observed.max(1);
        let near = self.random.within((newest - 60).max(1)..newest + 1);
        match self.random.below(if exact { 6 } else { 4 }) {
            0 | 1 => Freshness::Consistent,
            2 => Freshness::NotOlderThan(0),
            3 => Freshness::NotOlderThan(near + self.random.pick(&[0, 0, 0, 4])),
            _ => Freshness::Exact(near + self.random.pick(&[0, 0, 0, 0, 4])),
        }
    }

    async fn get(&mut self) -> Result<(), Violation> {
        let kind = Kind::random(&mut self.random);
        let key = kind.random_key(&mut self.random);
        let freshness = self.freshness(false);
        let world = Arc::clone(&self.world);
        let request_state = world.request_state();
        let reads = world.link.reads();
        let Some(resource) = world.resource(kind) else { return Ok(()) };
        let request = world.delegator.get(&resource, &key, freshness);
        let label = format!("get {key} {freshness:?}");
        let response = match world.within_deadline(&label, request).await? {
            Ok(response) => response,
            Err(error) => {
                return self.excuse(
                    &label,
                    world.excuse(&request_state, kind, request_state.revision, &error),
                    &error,
                );
            }
        };
        world.journal.note(&self.name, &format!("{label} gives {}", response.revision));
        world.check_revision(&request_state, freshness, response.revision)?;
        world.observe(response.revision);
        let right =
            world.history(|history| match (history.object_at(response.revision, &key), &response.element) {
                (Some(object), Some(element)) => is(element, object),
                (object, element) => object.is_none() && element.is_none(),
            });
        if !right {
            return violation(format!(
                "{label}: not the object at {}: {:?}",
                response.revision, response.element
            ));
        }
        if kind.cached && freshness == Freshness::Consistent {
            let cached = world.link.reads() == reads;
            world.journal.count(if cached {
                "consistent get, cached"
            } else {
                "consistent get, maybe stored"
            });
        }
        Ok(())
    }

    fn excuse(&self, label: &str, excused: Result<(), Violation>, error: &Error) -> Result<(), Violation> {
        self.world.journal.note(&self.name, &format!("{label} fails: {error:?}"));
        excused.map_err(|problem| Violation(format!("{label}: {problem}")))
    }

    /// Lists all pages of a view.
    async fn list(&mut self) -> Result<(), Violation> {
        let view = View::random(&mut self.random);
        let freshness = self.freshness(true);
        let mut query = ListQuery {
            scope: view.scope.clone(),
            start: None,
            limit: self.random.pick(&[0, 0, 1, 2, 3, 7]),
            freshness,
            predicate: view.predicate(),
        };
        let mut listed = Vec::new();
        let mut revision = None;
        for _ in 0..PAGES_MAX {
            let Some(page) = self.page(&view, &query).await? else { return Ok(()) };
            let unlimited = query.freshness == Freshness::NotOlderThan(0);
            let items: Vec<_> = page.items.iter().collect();
            if query.limit > 0 && items.len() > query.limit && !unlimited {
                return violation(format!("{query:?}: {} items", items.len()));
            }
            if revision.is_some_and(|revision| revision != page.revision) {
                return violation(format!("{query:?}: a page at {} after {revision:?}", page.revision));
            }
            revision = Some(page.revision);
            self.pull(&page, &mut listed).await;
            let checked =
                self.check(&view, &page, &listed).and_then(|()| self.check_version(&view, &query, &page));
            checked.map_err(|why| Violation(format!("{query:?}: {why}")))?;
            let Some(next) = page.next else { return Ok(()) };
            self.world.journal.count("list continued");
            let time = self.random.millis(0..1500);
            sleep(time).await;
            (query.start, query.freshness) = (Some(next), Freshness::Exact(page.revision));
        }
        violation(format!("{query:?} does not end"))
    }

    /// Takes the items one by one while other tasks run.
    async fn pull(&mut self, page: &Page, listed: &mut Vec<Arc<cacher::Element>>) {
        let slow = self.random.chance(300);
        for item in page.items.iter() {
            if slow {
                let time = self.random.millis(0..200);
                sleep(time).await;
            }
            listed.push(item);
        }
    }

    async fn page(&mut self, view: &View, query: &ListQuery) -> Result<Option<Page>, Violation> {
        let world = Arc::clone(&self.world);
        let request_state = world.request_state();
        let reads = world.link.reads();
        let Some(resource) = world.resource(view.kind) else { return Ok(None) };
        let request = world.delegator.list(&resource, query.clone());
        let label = format!("list {} {:?} from {:?}", view.scope.prefix, query.freshness, query.start);
        let forgotten = world.link.ledger.compacted_before(COMPACTED_WITHIN);
        let needed =
            if let Freshness::Exact(revision) = query.freshness { revision } else { request_state.revision };
        match world.within_deadline(&label, request).await? {
            Ok(page) => {
                world.journal.note(&self.name, &format!("{label} gives {}", page.revision));
                world.check_revision(&request_state, query.freshness, page.revision)?;
                world.observe(page.revision);
                if matches!(query.freshness, Freshness::Exact(at) if at < forgotten) {
                    return violation(format!("{label} is answered, though {forgotten} is the oldest state"));
                }
                let cached = view.kind.cached && world.link.reads() == reads;
                match query.freshness {
                    Freshness::Exact(at) if cached && self.is_past(view.kind, at).await => {
                        world.journal.count("list rewound");
                    }
                    Freshness::Consistent if cached => world.journal.count("consistent list, cached"),
                    Freshness::Consistent => world.journal.count("consistent list, maybe stored"),
                    _ => {}
                }
                Ok(Some(page))
            }
            Err(error) => self
                .excuse(&label, world.excuse(&request_state, view.kind, needed, &error), &error)
                .map(|()| None),
        }
    }

    /// True if the cache has changes of the kind after the revision.
    async fn is_past(&self, kind: &'static Kind, revision: Revision) -> bool {
        let cached = self.world.cached_to(kind).await;
        self.world.history(|history| {
            let later = history.changes().iter().skip(history.after(revision));
            let mut later = later.take_while(|change| change.revision <= cached);
            later.any(|change| change.key.starts_with(kind.prefix))
        })
    }

    /// Checks that the page's version is sufficient to reproduce it.
    fn check_version(&self, view: &View, query: &ListQuery, page: &Page) -> Checked {
        let Some(version) = page.items.version() else { return Ok(()) };
        self.world.journal.count("list with a version");
        let start = query.start.as_deref().unwrap_or("");
        self.world.history(|history| {
            let state = history.state_at(version, view);
            let mut again = state.into_iter().filter(|object| &*object.key >= start);
            let unchanged =
                page.items.iter().all(|item| again.next().is_some_and(|object| is(&item, object)));
            if unchanged { Ok(()) } else { Err(format!("not the items of version {version}")) }
        })
    }

    /// Compares all items up to the end of a page with the state at its revision.
    fn check(&self, view: &View, page: &Page, listed: &[Arc<cacher::Element>]) -> Checked {
        self.world.history(|history| {
            let state = history.state_at(page.revision, view);
            let equal = listed.iter().zip(&state).all(|(element, object)| is(element, object));
            let rest = state.len().checked_sub(listed.len());
            let Some(rest) = rest.filter(|rest| equal && (*rest == 0 || page.next.is_some())) else {
                let listed: Vec<_> = listed.iter().map(|e| (e.key(), e.revision())).collect();
                let state: Vec<_> = state.iter().map(|object| (&*object.key, object.revision)).collect();
                return Err(format!(
                    "not the state at {}:\n  got      {listed:?}\n  expected {state:?}",
                    page.revision
                ));
            };
            match page.remaining {
                Some(remaining) if remaining != rest as u64 => {
                    Err(format!("{remaining} are said to remain, but {rest} do"))
                }
                Some(_) if !view.is_everything() => Err("a count although there is a selector".to_owned()),
                _ => Ok(()),
            }
        })
    }
}
