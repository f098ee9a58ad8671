//! One run: a storm, then a calm phase in which everything must recover by itself.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cacher::cache::Limits;
use cacher::{Delegator, Freshness, ListQuery, Options};
use storage::Storage;
use tokio::runtime::Builder;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::history::History;
use super::journal::{Journal, Tally};
use super::kinds::{KINDS, Kind, ROOT, STRANGERS, View};
use super::link::{Link, Storm};
use super::random::Random;
use super::reader::Reader;
use super::sabotage::Bug;
use super::session::is;
use super::watcher::{Pace, Watcher};
use super::weather;
use super::world::{Violation, World, violation};

/// Maximum recovery time after the storm.
const RECOVERS_WITHIN: Duration = Duration::from_secs(60);
/// Rounds in which every resource is written and read afterwards.
const CALM_ROUNDS: usize = 5;
/// Maximum response time in these rounds.
const ANSWERS_WITHIN: Duration = Duration::from_millis(100);

/// Maximum number of trace lines in a failure.
const LINES_MAX: usize = 400;

type Tasks = JoinSet<Result<(), Violation>>;

/// The result of a successful run.
pub struct Outcome {
    pub tally: Tally,
    pub trace: Vec<String>,
}

/// A failed run.
pub struct Failure {
    seed: u64,
    pub violation: Violation,
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { seed, violation, trace } = self;
        for line in trace.iter().skip(trace.len().saturating_sub(LINES_MAX)) {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "\nseed {seed}: {violation}\n")?;
        write!(f, "replay with: MAINSTAY_SEED={seed} cargo test -p mainstay-cacher --test simulation")
    }
}

/// Simulates the system with a seed and an optional bug.
///
/// # Errors
/// The first violation.
pub fn run(seed: u64, bug: Option<Bug>) -> Result<Outcome, Box<Failure>> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let journal = Arc::new(Journal::new());
        match simulate(seed, bug, &journal).await {
            Ok(()) => Ok(Outcome { tally: journal.tally(), trace: journal.lines() }),
            Err(violation) => Err(Box::new(Failure { seed, violation, trace: journal.lines() })),
        }
    })
}

async fn simulate(seed: u64, bug: Option<Bug>, journal: &Arc<Journal>) -> Result<(), Violation> {
    let mut random = Random::new(seed);
    let storm = Storm::random(&mut random);
    let options = options(&mut random);
    journal.note("run", &format!("{storm:?} {options:?}"));
    if options.fill_on_demand {
        journal.count("caches that are filled on demand");
    }
    let link = Arc::new(Link::new(storm, random.fork(), Arc::clone(journal), bug));
    let resources = KINDS.iter().filter(|kind| !kind.comes_and_goes).map(Kind::config).collect();
    let store: Arc<dyn Storage> = Arc::clone(&link) as _;
    let limits = options.limits;
    let (delegator, driver) = Delegator::new(store, ROOT, resources, options);
    let world = Arc::new(World {
        delegator,
        link,
        journal: Arc::clone(journal),
        limits,
        bug,
        observed: AtomicI64::new(0),
        storm: AtomicBool::new(true),
        calm_since: OnceLock::new(),
        finish: AtomicI64::new(0),
    });
    let driver = tokio::spawn(driver.run());
    world.link.driver.set(driver.id()).unwrap();
    let mut clients = Tasks::new();
    let mut watchers = Tasks::new();
    populate(&world, &mut random, &mut clients, &mut watchers);
    let time = random.millis(40_000..120_000);
    rage(&mut clients, &mut watchers, Instant::now() + time).await?;
    settle(&world, &mut random, &mut clients, &mut watchers).await?;
    if driver.is_finished() {
        return violation("the driver has stopped");
    }
    driver.abort();
    Ok(())
}

fn options(random: &mut Random) -> Options {
    let limits = Limits {
        events_min: random.pick(&[4, 20]),
        events_max: random.pick(&[16, 60, 1000]),
        age_max: Duration::from_secs(random.pick(&[2, 10, 75])),
        bytes_max: random.pick(&[64 << 20, 64 << 20, 16 << 10]),
        scan_max: random.pick(&[4, 1024]),
        rewind_max: random.pick(&[8, 16_384]),
    };
    let concurrent_lists_max = random.pick(&[1, 4]);
    let buffered_changes_max = random.pick(&[2, 100_000]);
    let fill_on_demand = random.chance(300);
    Options { limits, concurrent_lists_max, buffered_changes_max, fill_on_demand, ..Options::default() }
}

