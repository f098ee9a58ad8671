//! The true history from etcd, and its comparison with the observations of clients.
//!
//! Every write carries a unique mark. For each write, etcd's history therefore determines if, at which
//! revision, and how often it happened. Revisions order all states of a key, which reduces linearizability of
//! reads and writes to a comparison of intervals.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use etcd_client::{Client, EventType, WatchOptions};
use tokio::time::timeout;

/// Prefix of the marks.
pub(super) const MARK: &str = "mark-";
/// Number of digits of a mark.
const DIGITS: usize = 16;
const LIMIT: Duration = Duration::from_secs(60);

/// Returns the mark of write number `n`.
pub(super) fn mark(n: u64) -> String {
    format!("{MARK}{n:0DIGITS$x}")
}

/// Outcome of a write for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Acknowledged, at this revision; a deletion returns no revision.
    Done(Option<i64>),
    /// Rejected, with this status code.
    Refused(u16),
    /// No response.
    Unknown,
}

/// Type of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteKind {
    Create,
    /// With the object's revision as precondition.
    Update(i64),
    Patch,
}

/// A call with its start and end times since the beginning of the run.
#[derive(Debug, Clone)]
pub(super) struct RecordedCall {
    pub(super) start: Duration,
    pub(super) ended: Duration,
    pub(super) observation: Observation,
}

/// A call and its result.
#[derive(Debug, Clone)]
pub(super) enum Observation {
    Write {
        name: String,
        how: WriteKind,
        mark: String,
        outcome: Outcome,
    },
    Delete {
        name: String,
        floor: i64,
        outcome: Outcome,
    },
    /// A consistent read that began after `floor` was acknowledged: revision and mark of the object.
    Get {
        name: String,
        floor: i64,
        found: Option<(i64, String)>,
    },
    /// A consistent list.
    List {
        floor: i64,
        revision: i64,
        items: BTreeMap<String, i64>,
    },
    /// All events of a watch in the revision range `(from, to]`.
    Watch {
        from: i64,
        to: i64,
        events: Vec<(i64, String, bool)>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    revision: i64,
    name: String,
    /// `None` after a deletion.
    mark: Option<String>,
}

/// All changes of the test objects, in order.
pub(super) struct History {
    changes: Vec<Change>,
    by_name: HashMap<String, Vec<Change>>,
}

impl History {
    /// Reads the whole history below `prefix`.
    pub(super) async fn read(urls: &[String], prefix: &str) -> Self {
        let mut client = Client::connect(urls, None).await.unwrap();
        let end = format!("{prefix}~end");
        let last = client.put(end.as_str(), "", None).await.unwrap().header().unwrap().revision();
        let options = WatchOptions::new().with_prefix().with_start_revision(1);
        let mut watch = client.watch(prefix, Some(options)).await.unwrap();
        let mut changes = Vec::new();
        'all: loop {
            let response = timeout(LIMIT, watch.message()).await.expect("etcd answers").unwrap().unwrap();
            assert!(!response.canceled(), "{}", response.cancel_reason());
            for event in response.events() {
                let kv = event.kv().unwrap();
                if kv.mod_revision() >= last {
                    break 'all;
                }
                let name = kv.key_str().unwrap().trim_start_matches(prefix).to_owned();
                let mark = mark_in(kv.value());
                if event.event_type() == EventType::Put && mark.is_none() {
                    // Skips objects of controllers in the same namespace.
                    continue;
                }
                changes.push(Change { revision: kv.mod_revision(), name, mark });
            }
        }
        let mut by_name: HashMap<String, Vec<Change>> = HashMap::new();
        for change in &changes {
            by_name.entry(change.name.clone()).or_default().push(change.clone());
        }
        History { changes, by_name }
    }

    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    /// Returns the revisions of each write by mark; more than one is an error.
    pub(super) fn marks(&self) -> HashMap<&str, Vec<i64>> {
        let mut marks: HashMap<&str, Vec<i64>> = HashMap::new();
        let mut before: HashMap<&str, &str> = HashMap::new();
        for change in &self.changes {
            match &change.mark {
                // A write by the server itself keeps the existing mark.
                Some(mark) => {
                    if before.insert(&change.name, mark) != Some(mark) {
                        marks.entry(mark).or_default().push(change.revision);
                    }
                }
                None => drop(before.remove(change.name.as_str())),
            }
        }
        marks
    }

