//! The core compared with a model: after any writes, compactions and trims, every readable revision has its
//! original state.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use super::*;

/// A state: name to (revision, value).
type State = BTreeMap<String, (Revision, Bytes)>;

/// The naive store: a complete copy per revision.
struct Model {
    states: BTreeMap<Revision, State>,
}

impl Model {
    fn latest(&self) -> &State {
        self.states.last_key_value().unwrap().1
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn write(mvcc: &Mvcc, key: &str, value: Option<&str>, expires_at: Option<Millis>) -> Change {
    let current = mvcc.current(key);
    let expected = current.map_or(0, |(revision, _)| revision);
    let value = value.map(|value| Bytes::copy_from_slice(value.as_bytes()));
    let write = Write { key: key.into(), value, expected, expires_at };
    write.decide(current, mvcc.revision() + 1).unwrap()
}

fn apply(mvcc: &mut Mvcc, key: &str, value: Option<&str>) -> Revision {
    let change = write(mvcc, key, value, None);
    mvcc.apply(change);
    mvcc.revision()
}

fn scan(mvcc: &Mvcc, revision: Revision) -> ScanPage {
    let all = Bound::Unbounded;
    let limit = usize::MAX;
    let visit_max = usize::MAX;
    mvcc.scan(&Scan { prefix: "", start: all, revision, limit, visit_max, uncounted: false })
}

/// Dropped values are looked up in `log`, as in a durable store.
fn state(mvcc: &Mvcc, at: Revision, log: &BTreeMap<Revision, Change>) -> State {
    let value = |key: &FoundKey| match &key.value {
        Some(value) => value.clone(),
        None => log[&key.mod_revision].value.clone().unwrap(),
    };
    let key = scan(mvcc, at).keys;
    key.iter().map(|f| (f.key.to_string(), (f.mod_revision, value(f)))).collect()
}

fn check_history(mvcc: &Mvcc, model: &Model, log: &BTreeMap<Revision, Change>) {
    for (at, expected) in &model.states {
        match mvcc.readable(*at) {
            Ok(at) => assert_eq!(&state(mvcc, at, log), expected, "at {at}"),
            Err(Error::Compacted { oldest }) => assert!(*at < oldest),
            Err(error) => panic!("{error}"),
        }
    }
    match mvcc.changes(mvcc.compacted().max(REVISION_EMPTY + 1)).unwrap() {
        LogRead::Changes(changes) => {
            let revisions: Vec<_> = changes.map(|change| change.revision).collect();
            let oldest = mvcc.compacted().max(REVISION_EMPTY + 1);
            assert_eq!(revisions, Vec::from_iter(oldest..=mvcc.revision()));
        }
        LogRead::Trimmed { until } => assert!(until > mvcc.compacted()),
    }
}

/// One random run. The durable log consists of all applied changes except those reported as dead by sweeps; a
/// store restored from it must read the same.
fn run(seed: u64, trim: bool) {
    let mut random = Random(seed);
    let mut mvcc = Mvcc::default();
    let mut model = Model { states: BTreeMap::from([(REVISION_EMPTY, State::new())]) };
    let mut log = BTreeMap::new();
    for _ in 0..120 {
        match random.below(20) {
            0 => {
                let at = mvcc.revision() - random.below(10) as Revision;
                mvcc.compact(at).unwrap();
            }
            1..4 => {
                let (dead, _) = mvcc.sweep(random.below(30) as usize);
                for revision in dead {
                    assert!(log.remove(&revision).is_some(), "{revision} died twice or never lived");
                }
            }
            4 if trim => mvcc.trim_log(random.below(2_000) as usize),
            n => {
                let key = ["a", "a/1", "a-b", "b", "c"][random.below(5) as usize];
                let delete = n < 9 && mvcc.current(key).is_some();
                let text = random.below(1_000_000).to_string();
                let change = write(&mvcc, key, (!delete).then_some(&*text), None);
                let mut now = model.latest().clone();
                match &change.value {
                    Some(value) => now.insert(key.to_owned(), (change.revision, value.clone())),
                    None => now.remove(key),
                };
                log.insert(change.revision, change.clone());
                model.states.insert(change.revision, now);
                mvcc.apply(change);
            }
        }
        check_history(&mvcc, &model, &log);
    }
    let mut restored = Mvcc::restoring(mvcc.compacted());
    log.values().for_each(|change| restored.restore(change));
    assert_eq!(restored.revision(), mvcc.revision());
    while mvcc.sweep(usize::MAX).1 {}
    for revision in restored.sweep(usize::MAX).0 {
        assert!(log.remove(&revision).is_some(), "{revision} died twice or never lived");
    }
    for at in mvcc.compacted().max(REVISION_EMPTY)..=mvcc.revision() {
        assert_eq!(state(&restored, at, &log), model.states[&at], "restored, at {at}");
    }
    assert_eq!(restored.keys.len(), mvcc.keys.len(), "the restored index holds no leftovers");
    let versions = |m: &Mvcc| scan(m, m.revision()).count;
    assert_eq!(versions(&restored), versions(&mvcc));
}

#[test]
fn readable_revisions_do_not_change() {
    (0..300).for_each(|seed| run(seed, false));
}

#[test]
fn dropped_values_are_in_the_durable_log() {
    (1000..1300).for_each(|seed| run(seed, true));
}

#[test]
fn swept_store_keeps_one_version_per_key() {
    let mut mvcc = Mvcc::default();
    for round in 0..100 {
        apply(&mut mvcc, "a", Some(&round.to_string()));
        apply(&mut mvcc, "b", Some("1"));
        apply(&mut mvcc, "b", None);
    }
    mvcc.compact(mvcc.revision()).unwrap();
    let mut dead = 0;
    loop {
        let (revisions, more) = mvcc.sweep(7);
        dead += revisions.len();
        if !more {
            break;
        }
    }
    // All except the last value of `a` and the deletion at the compacted revision.
    assert_eq!(dead, 300 - 2);
    assert_eq!((mvcc.keys.len(), mvcc.log.len(), mvcc.unswept.len()), (2, 1, 1));
    apply(&mut mvcc, "a", Some("last"));
    mvcc.compact(mvcc.revision()).unwrap();
    assert_eq!(mvcc.sweep(usize::MAX).0.len(), 2);
    assert_eq!((mvcc.keys.len(), mvcc.log.len()), (1, 1));
}

#[test]
fn trimmed_log_keeps_its_bound() {
    let mut mvcc = Mvcc::default();
    let big = "x".repeat(1_000);
    for _ in 0..50 {
        apply(&mut mvcc, "a", Some(&big));
        mvcc.trim_log(10_000);
        assert!(mvcc.log_bytes <= 10_000);
    }
    let LogRead::Trimmed { until } = mvcc.changes(2).unwrap() else { panic!("wanted Trimmed") };
    let LogRead::Changes(changes) = mvcc.changes(until).unwrap() else { panic!("wanted Changes") };
    assert_eq!(changes.len() as Revision, mvcc.revision() + 1 - until);
    let held = mvcc.keys.get("a").unwrap().versions.at_revision(until - 1).unwrap().value.live().is_some();
    assert!(held, "the log still shows it as the previous value of its first change");
    assert!(mvcc.keys.get("a").unwrap().versions.at_revision(until - 2).unwrap().value.live().is_none());
}

#[test]
fn scan_stops_at_limits_and_resumes() {
    let mut mvcc = Mvcc::default();
    for key in ["a/1", "a/2", "a/3", "a/4", "b/1"] {
        apply(&mut mvcc, key, Some(key));
    }
    apply(&mut mvcc, "a/2", None);
    let revision = mvcc.revision();
    let mut start = Bound::Unbounded;
    let mut keys = Vec::new();
    let mut count = 0;
    loop {
        let bound = start.as_ref().map(|key: &Arc<str>| &**key);
        let out = mvcc.scan(&Scan {
            prefix: "a/",
            start: bound,
            revision,
            limit: 9,
            visit_max: 2,
            uncounted: false,
        });
        count += out.count;
        keys.extend(out.keys.into_iter().map(|found| found.key.to_string()));
        match out.resume_after {
            Some(key) => start = Bound::Excluded(key),
            None => break,
        }
    }
    assert_eq!((keys.concat(), count), ("a/1a/3a/4".to_owned(), 3));
}

#[test]
fn uncounted_scan_stops_early() {
    let mut mvcc = Mvcc::default();
    for key in ["a/1", "a/2", "a/3", "a/4", "a/5", "b/1"] {
        apply(&mut mvcc, key, Some(key));
    }
    apply(&mut mvcc, "a/3", None);
    let revision = mvcc.revision();
    // A scan that visits more keys than needed is truncated and reports it.
    let check = |limit, visit_max, expected: &str, count, truncated| {
        let start = Bound::Unbounded;
        let page = mvcc.scan(&Scan { prefix: "a/", start, revision, limit, visit_max, uncounted: true });
        let keys: String = page.keys.iter().map(|expected| &*expected.key).collect();
        assert_eq!(
            (&*keys, page.count, page.resume_after.is_some()),
            (expected, count, truncated),
            "take {limit}"
        );
    };
    check(0, 2, "", 1, false);
    check(1, 3, "a/1", 2, false);
    check(2, 5, "a/1a/2", 3, false);
    check(2, 3, "a/1a/2", 2, true);
    check(4, 9, "a/1a/2a/4a/5", 4, false);
}

#[test]
fn deadlines_are_sorted_and_follow_last_write() {
    let mut mvcc = Mvcc::default();
    for (key, at) in [("a", 30), ("b", 10), ("c", 20)] {
        let change = write(&mvcc, key, Some("1"), Some(at));
        mvcc.apply(change);
    }
    let due = |mvcc: &Mvcc, now| mvcc.deadlines().due(now).map(|k| k.to_string()).collect::<Vec<_>>();
    assert_eq!(mvcc.deadlines().next(), Some(10));
    assert_eq!(due(&mvcc, 9), Vec::<String>::new());
    assert_eq!(due(&mvcc, 20), ["b", "c"]);
    apply(&mut mvcc, "b", Some("immortal"));
    let change = write(&mvcc, "c", Some("1"), Some(40));
    mvcc.apply(change);
    apply(&mut mvcc, "a", None);
    assert_eq!(due(&mvcc, 100), ["c"]);
    assert_eq!(mvcc.deadlines().next(), Some(40));
}
