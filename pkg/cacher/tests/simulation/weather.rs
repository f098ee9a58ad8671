//! Tasks that change the store: writers and external events.

use std::sync::Arc;
use std::time::Duration;

use storage::{PutResult, Storage};
use tokio::time::sleep;

use super::history::History;
use super::kinds::{Kind, STRANGERS, random_value};
use super::random::Random;
use super::world::{Violation, World};

/// A client that creates, updates and deletes.
pub async fn write(world: Arc<World>, mut random: Random, name: String) -> Result<(), Violation> {
    while world.is_stormy() {
        let (pause, burst) = match random.below(40) {
            0 => (random.millis(3000..9000), 1),
            1 => (Duration::ZERO, 1 + random.below(60)),
            _ => (random.millis(0..800), 1),
        };
        sleep(pause).await;
        for _ in 0..burst {
            let key = match random.below(20) {
                0 => random.pick(&STRANGERS).to_owned(),
                _ => Kind::random(&mut random).random_key(&mut random),
            };
            write_one(&world, &mut random, &name, &key).await;
        }
    }
    Ok(())
}

/// Changes a key randomly, regardless of its current value. Returns true if the write was acknowledged.
pub async fn write_one(world: &World, random: &mut Random, name: &str, key: &str) -> bool {
    let current = world.link.ledger.get(key).await.ok().and_then(|lookup| lookup.kv);
    let expected = current.map_or(0, |kv| kv.mod_revision);
    let deletes = expected > 0 && random.chance(300);
    let result = if deletes {
        world.link.delete(key, expected).await
    } else {
        world.link.put(key, random_value(random), expected, None).await
    };
    let operation = if deletes { "delete" } else { "put" };
    world.journal.note(name, &format!("{operation} {key} after {expected}: {result:?}"));
    match result {
        Ok(PutResult::Done(revision)) => {
            world.observe(revision);
            true
        }
        Ok(PutResult::Stale { .. }) => {
            world.journal.count("stale write");
            false
        }
        Err(_) => {
            world.journal.count("write of unknown outcome");
            false
        }
    }
}

/// Deletes several objects at one revision, as leases do.
pub async fn expire(world: Arc<World>, mut random: Random) -> Result<(), Violation> {
    while world.is_stormy() {
        let pause = random.millis(500..8000);
        sleep(pause).await;
        let keys: Vec<String> =
            (0..random.below(8)).map(|_| Kind::random(&mut random).random_key(&mut random)).collect();
        let expired = world.link.ledger.expire(&keys).await;
        if expired > 1 {
            world.journal.count("several deletions at one revision");
        }
        let revision = world.history(History::revision);
        world.journal.note("lease", &format!("{expired} of {keys:?} expire at {revision}"));
    }
    Ok(())
}

/// Installs and retires the resource of a kind. At the end it is installed.
pub async fn come_and_go(
    world: Arc<World>,
    mut random: Random,
    kind: &'static Kind,
) -> Result<(), Violation> {
    while world.is_stormy() {
        let pause = if random.chance(250) { random.millis(0..300) } else { random.millis(300..12_000) };
        sleep(pause).await;
        match world.resource(kind) {
            Some(_) if random.chance(800) => world.retire(kind),
            _ => world.install(kind),
        }
    }
    if world.resource(kind).is_none() {
        world.install(kind);
    }
    Ok(())
}

/// Compacts the history, mostly up to revisions that all clients have seen, sometimes completely.
pub async fn compact(world: Arc<World>, mut random: Random) -> Result<(), Violation> {
    while world.is_stormy() {
        let pause = random.millis(1000..12_000);
        sleep(pause).await;
        let from = world.link.ledger.compacted_to().max(1);
        let to = world.history(History::revision);
        let at = if random.chance(300) || from >= to { to } else { random.within(from..to) };
        // A rejected compaction changes nothing.
        let compacted = world.link.ledger.compact(at).await;
        world.journal.count("compaction");
        world.journal.note("compactor", &format!("to {at}: {compacted:?}"));
    }
    Ok(())
}

/// Breaks the watches for a while, sometimes until there is a gap.
pub async fn cut(world: Arc<World>, mut random: Random) -> Result<(), Violation> {
    while world.is_stormy() {
        let pause = random.millis(5000..60_000);
        sleep(pause).await;
        if !world.is_stormy() {
            return Ok(());
        }
        let time = random.millis(500..8000);
        world.link.blackout(time);
        if random.chance(600) {
            sleep(time / 2).await;
            let revision = world.history(History::revision);
            let compacted = world.link.ledger.compact(revision).await;
            world.journal.note("compactor", &format!("during a blackout, to {revision}: {compacted:?}"));
        }
    }
    Ok(())
}
