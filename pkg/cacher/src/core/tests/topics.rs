//! Wake-ups and overruns of watches.

use super::*;

const PODS: &str = "/r/pods/";

fn pods(limits: Limits) -> Fixture {
    Fixture::new(PODS, true, limits, 10)
}

#[test]
fn changes_wake_only_concerned_watches() {
    // Arguments: the scope, the node, and the changes below that wake the watch: the creation of a/1 on n1,
    // its move to n2, its deletion.
    let check = |scope: &str, node: &str, expected: [usize; 3]| {
        let mut fixture = pods(Limits::default());
        let mut reader = fixture.follow(select(scope, node, ""));
        let changes = [put("/r/pods/a/1", 11, "n1"), put("/r/pods/a/1", 12, "n2"), delete("/r/pods/a/1", 13)];
        let wakes = changes.map(|change| {
            assert!(matches!(reader.drain(&mut fixture.state), ReadOutcome::Idle(_)));
            fixture.apply(vec![change]);
            reader.wakes.take()
        });
        assert_eq!(wakes, expected, "{scope} {node}");
    };
    check(PODS, "", [1, 1, 1]);
    check("/r/pods/a/", "", [1, 1, 1]);
    check("/r/pods/ab/", "", [0, 0, 0]);
    check("/r/pods/a-b/", "", [0, 0, 0]);
    check("/r/pods/a/1", "", [1, 1, 1]);
    check("/r/pods/a/11", "", [0, 0, 0]);
    check(PODS, "n1", [1, 1, 0]);
    check(PODS, "n2", [0, 1, 1]);
    check("/r/pods/a/", "n2", [0, 1, 1]);
    check(PODS, "n", [0, 0, 0]);
}

#[test]
fn watches_are_woken_once_per_read() {
    let mut fixture = pods(Limits::default());
    let mut reader = fixture.follow(select(PODS, "", ""));
    reader.drain(&mut fixture.state);
    fixture.puts("/r/pods/a/1", [11, 12]);
    fixture.puts("/r/pods/a/1", [13]);
    assert_eq!(reader.wakes.take(), 1);
    reader.drain(&mut fixture.state);
    reader.drain(&mut fixture.state);
    fixture.puts("/r/pods/a/1", [14]);
    assert_eq!((reader.wakes.take(), reader.revisions()), (1, vec![11, 12, 13]));
}

#[test]
fn dropped_watches_are_not_woken() {
    let mut fixture = pods(Limits::default());
    for scope in [PODS, "/r/pods/a/", "/r/pods/a/1"] {
        let mut reader = fixture.follow(select(scope, "", ""));
        reader.drain(&mut fixture.state);
        fixture.state.end_watch(&mut reader.position);
        fixture.puts("/r/pods/a/1", [fixture.snapshot.revision() + 1]);
        assert_eq!((reader.wakes.take(), fixture.state.sizes().watches), (0, 0), "{scope}");
    }
    assert_eq!(fixture.state.topics(), 0);
}

#[test]
fn reused_subscription_has_no_old_waker() {
    let mut fixture = pods(Limits::default());
    let mut stays = fixture.follow(select("/r/pods/a/", "", ""));
    let mut leaves = fixture.follow(select("/r/pods/a/", "", ""));
    leaves.drain(&mut fixture.state);
    fixture.state.end_watch(&mut leaves.position);
    let comes = fixture.follow(select("/r/pods/a/", "", ""));
    stays.drain(&mut fixture.state);
    fixture.puts("/r/pods/a/1", [11]);
    assert_eq!((stays.wakes.take(), leaves.wakes.take(), comes.wakes.take()), (1, 0, 0));
}

#[test]
fn only_lost_changes_of_own_topic_overrun() {
    let check = |scope: &str, node: &str, overrun: bool| {
        let mut fixture = pods(keeping(4));
        let mut reader = fixture.follow(select(scope, node, ""));
        fixture.puts("/r/pods/a/1", [11]);
        fixture.puts("/r/pods/b/1", 12..20);
        let expected = if overrun { ReadOutcome::Overrun } else { ReadOutcome::Idle(19) };
        assert_eq!(reader.drain(&mut fixture.state), expected, "{scope} {node}");
        assert!(reader.got.is_empty());
    };
    check(PODS, "", true);
    check("/r/pods/a/", "", true);
    check("/r/pods/a/1", "", true);
    check(PODS, "n", true);
    check("/r/pods/a/2", "", false);
    check("/r/pods/c/", "", false);
    check(PODS, "other", false);
}

