//! Tests of concurrent writers of one object: no update is lost, and the load on the store is limited.

use storage::fault::{FaultyStorage, Operation, Plan, Rates};

use super::*;

/// World with a store that takes up to 3 ms per write.
fn slow() -> (World, Arc<FaultyStorage<Memory>>) {
    let rates = Rates { delay: 1000, delay_max: Duration::from_millis(3), ..Rates::default() };
    let store = Arc::new(Memory::new());
    let faulty = Arc::new(FaultyStorage::new(store.clone(), Plan::seeded(1, rates)));
    let resources = crate::ingest::resources("/registry", Gates::default(), |_| true);
    (World::with(store, Delegator::uncached(faulty.clone(), resources)), faulty)
}

/// Sets the entry of this writer.
async fn sign(world: &World, name: &str, dry_run: bool) {
    let mut change = |old: Option<&Object>| {
        let mut new = Value::Object(old.unwrap().clone());
        new["data"][name] = "yes".into();
        Ok(object(new))
    };
    let request = UpdateRequest { dry_run, ..world.update("configmaps") };
    world.registry.update(&target("configmaps", "a"), &request, &mut change).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn conflicting_writers_need_one_transaction_each() {
    const WRITERS: usize = 64;
    const ROUNDS: usize = 4;
    let (world, faulty) = slow();
    world.create_object("configmaps", "a", json!({"data": {}})).await;
    let writers = (0..WRITERS).map(|writer| {
        let world = &world;
        async move {
            for round in 0..ROUNDS {
                sign(world, &format!("{writer}.{round}"), false).await;
                // A dry run must not affect later writes.
                sign(world, "dry", true).await;
            }
        }
    });
    futures::future::join_all(writers).await;
    let stored = world.get("configmaps", "a").await.unwrap();
    let data = stored["data"].as_object().unwrap();
    assert_eq!((data.len(), data.get("dry")), (WRITERS * ROUNDS, None));
    // All but one of the first attempts fail; after that there are no conflicts.
    let writes = faulty.calls(Operation::Put) as usize;
    assert!(writes <= WRITERS * ROUNDS + WRITERS + 1, "{writes} transactions");
}