fn populate(world: &Arc<World>, random: &mut Random, clients: &mut Tasks, watchers: &mut Tasks) {
    for number in 0..1 + random.below(3) {
        clients.spawn(weather::write(Arc::clone(world), random.fork(), format!("writer {number}")));
    }
    for number in 0..2 + random.below(3) {
        let world = Arc::clone(world);
        let random = random.fork();
        clients.spawn(Reader { world, random, name: format!("reader {number}") }.run());
    }
    clients.spawn(weather::expire(Arc::clone(world), random.fork()));
    clients.spawn(weather::compact(Arc::clone(world), random.fork()));
    clients.spawn(weather::cut(Arc::clone(world), random.fork()));
    for kind in KINDS.iter().filter(|kind| kind.comes_and_goes) {
        clients.spawn(weather::come_and_go(Arc::clone(world), random.fork(), kind));
    }
    for number in 0..5 + random.below(8) {
        let watcher = Watcher {
            world: Arc::clone(world),
            pace: random.pick(&[Pace::Eager, Pace::Eager, Pace::Slow, Pace::Stalling]),
            view: View::random(random),
            bookmarks: random.chance(600),
            name: format!("watcher {number}"),
            random: random.fork(),
        };
        world.journal.note(&watcher.name, &format!("{:?} {:?}", watcher.pace, watcher.view));
        watchers.spawn(watcher.run());
    }
}

/// Runs all tasks until `until` or the first violation.
async fn rage(clients: &mut Tasks, watchers: &mut Tasks, until: Instant) -> Result<(), Violation> {
    loop {
        tokio::select! {
            biased;
            Some(end) = watchers.join_next() => ended(end)?,
            Some(end) = clients.join_next() => ended(end)?,
            () = sleep_until(until) => return Ok(()),
        }
    }
}

/// Waits until all tasks have ended.
async fn join(label: &str, tasks: &mut Tasks) -> Result<(), Violation> {
    let joined = async {
        while let Some(end) = tasks.join_next().await {
            ended(end)?;
        }
        Ok(())
    };
    timeout(2 * RECOVERS_WITHIN, joined)
        .await
        .unwrap_or_else(|_| violation(format!("{label} do not come to an end")))
}

fn ended(end: Result<Result<(), Violation>, JoinError>) -> Result<(), Violation> {
    end.unwrap_or_else(|error| violation(format!("a task ended in panic: {error}")))
}

/// The calm phase: checks that everything recovers.
async fn settle(
    world: &Arc<World>,
    random: &mut Random,
    clients: &mut Tasks,
    watchers: &mut Tasks,
) -> Result<(), Violation> {
    world.journal.note("run", "calm");
    world.storm.store(false, Relaxed);
    world.link.calm();
    join("clients", clients).await?;
    for resource in world.delegator.resources() {
        if timeout(RECOVERS_WITHIN, resource.ready()).await != Ok(true) {
            return violation(format!("{} is not filled again", resource.config().prefix));
        }
    }
    sleep(RECOVERS_WITHIN / 4).await;
    world.calm_since.set(Instant::now()).unwrap();
    for _ in 0..CALM_ROUNDS {
        for kind in &KINDS {
            let key = match random.below(3) {
                0 => random.pick(&STRANGERS).to_owned(),
                _ => kind.random_key(random),
            };
            if !weather::write_one(world, random, "run", &key).await {
                return violation(format!("a write of {key} fails in calm weather"));
            }
            check_present(world, kind).await?;
            let time = random.millis(0..3000);
            sleep(time).await;
        }
    }
    match world.delegator.differences().await {
        Ok(differences) if differences.is_empty() => {}
        other => return violation(format!("the caches are not what the store has: {other:?}")),
    }
    world.finish.store(world.history(History::revision), Relaxed);
    join("watchers", watchers).await
}

/// Checks that the cache equals the store and responds immediately.
async fn check_present(world: &World, kind: &'static Kind) -> Result<(), Violation> {
    let view = View::everything(kind);
    let query = ListQuery {
        scope: view.scope.clone(),
        start: None,
        limit: 0,
        freshness: Freshness::Consistent,
        predicate: view.predicate(),
    };
    let request_state = world.request_state();
    let reads = world.link.reads();
    let Some(resource) = world.resource(kind) else {
        return violation(format!("{} is not there", kind.prefix));
    };
    let request = world.delegator.list(&resource, query);
    let page = match timeout(ANSWERS_WITHIN, request).await {
        Ok(Ok(page)) => page,
        Ok(Err(error)) => return violation(format!("list {} fails in calm weather: {error:?}", kind.prefix)),
        Err(_) => return violation(format!("list {} takes long in calm weather", kind.prefix)),
    };
    world.check_revision(&request_state, Freshness::Consistent, page.revision)?;
    if kind.cached && world.link.reads() > reads {
        return violation(format!("list {} is answered by storage in calm weather", kind.prefix));
    }
    let right = world.history(|history| {
        let state = history.state_at(page.revision, &view);
        let items: Vec<_> = page.items.iter().collect();
        items.len() == state.len() && items.iter().zip(state).all(|(element, object)| is(element, object))
    });
    if right { Ok(()) } else { violation(format!("{} is not what the store has", kind.prefix)) }
}