    /// Returns all inconsistencies between observations and history.
    pub(super) fn violations<'t>(
        &self,
        observations: impl IntoIterator<Item = &'t Observation>,
    ) -> Vec<String> {
        let marks = self.marks();
        let twice = marks.iter().filter(|(_, revisions)| revisions.len() > 1);
        let mut violations: Vec<String> =
            twice.map(|(mark, revisions)| format!("{mark} was written at {revisions:?}")).collect();
        let mut lists = Vec::new();
        for observations in observations {
            if let Observation::List { revision, items, .. } = observations {
                lists.push((*revision, items));
            }
            violations
                .extend(self.violation(observations, &marks).map(|why| format!("{why}: {observations:?}")));
        }
        violations.extend(self.lists_violations(lists));
        violations
    }

    fn violation(&self, observation: &Observation, marks: &HashMap<&str, Vec<i64>>) -> Option<&'static str> {
        match observation {
            Observation::Write { mark, outcome, .. } => {
                let happened = marks.get(mark.as_str());
                match outcome {
                    Outcome::Done(revision) => (happened.and_then(|all| all.first()) != revision.as_ref())
                        .then_some("an acknowledged write is not in the history"),
                    Outcome::Refused(_) => happened.map(|_| "a refused write happened"),
                    Outcome::Unknown => None,
                }
            }
            Observation::Delete { name, floor, outcome } => {
                let is_deleted = since(self.of(name), *floor).iter().any(|change| change.mark.is_none());
                let done = matches!(outcome, Outcome::Done(_));
                (done && !is_deleted).then_some("an acknowledged deletion did not happen")
            }
            Observation::Get { name, floor, found } => self.get_violation(name, *floor, found.as_ref()),
            Observation::List { floor, revision, .. } => {
                (revision < floor).then_some("a list is older than what was acknowledged before it")
            }
            Observation::Watch { from, to, events } => {
                let happened = since(&self.changes, *from).iter().take_while(|c| c.revision <= *to);
                let happened = happened.map(|c| (c.revision, c.name.clone(), c.mark.is_some()));
                (!happened.eq(events.iter().cloned()))
                    .then_some("a watch did not say what happened, once and in order")
            }
        }
    }

    fn get_violation(&self, name: &str, floor: i64, found: Option<&(i64, String)>) -> Option<&'static str> {
        let changes = self.of(name);
        match found {
            Some((revision, mark)) => {
                let at = changes.partition_point(|change| change.revision < *revision);
                let Some(change) = changes.get(at).filter(|change| change.revision == *revision) else {
                    return Some("a read found what never was");
                };
                if change.mark.as_ref() != Some(mark) {
                    return Some("a read found another object than there was");
                }
                let superseded = changes.get(at + 1).is_some_and(|next| next.revision <= floor);
                superseded.then_some("a read is older than what was acknowledged before it")
            }
            None => {
                let after = since(changes, floor);
                let at_floor = changes[..changes.len() - after.len()].last();
                let absent = at_floor.is_none_or(|change| change.mark.is_none())
                    || after.iter().any(|change| change.mark.is_none());
                (!absent).then_some("a read did not find what was there")
            }
        }
    }

    /// Compares lists with the states at their revisions, in one pass over the history.
    fn lists_violations(&self, mut lists: Vec<(i64, &BTreeMap<String, i64>)>) -> Vec<String> {
        lists.sort_by_key(|(revision, _)| *revision);
        let mut state = BTreeMap::new();
        let mut changes = self.changes.iter().peekable();
        let mut violations = Vec::new();
        for (revision, items) in lists {
            while let Some(change) = changes.next_if(|change| change.revision <= revision) {
                match change.mark {
                    Some(_) => drop(state.insert(change.name.clone(), change.revision)),
                    None => drop(state.remove(&change.name)),
                }
            }
            if state != *items {
                violations.push(format!("a list is not the state at its revision {revision}: {items:?}"));
            }
        }
        violations
    }

    fn of(&self, name: &str) -> &[Change] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Returns the changes after a revision.
