//! Tests of elections and pings.
#![allow(clippy::unwrap_used)]

use super::*;

const NOW: UnixTime = UnixTime { seconds: 100_000, nanos: 0 };
const OLD: (&str, &str) = ("1.19.0", "1.20.0");
const NEW: (&str, &str) = ("1.20.0", "1.20.0");

/// Returns the time `seconds` before now.
fn ago(seconds: i64) -> String {
    UnixTime::from_seconds(NOW.seconds - seconds).rfc3339_micro().to_string()
}

/// Builds a candidate with name and versions (emulation, binary), and the seconds since its response and its
/// ping.
fn candidate(name: &str, versions: (&str, &str), renewed: Option<i64>, pinged: Option<i64>) -> Candidate {
    let mut candidate = object(json!({
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": "1970-01-01T00:00:01Z"},
        "spec": {
            "leaseName": "l", "emulationVersion": versions.0, "binaryVersion": versions.1, "strategy": OLDEST,
        },
    }));
    for (member, seconds) in [("renewTime", renewed), ("pingTime", pinged)] {
        if let Some(seconds) = seconds {
            object::set(&mut candidate, &["spec", member], ago(seconds));
        }
    }
    Candidate::of(&candidate)
}

fn with_strategy(strategy: &str, candidate: Candidate) -> Candidate {
    Candidate { strategy: strategy.to_owned(), ..candidate }
}

/// Builds a lease of five seconds, renewed `renewed` seconds ago.
fn lease(holder: &str, renewed: i64) -> Object {
    object(json!({
        "metadata": {"name": "l", "namespace": "ns"},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 5, "renewTime": ago(renewed), "strategy": OLDEST,
            "acquireTime": ago(renewed),
        },
    }))
}

fn elected(holder: Option<&str>) -> ElectionResult {
    let strategy = if holder.is_some() { OLDEST } else { "foo.com/bar" };
    ElectionResult { strategy: strategy.to_owned(), holder: holder.map(str::to_owned) }
}

fn elect(holder: Option<&str>) -> Step {
    Step::Assign(elected(holder))
}

