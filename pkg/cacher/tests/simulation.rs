//! Seeded simulation of the watch cache and its store.
//!
//! Each run is one seed. Writers, readers and watchers of every kind use the cache. Meanwhile the connection
//! between cache and store delays, fails and breaks; the store compacts and expires leases; resources are
//! installed and retired. Time is virtual and all randomness comes from the seed. The store records the true
//! history, and every result is checked against it:
//!
//! * a watch delivers exactly its view of the history from its start, in order, without gap or repetition.
//!   Bookmarks do not exceed the delivered revision. It ends without an error only if it was too slow or the
//!   cache was reset;
//! * a read returns the state at the revision that it reports, which is not older than any revision that a
//!   client had seen before a consistent read started;
//! * an error has an excuse;
//! * after the faults end, everything recovers by itself, quickly.
//!
//! A failed run prints its trace and the command to replay it: `MAINSTAY_SEED=123 cargo test -p mainstay-cacher --test
//! simulation`. `MAINSTAY_SEEDS=5000` runs more seeds than usual.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, missing_docs)]

mod simulation {
    pub mod history;
    pub mod journal;
    pub mod kinds;
    pub mod ledger;
    pub mod link;
    pub mod random;
    pub mod reader;
    pub mod run;
    pub mod sabotage;
    pub mod session;
    pub mod watcher;
    pub mod weather;
    pub mod world;
}

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use simulation::journal::Tally;
use simulation::run::{Failure, Outcome, run};
use simulation::sabotage::Bug;

const SEEDS: u64 = 200;
/// A bug must be found within this number of seeds.
const BUG_SEEDS: u64 = 20;

/// Situations that must have occurred in the runs.
const COVERED: [&str; 47] = [
    "bookmark",
    "bookmark before the deadline",
    "blackout",
    "caches that are filled on demand",
    "compacted",
    "compaction",
    "consistent get, cached",
    "consistent list, cached",
    "consistent list, maybe stored",
    "end of state",
    "event in calm weather",
    "future revision, from storage",
    "future revision, from the cache",
    "gap",
    "late answer",
    "list continued",
    "list rewound",
    "list with a version",
    "not ready",
    "of a namespace",
    "of an indexed value",
    "of everything",
    "of one object",
    "request for progress lost",
    "resource installed",
    "resource replaced",
    "resource retired",
    "resource retired while it was listed",
    "several deletions at one revision",
    "too old",
    "unavailable",
    "watch at its deadline",
    "watch broken",
    "watch delayed",
    "watch dropped",
    "watch ended by a gap",
    "watch ended by a retirement",
    "watch from a revision",
    "watch from a state not older",
    "watch from any state",
    "watch from now",
    "watch from the latest state",
    "watch overrun",
    "watch resumed",
    "watch stalled for seconds",
    "with a selector",
    "write of unknown outcome",
];

/// Parses a number in an environment variable.
fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// Runs all seeds on all processors. Returns the first failure found.
fn run_all(seeds: Range<u64>, bug: Option<Bug>) -> Result<Vec<Outcome>, Box<Failure>> {
    let next = AtomicU64::new(seeds.start);
    let work = || -> Result<Vec<Outcome>, Box<Failure>> {
        let mut outcomes = Vec::new();
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= seeds.end {
                return Ok(outcomes);
            }
            outcomes.push(run(seed, bug).inspect_err(|_| next.store(seeds.end, Relaxed))?);
        }
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut results = Vec::new();
        for worker in workers {
            results.extend(worker.join().unwrap()?);
        }
        Ok(results)
    })
}

#[test]
fn clients_see_the_true_history() {
    if let Some(seed) = number("MAINSTAY_SEED") {
        match run(seed, None) {
            Ok(outcome) => println!("seed {seed} is fine: {:#?}", outcome.tally),
            Err(failure) => panic!("{failure}"),
        }
        return;
    }
    let outcomes = match run_all(0..number("MAINSTAY_SEEDS").unwrap_or(SEEDS), None) {
        Ok(outcomes) => outcomes,
        Err(failure) => panic!("{failure}"),
    };
    let mut tally = Tally::new();
    for (event, times) in outcomes.iter().flat_map(|outcome| &outcome.tally) {
        *tally.entry(event).or_default() += times;
    }
    println!("{tally:#?}");
    let missing: Vec<_> = COVERED.iter().filter(|event| !tally.contains_key(**event)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}

#[test]
fn seeds_are_reproducible() {
    for seed in 0..4 {
        let trace = || run(seed, None).map_or_else(|failure| failure.trace, |outcome| outcome.trace);
        let first = trace();
        let second = trace();
        let differs = first.iter().zip(&second).find(|(first, second)| first != second);
        assert_eq!((differs, first.len()), (None, second.len()), "seed {seed}");
    }
}

#[test]
fn every_bug_is_found() {
    if number("MAINSTAY_SEED").is_some() {
        return;
    }
    for bug in Bug::ALL {
        match run_all(0..BUG_SEEDS, Some(bug)) {
            Ok(_) => panic!("{bug:?} was not found in {BUG_SEEDS} runs"),
            Err(failure) => println!("{bug:?}: {}", failure.violation),
        }
    }
}