fn since(changes: &[Change], revision: i64) -> &[Change] {
    &changes[changes.partition_point(|change| change.revision <= revision)..]
}

/// Finds the mark in stored bytes.
fn mark_in(value: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(value, MARK.as_bytes())?;
    let mark = value.get(at..at + MARK.len() + DIGITS)?;
    String::from_utf8(mark.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(changes: &[(i64, &str, Option<u64>)]) -> History {
        let change = |(revision, name, n): &(i64, &str, Option<u64>)| Change {
            revision: *revision,
            name: (*name).to_owned(),
            mark: n.map(mark),
        };
        let changes: Vec<Change> = changes.iter().map(change).collect();
        let mut by_name: HashMap<String, Vec<Change>> = HashMap::new();
        changes.iter().for_each(|c| by_name.entry(c.name.clone()).or_default().push(c.clone()));
        History { changes, by_name }
    }

    fn check(observation: Observation, is_consistent: bool) {
        let history = history(&[
            (2, "a", Some(1)),
            (3, "b", Some(2)),
            (5, "a", Some(3)),
            (7, "b", None),
            (8, "b", Some(4)),
        ]);
        let violations = history.violations([&observation]);
        assert_eq!(violations.is_empty(), is_consistent, "{observation:?}: {violations:?}");
    }

    #[test]
    fn writes_are_compared_with_history() {
        let write = |n, outcome| Observation::Write {
            name: "a".to_owned(),
            how: WriteKind::Patch,
            mark: mark(n),
            outcome,
        };
        check(write(3, Outcome::Done(Some(5))), true);
        check(write(3, Outcome::Done(Some(6))), false);
        check(write(9, Outcome::Done(Some(5))), false);
        check(write(3, Outcome::Refused(409)), false);
        check(write(9, Outcome::Refused(409)), true);
        check(write(3, Outcome::Unknown), true);
        check(write(9, Outcome::Unknown), true);
        let delete = |floor, outcome| Observation::Delete { name: "b".to_owned(), floor, outcome };
        check(delete(3, Outcome::Done(None)), true);
        check(delete(7, Outcome::Done(None)), false);
        assert_eq!(history(&[(1, "a", Some(1)), (2, "a", None), (3, "a", Some(1))]).violations(&[]).len(), 1);
        assert_eq!(history(&[(1, "a", Some(1)), (2, "a", Some(1))]).violations(&[]).len(), 0);
    }

    #[test]
    fn reads_are_compared_with_history() {
        let get = |floor, found: Option<(i64, u64)>| Observation::Get {
            name: "b".to_owned(),
            floor,
            found: found.map(|(revision, n)| (revision, mark(n))),
        };
        check(get(3, Some((3, 2))), true);
        check(get(6, Some((3, 2))), true);
        check(get(7, Some((3, 2))), false);
        check(get(3, Some((3, 4))), false);
        check(get(3, Some((4, 2))), false);
        check(get(2, None), true);
        check(get(3, None), true);
        check(get(8, None), false);
        let list = |floor, revision, items: &[(&str, i64)]| Observation::List {
            floor,
            revision,
            items: items.iter().map(|(name, revision)| ((*name).to_owned(), *revision)).collect(),
        };
        check(list(5, 5, &[("a", 5), ("b", 3)]), true);
        check(list(6, 5, &[("a", 5), ("b", 3)]), false);
        check(list(5, 5, &[("a", 2), ("b", 3)]), false);
        check(list(5, 7, &[("a", 5)]), true);
    }

    #[test]
    fn watches_are_compared_with_history() {
        let watch = |from, to, events: &[(i64, &str, bool)]| Observation::Watch {
            from,
            to,
            events: events.iter().map(|(r, name, there)| (*r, (*name).to_owned(), *there)).collect(),
        };
        check(watch(3, 7, &[(5, "a", true), (7, "b", false)]), true);
        check(watch(3, 6, &[(5, "a", true)]), true);
        check(watch(3, 7, &[(7, "b", false)]), false);
        check(watch(3, 7, &[(7, "b", false), (5, "a", true)]), false);
        check(watch(3, 7, &[(5, "a", true), (5, "a", true), (7, "b", false)]), false);
    }
}
