//! Two servers on one etcd, and clients that fail over with their resource versions.

use std::time::Duration;

use e2e::Network;
use tokio::task::block_in_place;

use super::world::World;

const STOP_LIMIT: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missed_compaction_restarts_watches() {
    let mut world = World::start(2).await;
    let cut_off = &world.replicas[0];
    cut_off.server.allow_log("storage did not answer");
    cut_off.server.allow_log("will be tried again");
    cut_off.server.allow_log("the caches start anew");
    cut_off.proxy.set(Network::Silent);
    cut_off.proxy.cut();
    // Through the other server, which has missed nothing.
    world.writes(40).await;
    world.recorder.compact().await;
    assert_eq!(world.ends(), 0, "watches ended although nobody knows of a gap yet");
    world.replicas[0].proxy.set(Network::Clear);
    world.some_end().await;
    world.writes(40).await;
    world.recorder.compact().await;
    world.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_fail_over_to_another_server() {
    let mut world = World::start(2).await;
    let status = block_in_place(|| world.replicas[0].server.terminate(STOP_LIMIT));
    assert_eq!(status.code(), Some(0), "{status}");
    world.writes(20).await;
    block_in_place(|| world.replicas[0].server.restart());
    world.writes(20).await;
    // A lagging server, for clients with newer resource versions than its cache.
    let late = Network::Late { least: Duration::from_millis(100), most: Duration::from_millis(200) };
    world.replicas[0].proxy.set(late);
    block_in_place(|| world.replicas[1].server.kill());
    world.writes(20).await;
    world.replicas[0].proxy.set(Network::Clear);
    block_in_place(|| world.replicas[1].server.restart());
    world.close().await;
}