fn ask(names: &[&str]) -> Step {
    Step::Ping(names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn candidates_are_pinged_before_election() {
    let check = |lease: Option<&Object>, candidates: &[Candidate], expected: Step| {
        let lease = lease.map(Lease::of);
        assert_eq!(step(lease.as_ref(), candidates, NOW).unwrap(), expected, "{lease:?} {candidates:?}");
    };
    let held = lease("new", 1);
    let lost = lease("new", 6);
    let fresh = candidate("new", NEW, Some(1), None);
    let stale = candidate("new", NEW, Some(60), None);
    check(None, &[], Step::Wait);
    // No holder: all candidates without a recent response are pinged.
    check(None, std::slice::from_ref(&stale), ask(&["new"]));
    check(None, &[candidate("a", NEW, Some(60), Some(70)), fresh.clone()], ask(&["a"]));
    // A candidate that never responded is not pinged again.
    check(None, &[candidate("a", NEW, Some(70), Some(60)), fresh.clone()], elect(Some("new")));
    // A pinged candidate has five seconds; afterwards the others suffice.
    check(None, &[candidate("a", OLD, Some(60), Some(4)), candidate("b", NEW, Some(1), Some(4))], ask(&[]));
    let late = [candidate("a", OLD, Some(60), Some(6)), candidate("b", NEW, Some(1), Some(6))];
    check(None, &late, elect(Some("b")));
    check(None, &[candidate("a", NEW, Some(1), Some(4))], elect(Some("a")));
    // A candidate expires after half an hour.
    check(None, &[candidate("a", NEW, Some(1801), None), candidate("b", NEW, None, None)], Step::Wait);
    // The lease has a holder.
    check(Some(&held), &[stale.clone(), candidate("old", OLD, Some(60), None)], ask(&["new", "old"]));
    check(Some(&held), &[fresh.clone(), candidate("old", OLD, Some(1), None)], elect(Some("old")));
    check(Some(&held), std::slice::from_ref(&stale), Step::Wait);
    check(Some(&lost), std::slice::from_ref(&stale), ask(&["new"]));
    check(Some(&lease("", 1)), &[fresh], elect(Some("new")));
    // All candidates are pinged periodically.
    check(Some(&held), &[candidate("new", NEW, Some(901), None)], ask(&["new"]));
}

#[test]
fn no_election_without_responses() {
    let silent = [candidate("a", NEW, Some(60), Some(6))];
    assert_eq!(step(None, &silent, NOW).unwrap_err().to_string(), "no available candidates");
}

#[test]
fn the_oldest_is_elected() {
    let check = |candidates: &[(&str, &str, &str)], expected: Option<&str>| {
        let all: Vec<_> =
            candidates.iter().map(|(name, e, b)| candidate(name, (e, b), Some(1), None)).collect();
        let all: Vec<&Candidate> = all.iter().collect();
        assert_eq!(oldest(&all).map(|candidate| &*candidate.name), expected, "{candidates:?}");
    };
    check(&[], None);
    check(&[("a", "0.1.0", "0.1.0")], Some("a"));
    check(&[("a", "0.2.0", "0.1.0"), ("b", "0.1.0", "0.2.0")], Some("b"));
    check(&[("a", "0.1.0", "0.2.0"), ("b", "0.1.0", "0.1.0")], Some("b"));
    check(&[("a", "1.20.0", "1.20.0"), ("b", "1.20.0", "1.20.0")], Some("a"));
    check(&[("a", "1.20.0", "1.20.0"), ("b", "1.20.0-alpha.1", "1.20.0")], Some("b"));
    check(&[("a", "x", "0.1.0"), ("b", "0.2.0", "0.2.0")], Some("b"));
    check(&[("a", "v1.2", "1")], Some("a"));
    let older = Candidate { created: UnixTime::from_seconds(0), ..candidate("b", NEW, None, None) };
    let newer = candidate("a", NEW, None, None);
    assert_eq!(oldest(&[&newer, &older]).unwrap().name, "b");
}

#[test]
fn newest_binary_selects_strategy() {
    let check = |candidates: &[(&str, &str)], expected: Result<&str, &str>| {
        let each = |(binary, strategy): &(&str, &str)| {
            with_strategy(strategy, candidate("c", ("1.0.0", binary), Some(1), None))
        };
        let all: Vec<_> = candidates.iter().map(each).collect();
        let all: Vec<&Candidate> = all.iter().collect();
        let got = strategy(&all).map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{candidates:?}");
    };
    check(&[], Err("no candidates"));
    check(&[("1.32.0", OLDEST), ("1.33.0", "foo.com/bar"), ("1.33.0", "foo.com/bar")], Ok("foo.com/bar"));
    check(&[("1.33.0", OLDEST), ("1.32.0", "foo.com/bar")], Ok(OLDEST));
    let differ = "candidates \"c\", \"c\" at same binary version but received differing strategies OldestEmulationVersion, foo.com/bar";
    check(&[("1.32.0", OLDEST), ("1.32.0", "foo.com/bar")], Err(differ));
}

#[test]
fn unknown_strategy_elects_no_holder() {
    let other = [with_strategy("foo.com/bar", candidate("a", NEW, Some(1), None))];
    assert_eq!(step(None, &other, NOW).unwrap(), elect(None));
    let held = Lease::of(&lease("b", 1));
    assert_eq!(step(Some(&held), &other, NOW).unwrap(), Step::Wait);
}

#[test]
fn lease_is_assigned_to_elected_candidate() {
    let check = |current: Option<&Object>, holder: Option<&str>, expected: Option<jsontree::Value>| {
        let assigned = assigned_lease(current, "ns", "l", &elected(holder), NOW);
        assert_eq!(
            assigned.map(|lease| lease.get("spec").unwrap().clone()),
            expected,
            "{current:?} {holder:?}"
        );
    };
    let now = ago(0);
    let new = json!({"holderIdentity": "a", "strategy": OLDEST, "leaseDurationSeconds": 5, "renewTime": now});
    check(None, Some("a"), Some(new.clone()));
    let unheld = json!({"strategy": "foo.com/bar", "leaseDurationSeconds": 5, "renewTime": now});
    check(None, None, Some(unheld));
    // The current holder sees the preferred holder.
    let with_preferred_holder = json!({
        "holderIdentity": "b", "leaseDurationSeconds": 5, "renewTime": ago(1), "strategy": OLDEST,
        "acquireTime": ago(1), "preferredHolder": "a",
    });
    check(Some(&lease("b", 1)), Some("a"), Some(with_preferred_holder));
    let mut marked = lease("b", 6);
    object::set(&mut marked, &["spec", "preferredHolder"], "a");
    check(Some(&marked), Some("a"), Some(new.clone()));
    check(Some(&lease("", 1)), Some("a"), Some(new));
    check(Some(&lease("a", 1)), Some("a"), None);
    check(Some(&lease("a", 6)), Some("a"), None);
}
