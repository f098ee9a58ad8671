//! Tests of counts, log lines, bounds and the alert of each kind.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicUsize;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

/// Log of the lines of one thread.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Visit for Lines {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.lock().unwrap().last_mut().unwrap().push_str(&format!("{field}={value:?} "));
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.0.lock().unwrap().push(String::new());
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct World {
    clock: Arc<TestClock>,
    registry: MetricsRegistry,
    weakened: WeakenedDecisions,
}

fn world() -> World {
    let clock = Arc::new(TestClock::at(UnixTime::from_seconds(1_000)));
    let registry = MetricsRegistry::default();
    let weakened = WeakenedDecisions::new(&registry, Arc::<TestClock>::clone(&clock));
    World { clock, registry, weakened }
}

const KIND: WeakenedKind = WeakenedKind::WebhookFailOpen;

/// Lines of an action.
fn lines(action: impl FnOnce()) -> Vec<String> {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), action);
    let lines = lines.0.lock().unwrap();
    lines.clone()
}

#[test]
fn every_kind_has_a_place_and_a_name() {
    let weakened = WeakenedDecisions::default();
    for (place, kind) in WeakenedKind::ALL.into_iter().enumerate() {
        assert_eq!(kind as usize, place);
        weakened.record(kind, "a", &"why");
        assert_eq!(weakened.count(kind), 1, "{}", kind.name());
    }
    let mut names = WeakenedKind::ALL.map(WeakenedKind::name).to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), WeakenedKind::ALL.len());
    assert_eq!(weakened.recent().len(), names.len());
}

/// Alerts of the repository.
const ALERTS: &str = include_str!("../../../../deploy/monitoring/rules.yaml");

#[test]
fn every_kind_has_an_alert() {
    let covers = |expression: &str, name: &str| {
        expression.contains("mainstay_weakened_decisions_total")
            && expression.split(['"', '|']).any(|part| part == name)
    };
    for kind in WeakenedKind::ALL {
        let name = kind.name();
        assert!(ALERTS.lines().any(|line| line.contains("expr:") && covers(line, name)), "{name}");
    }
}

#[test]
fn counters_start_at_zero() {
    let World { registry, weakened, .. } = world();
    let line =
        |count: u64| format!("mainstay_weakened_decisions_total{{kind=\"webhook_fail_open\"}} {count}");
    assert!(registry.to_string().contains(&line(0)), "{registry}");
    weakened.record(KIND, "a", &"why");
    weakened.record(KIND, "b", &"why");
    assert!(registry.to_string().contains(&line(2)), "{registry}");
}

#[test]
fn decisions_are_shown_for_ten_minutes() {
    let World { clock, weakened, .. } = world();
    weakened.record(KIND, "a", &"first");
    clock.advance_seconds(1);
    weakened.record(WeakenedKind::IgnoredSetting, "--b", &"other");
    clock.advance_seconds(1);
    weakened.record(KIND, "a", &"second");
    let recent = weakened.recent();
    let actual: Vec<_> =
        recent.iter().map(|decision| (&*decision.name, &*decision.cause, decision.count)).collect();
    assert_eq!(actual, [("a", "second", 2), ("--b", "other", 1)]);
    clock.advance_seconds(599);
    assert_eq!(weakened.recent().len(), 1);
    clock.advance_seconds(1);
    assert_eq!(weakened.recent(), []);
    assert_eq!(weakened.count(KIND), 2);
}

#[test]
fn lines_contain_the_cause() {
    let World { weakened, .. } = world();
    let lines = lines(|| weakened.record(KIND, "a.b", &"connection refused"));
    assert_eq!(lines.len(), 1);
    for part in ["failing open", "a.b", "connection refused", "webhook_fail_open"] {
        assert!(lines[0].contains(part), "{lines:?}");
    }
}

#[test]
fn equal_lines_are_a_minute_apart() {
    let World { clock, weakened, .. } = world();
    let lines = lines(|| {
        for _ in 0..120 {
            weakened.record(KIND, "a", &"same");
            clock.advance_seconds(1);
        }
        weakened.record(KIND, "a", &"same");
    });
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].contains("unlogged=59 "), "{lines:?}");
}

#[test]
fn changing_causes_log_once_per_second() {
    let World { clock, weakened, .. } = world();
    let lines = lines(|| {
        for number in 0..1_000 {
            weakened.record(KIND, "a", &number);
        }
        clock.advance_seconds(1);
        weakened.record(KIND, "a", &"new");
    });
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn many_names_of_one_kind_are_bounded() {
    let World { clock, weakened, .. } = world();
    weakened.record(WeakenedKind::PolicyFailOpen, "p", &"why");
    for number in 0..1_000 {
        clock.advance_seconds(u32::from(number % 10 == 0));
        weakened.record(KIND, &number.to_string(), &"why");
    }
    let recent = weakened.recent();
    assert_eq!(recent.len(), NAMES_MAX + 1);
    assert!(
        recent.iter().any(|decision| decision.name == "999")
            && recent.iter().any(|decision| decision.name == "p")
    );
}

#[test]
fn many_names_share_a_line_limit() {
    let World { clock, weakened, .. } = world();
    let lines = lines(|| {
        for number in 0..1_000 {
            weakened.record(KIND, &number.to_string(), &"why");
        }
        clock.advance_seconds(1);
        for number in 0..1_000 {
            weakened.record(KIND, &number.to_string(), &"why");
        }
    });
    assert_eq!(lines.len(), NAMES_MAX + 1, "{lines:?}");
    let unlogged = 1_000 - NAMES_MAX - (NAMES_MAX - 1);
    assert!(lines[NAMES_MAX].contains(&format!("unlogged=0 unlogged_others={unlogged} ")), "{lines:?}");
}

#[test]
fn kinds_have_separate_line_limits() {
    let World { weakened, .. } = world();
    let lines = lines(|| {
        for number in 0..1_000 {
            weakened.record(KIND, &number.to_string(), &"why");
        }
        weakened.record(WeakenedKind::PolicyFailOpen, "p", &"why");
    });
    assert!(lines.last().is_some_and(|line| line.contains("policy_fail_open")), "{lines:?}");
}

/// Value that counts the parts it writes.
struct Endless(AtomicUsize);

impl Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for _ in 0..1_000_000 {
            self.0.fetch_add(1, Relaxed);
            f.write_str("äöü")?;
        }
        Ok(())
    }
}

#[test]
fn long_texts_are_truncated_while_formatting() {
    let World { weakened, .. } = world();
    let endless = Endless(AtomicUsize::new(0));
    weakened.record(KIND, &"x".repeat(10_000), &endless);
    let decision = weakened.recent().remove(0);
    assert_eq!((decision.name.len(), decision.cause.len()), (NAME_BYTES_MAX, CAUSE_BYTES_MAX));
    assert!(endless.0.load(Relaxed) < 1_000);
}