#[test]
fn quiet_topics_never_overrun() {
    let mut fixture = pods(keeping(4));
    let mut reader = fixture.follow(select("/r/pods/a/", "", ""));
    fixture.puts("/r/pods/b/1", 11..50);
    fixture.puts("/r/pods/a/1", [50]);
    fixture.puts("/r/pods/b/1", [51]);
    assert_eq!(reader.drain(&mut fixture.state), ReadOutcome::Idle(51));
    assert_eq!(reader.revisions(), [50]);
}

#[test]
fn resumed_watch_joins_newer_topic() {
    let mut fixture = pods(Limits::default());
    fixture.puts("/r/pods/a/1", [11, 12, 13, 14]);
    let mut late = fixture.resume(select("/r/pods/a/", "", ""), 13).unwrap();
    let mut early = fixture.resume(select("/r/pods/a/", "", ""), 11).unwrap();
    fixture.puts("/r/pods/a/1", [15]);
    for (reader, expected) in [(&mut late, &[14, 15][..]), (&mut early, &[12, 13, 14, 15])] {
        assert_eq!(reader.drain(&mut fixture.state), ReadOutcome::Idle(15));
        assert_eq!(reader.revisions(), expected);
    }
}

#[test]
fn late_watches_catch_up_in_bounded_scans() {
    let limits = Limits { scan_max: 10, ..Limits::default() };
    let mut fixture = pods(limits);
    fixture.puts("/r/pods/a/1", 11..31);
    fixture.puts("/r/pods/b/1", 31..71);
    fixture.puts("/r/pods/a/1", [71]);
    let mut reader = fixture.resume(select("/r/pods/a/", "", ""), 20).unwrap();
    let mut steps = 0;
    while reader.read(&mut fixture.state) == ReadOutcome::More {
        steps += 1;
    }
    assert!(steps >= 5, "{steps}");
    let expected: Vec<Revision> = (21..31).chain([71]).collect();
    assert_eq!(reader.revisions(), expected);
    fixture.puts("/r/pods/b/1", [72]);
    assert_eq!(reader.wakes.take(), 0);
    fixture.puts("/r/pods/a/1", [73]);
    assert_eq!(reader.wakes.take(), 1);
}

#[test]
fn reset_ends_all_watches() {
    let mut fixture = pods(Limits::default());
    let mut readers: Vec<Reader> =
        [PODS, "/r/pods/a/", "/r/pods/a/1"].map(|scope| fixture.follow(select(scope, "", ""))).into();
    for reader in &mut readers {
        reader.drain(&mut fixture.state);
    }
    let mut unread = fixture.follow(select(PODS, "", ""));
    fixture.puts("/r/pods/b/1", [11]);
    let effects = fixture.state.close(None, fixture.now);
    effects.run();
    fixture.state.open(20).run();
    let mut next = fixture.follow(select("/r/pods/a/1", "", ""));
    next.drain(&mut fixture.state);
    readers.push(unread);
    for reader in &mut readers {
        assert_eq!(reader.drain(&mut fixture.state), ReadOutcome::Closed);
        fixture.state.end_watch(&mut reader.position);
    }
    assert!(readers.iter().take(3).all(|reader| reader.wakes.take() == 1));
    // Dropped watches did not free the subscription of a later one.
    fixture.snapshot = Snapshot::from_elements(Vec::new(), 20, Some(0));
    fixture.puts("/r/pods/a/1", [21]);
    assert_eq!((next.wakes.take(), fixture.state.sizes().watches), (1, 1));
    unread = next;
    assert_eq!(unread.drain(&mut fixture.state), ReadOutcome::Idle(21));
}

#[test]
fn retry_delay_grows_while_not_ready() {
    let start = Instant::now();
    let mut state = State::new(PODS.to_owned(), None, Limits::default(), start);
    let check = |state: &State, seconds: u64, retry: u32, why: Option<&str>| {
        let Error::NotReady { retry_after_seconds, reason } =
            state.not_ready(start + Duration::from_secs(seconds))
        else {
            panic!()
        };
        assert_eq!((retry_after_seconds, reason.as_deref()), (retry, why), "after {seconds} s");
    };
    check(&state, 0, 1, None);
    check(&state, 11, 1, None);
    check(&state, 12, 2, None);
    check(&state, 50, 20, None);
    check(&state, 1_000_000, 30, None);
    state.close(Some("why".to_owned()), start + Duration::from_secs(40)).run();
    check(&state, 50, 20, Some("why"));
    state.open(1).run();
    state.close(None, start + Duration::from_secs(40)).run();
    check(&state, 52, 2, None);
}
