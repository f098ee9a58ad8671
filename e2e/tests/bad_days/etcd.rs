//! etcd is slow, unreachable, killed or compacted: clients of the server are hardly affected.

use std::time::Duration;

use e2e::Network;
use tokio::task::block_in_place;
use tokio::time::sleep;

use super::world::{Replica, World};

/// Longer than the server's etcd timeout.
const OUTAGE: Duration = Duration::from_secs(12);
const LATE: Network = Network::Late { least: Duration::from_millis(50), most: Duration::from_millis(200) };
/// Log message for an unreachable etcd.
const UNAVAILABLE: &str = "storage did not answer";

/// Log message of the server's own controllers for an unreachable store.
const RETRIED: &str = "will be tried again";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_etcd_causes_no_errors() {
    let world = World::start(1).await;
    let proxy = &world.replicas[0].proxy;
    proxy.set(LATE);
    world.writes(60).await;
    proxy.set(Network::Narrow { bytes_per_second: 200_000 });
    world.writes(60).await;
    proxy.set(Network::Clear);
    assert_eq!(world.ends(), 0, "watches ended");
    let refusals = world.load.record().refusals.clone();
    assert!(refusals.is_empty(), "{refusals:?}");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_survive_an_etcd_out_of_reach() {
    let world = World::start(1).await;
    let replica = &world.replicas[0];
    replica.server.allow_log(UNAVAILABLE);
    replica.server.allow_log(RETRIED);
    replica.proxy.set(Network::Silent);
    tokio::join!(sleep(OUTAGE), answers_without_etcd(replica), world.refusals(1));
    replica.proxy.set(Network::Clear);
    world.writes(20).await;
    replica.proxy.cut();
    world.writes(20).await;
    assert_eq!(world.ends(), 0, "watches ended");
    world.close().await;
}

/// Cached data is served, consistent reads fail, and no request exceeds its timeout.
async fn answers_without_etcd(replica: &Replica) {
    let check = async |path: &str, expected: &[u16]| {
        let response = replica.send("GET", path).await;
        assert!(expected.contains(&response.code), "{path}: {response:?}");
        if response.code >= 400 {
            let status = response.document();
            // For a request past its deadline, upstream's timeout filter writes a Status without kind.
            let is_status = status.kind == "Status" || response.code == 504 && status.kind.is_empty();
            assert!(is_status && status.code == response.code, "{path}: {response:?}");
        }
    };
    tokio::join!(
        check("/api/v1/pods?resourceVersion=0", &[200]),
        check("/api/v1/pods?watch=1&resourceVersion=0&timeoutSeconds=1", &[200]),
        check("/api/v1/namespaces/bad-0/pods/none?resourceVersion=0", &[404]),
        check("/api/v1/pods?timeout=5s", &[500, 504]),
        // A watch that cannot start reports this in its first event.
        check("/api/v1/pods?watch=1&timeoutSeconds=1", &[200]),
        check("/api/v1/namespaces/bad-0/pods/none", &[500, 504]),
        check("/api/v1/pods?resourceVersion=999999999", &[504]),
        check("/api/v1/pods?resourceVersion=x", &[400]),
        check("/api/v1/nothing", &[404]),
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_survive_a_kill_of_etcd() {
    let mut world = World::start(1).await;
    world.replicas[0].server.allow_log(UNAVAILABLE);
    world.replicas[0].server.allow_log(RETRIED);
    block_in_place(|| world.etcd.kill());
    world.refusals(1).await;
    block_in_place(|| world.etcd.restart());
    world.writes(20).await;
    assert_eq!(world.ends(), 0, "watches ended");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watches_survive_compaction_of_current_revision() {
    let mut world = World::start(1).await;
    for _ in 0..5 {
        world.writes(10).await;
        world.recorder.compact().await;
    }
    assert_eq!(world.ends(), 0, "watches ended");
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silently_dead_connections_are_replaced() {
    let world = World::start(1).await;
    let replica = &world.replicas[0];
    replica.server.allow_log(UNAVAILABLE);
    replica.server.allow_log(RETRIED);
    replica.proxy.forget();
    world.writes(20).await;
    assert_eq!(world.ends(), 0, "watches ended");
    world.close().await;
}
