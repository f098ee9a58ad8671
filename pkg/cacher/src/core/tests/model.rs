//! Random histories: events and wake-ups of readers, compared with a naive model of the history.

use super::*;

const ROUNDS: usize = 300;

struct Watcher {
    reader: Reader,
    /// The revision after which the watch starts.
    after: Revision,
    /// True if it has read all changes and waits.
    waits: bool,
}

struct World {
    prefix: &'static str,
    keys: Vec<String>,
    index: bool,
    fixture: Fixture,
    history: History,
    watchers: Vec<Watcher>,
    dice: Dice,
    overruns: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let prefix = ["/r/pods/", "/r/nodes/"][dice.roll(2)];
        let index = dice.roll(2) == 0;
        let events = 5 + dice.roll(60);
        let limits = Limits {
            events_min: 5,
            events_max: events,
            age_max: Duration::from_secs(5 + dice.roll(20) as u64),
            scan_max: 1 + dice.roll(30),
            ..Limits::default()
        };
        World {
            prefix,
            keys: keys(prefix),
            index,
            fixture: Fixture::new(prefix, index, limits, 10),
            history: History::new(10),
            watchers: Vec::new(),
            dice,
            overruns: 0,
        }
    }

    /// Applies random changes; exactly the waiting watches that they concern are woken.
    fn change(&mut self) {
        self.fixture.now += Duration::from_secs(self.dice.roll(3) as u64);
        let old_length = self.history.len();
        let batch = self.history.happen(&mut self.dice, &self.keys);
        self.fixture.apply(batch);
        for watcher in &mut self.watchers {
            let concerned = self.history.concerned(&watcher.reader.selection, self.index, old_length);
            let expected = watcher.waits && concerned.contains(&true);
            assert_eq!(watcher.reader.wakes.take(), usize::from(expected), "{:?}", watcher.reader.selection);
            watcher.waits &= !expected;
        }
    }

    fn start(&mut self) {
        let selection = any_selection(&mut self.dice, self.prefix, &self.keys);
        let now = self.history.revision;
        let start_revision = now - self.dice.roll(80).min(now as usize) as Revision;
        let (reader, start_revision) = match self.dice.roll(2) {
            0 => (self.fixture.follow(selection), now),
            _ => match self.fixture.resume(selection, start_revision) {
                Ok(reader) => (reader, start_revision),
                Err(error) => {
                    assert!(matches!(error, Error::TooOld { requested, oldest }
                        if requested == start_revision && oldest > start_revision));
                    return;
                }
            },
        };
        self.watchers.push(Watcher { reader, after: start_revision, waits: false });
    }

    /// Reads some or all available changes.
    fn read(&mut self, at: usize) {
        let World { fixture, history, watchers, dice, .. } = self;
        let Watcher { reader, after, waits } = &mut watchers[at];
        let end = match dice.roll(2) {
            0 => reader.read(&mut fixture.state),
            _ => reader.drain(&mut fixture.state),
        };
        let all = history.events(&reader.selection, *after);
        match end {
            ReadOutcome::More => assert!(all.starts_with(&reader.got)),
            ReadOutcome::Idle(revision) => {
                *waits = true;
                assert_eq!((&reader.got, revision), (&all, fixture.snapshot.revision()));
            }
            ReadOutcome::Overrun => {
                assert!(all.starts_with(&reader.got));
                self.overrun(at);
            }
            ReadOutcome::Closed => panic!("nobody closed"),
        }
    }

    /// Checks that an overrun is correct: an unread change of the watch's topic was dropped.
    fn overrun(&mut self, at: usize) {
        let Watcher { mut reader, .. } = self.watchers.swap_remove(at);
        let World { fixture, history, .. } = self;
        let total = history.len() as u64;
        let nth = |position: u64| (total - (fixture.state.end() - position)) as usize;
        let next = nth(reader.position.next());
        let first = nth(fixture.state.first());
        let concerned = history.concerned(&reader.selection, self.index, next);
        let skipped = &concerned[..first - next];
        assert!(skipped.contains(&true) || !reader.position.is_subscribed(), "{:?}", reader.selection);
        fixture.state.end_watch(&mut reader.position);
        self.overruns += 1;
    }

    fn round(&mut self) {
        match self.dice.roll(10) {
            0..4 => self.change(),
            4..5 => self.start(),
            5 if !self.watchers.is_empty() && self.dice.roll(4) == 0 => {
                let at = self.dice.roll(self.watchers.len());
                let mut watcher = self.watchers.swap_remove(at);
                self.fixture.state.end_watch(&mut watcher.reader.position);
            }
            _ if !self.watchers.is_empty() => {
                let at = self.dice.roll(self.watchers.len());
                self.read(at);
            }
            _ => {}
        }
    }
}

#[test]
fn watches_match_the_model() {
    let mut overruns = 0;
    for seed in 0..120 {
        let mut world = World::new(seed);
        (0..ROUNDS).for_each(|_| world.round());
        while !world.watchers.is_empty() {
            world.read(0);
            if let Some(watcher) = world.watchers.first_mut().filter(|watcher| watcher.waits) {
                world.fixture.state.end_watch(&mut watcher.reader.position);
                world.watchers.swap_remove(0);
            }
        }
        assert_eq!((world.fixture.state.sizes().watches, world.fixture.state.topics()), (0, 0));
        overruns += world.overruns;
    }
    assert!(overruns > 50, "the histories are too tame: {overruns} overruns");
}
