//! Faults that clients survive: restarts, lost members, lost leaders, a lost quorum, broken connections.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use storage::{Error, ListOptions, PutResult, Storage, WatchItem, WatchOptions, WatchStream};
use storage_etcd3::{Compacted, Compactor, Etcd, Options};
use tokio::time::timeout;

use crate::proxy::{Line, Proxy};
use crate::server::{Cluster, Server};
use crate::workload::Workload;

const PATIENCE: Duration = Duration::from_secs(60);

async fn create(store: &Etcd, key: &str) -> i64 {
    match store.put(key, Bytes::from_static(b"x"), 0, None).await.unwrap() {
        PutResult::Done(revision) => revision,
        stale => panic!("{stale:?}"),
    }
}

/// The next item; fails at a timeout. `None` at the end.
async fn next(watch: &mut WatchStream) -> Option<Result<WatchItem, Error>> {
    timeout(PATIENCE, watch.next()).await.expect("the watch goes on")
}

/// The revision of the next item, which must be a change.
async fn change(watch: &mut WatchStream) -> i64 {
    match next(watch).await {
        Some(Ok(WatchItem::Event(event))) => event.kv.mod_revision,
        other => panic!("not a change: {other:?}"),
    }
}

/// Proxies in front of all members, and a client that only uses the proxies and quickly closes silent
/// connections.
async fn behind_proxies(cluster: &Cluster) -> (Vec<Proxy>, Arc<Etcd>) {
    let mut proxies = Vec::new();
    for member in &cluster.members {
        proxies.push(Proxy::to(member.client_port).await);
    }
    let mut options = Options::new(proxies.iter().map(Proxy::url));
    options.keepalive_interval = Duration::from_millis(500);
    options.keepalive_timeout = Duration::from_millis(500);
    options.dial_timeout = Duration::from_secs(1);
    options.request_timeout = Duration::from_secs(4);
    options.health_timeout = Duration::from_secs(1);
    (proxies, Arc::new(Etcd::new(options).await.unwrap()))
}

/// Like [`behind_proxies`], with a client without short timeouts, so that it must detect failures by itself.
async fn patient(cluster: &Cluster) -> (Vec<Proxy>, Arc<Etcd>) {
    let mut proxies = Vec::new();
    for member in &cluster.members {
        proxies.push(Proxy::to(member.client_port).await);
    }
    let store = Etcd::new(patiently(proxies.iter().map(Proxy::url))).await.unwrap();
    (proxies, Arc::new(store))
}

/// Timeouts longer than any test.
fn patiently(urls: impl Iterator<Item = String>) -> Options {
    let mut options = Options::new(urls);
    options.keepalive_interval = PATIENCE * 10;
    options.request_timeout = PATIENCE * 10;
    options.list_timeout = PATIENCE * 10;
    options
}

/// Updates a key at `expected`; returns the new revision.
async fn update(store: &Etcd, key: &str, value: &'static str, expected: i64) -> i64 {
    let write = store.put(key, Bytes::from_static(value.as_bytes()), expected, None);
    match timeout(PATIENCE, write).await.expect("a write ends").unwrap() {
        PutResult::Done(revision) => revision,
        stale => panic!("{stale:?}"),
    }
}

#[tokio::test]
async fn etcd_restart_loses_no_writes_or_events() {
    let mut cluster = Cluster::single().await;
    let work = Workload::start(cluster.store().await, 2, 2).await;
    for _ in 0..3 {
        work.progress(100).await;
        cluster.members[0].kill();
        cluster.restart(0);
    }
    work.progress(100).await;
    assert!(work.finish().await >= 400);
}

#[tokio::test]
async fn lost_members_lose_no_writes_or_events() {
    let mut cluster = Cluster::three().await;
    let work = Workload::start(cluster.store().await, 3, 3).await;
    work.progress(100).await;
    for round in 0..4 {
        let leader = cluster.leader().await;
        let victim = if round % 2 == 0 { leader } else { (leader + 1) % 3 };
        cluster.members[victim].kill();
        work.progress(100).await;
        cluster.restart(victim);
        cluster.ready().await;
    }
    assert!(work.finish().await >= 500);
}

#[tokio::test]
async fn a_lost_quorum_is_waited_for() {
    let mut cluster = Cluster::three().await;
    let store = cluster.store().await;
    let work = Workload::start(store.clone(), 2, 3).await;
    work.progress(50).await;
    cluster.members[0].kill();
    cluster.members[1].kill();
    // Without a quorum nothing is acknowledged, and callers get an error in time.
    let health = store.healthy().await;
    assert!(matches!(health, Err(Error::Unavailable(_))), "{health:?}");
    cluster.restart(0);
    cluster.restart(1);
    work.progress(50).await;
    work.finish().await;
}

#[tokio::test]
async fn broken_connections_lose_no_writes_or_events() {
    let cluster = Cluster::three().await;
    let (proxies, store) = behind_proxies(&cluster).await;
    let work = Workload::start(store, 3, 3).await;
    for line in [Line::Broken, Line::Frozen] {
        for proxy in &proxies {
            work.progress(50).await;
            proxy.set(line);
            work.progress(50).await;
            proxy.set(Line::Open);
        }
    }
    assert!(work.finish().await >= 600);
}

#[tokio::test]
async fn writes_move_to_the_next_member() {
    let mut cluster = Cluster::three().await;
    let leader = cluster.leader().await;
    cluster.members[(leader + 1) % 3].kill();
    let store = cluster.store().await;
    for n in 0..6 {
        create(&store, &format!("/registry/{n}")).await;
    }
}

#[tokio::test]
async fn frozen_member_is_avoided_until_it_recovers() {
    let cluster = Cluster::three().await;
    let (proxies, store) = behind_proxies(&cluster).await;
    proxies[0].set(Line::Frozen);
    // Reads move to other members by themselves.
    for _ in 0..6 {
        store.get("/registry/a").await.unwrap();
    }
    // So do writes from then on: the frozen member gets no more calls.
    for n in 0..6 {
        create(&store, &format!("/registry/{n}")).await;
    }
    // The others are down: the recovered member is found again.
    proxies[0].set(Line::Open);
    proxies[1].set(Line::Broken);
    proxies[2].set(Line::Broken);
    store.get("/registry/a").await.unwrap();
}

#[tokio::test]
async fn watch_leaves_a_member_without_leader() {
    let (cluster, peers) = Cluster::three_behind_peer_proxies().await;
    // First a follower, then the leader, is partitioned from the other members, but not from its clients.
    for (isolated, role) in
        [((cluster.leader().await + 1) % 3, "follower"), (cluster.leader().await, "leader")]
    {
        let others = [(isolated + 1) % 3, (isolated + 2) % 3].map(|n| cluster.members[n].url());
        let majority = Etcd::new(Options::new(others.clone())).await.unwrap();
        // The first call of a store goes to its first endpoint.
        let store = Etcd::new(Options::new([cluster.members[isolated].url()].into_iter().chain(others)))
            .await
            .unwrap();
        let prefix = format!("/registry/{role}/");
        let start = majority.current_revision().await.unwrap() + 1;
        let mut watch =
            store.watch(&prefix, WatchOptions { start, ..WatchOptions::default() }).await.unwrap();

        let id = cluster.id(isolated).await;
        for (n, peer) in peers.iter().enumerate() {
            if n == isolated { peer.set(Line::Broken) } else { peer.cast_out(id) }
        }
        let key = format!("{prefix}a");
        let event = timeout(PATIENCE, async {
            // The majority may first have to elect a leader.
            while matches!(majority.put(&key, Bytes::new(), 0, None).await, Err(Error::Unavailable(_))) {}
            change(&mut watch).await
        });
        let revision = event.await.expect("the watch goes where the writes are");
        assert_eq!(majority.get(&key).await.unwrap().kv.map(|kv| kv.mod_revision), Some(revision));
        for peer in &peers {
            peer.set(Line::Open);
            peer.cast_out(0);
        }
    }
}

#[tokio::test]
async fn compaction_during_a_disconnect_ends_the_watch() {
    let cluster = Cluster::single().await;
    let direct = cluster.store().await;
    let (proxies, store) = behind_proxies(&cluster).await;
    let first = create(&direct, "/registry/a/1").await;
    let options = WatchOptions { start: first, ..WatchOptions::default() };
    let mut watch = store.watch("/registry/a/", options).await.unwrap();
    assert_eq!(change(&mut watch).await, first);

    proxies[0].set(Line::Broken);
    create(&direct, "/registry/a/2").await;
    let last = create(&direct, "/registry/a/3").await;
    direct.compact(last).await.unwrap();
    proxies[0].set(Line::Open);

    let end = next(&mut watch).await;
    assert!(matches!(end, Some(Err(Error::Compacted { oldest })) if oldest == last), "{end:?}");
    assert!(next(&mut watch).await.is_none(), "an error is the last item");
}

#[tokio::test]
async fn compaction_during_disconnect_is_observed_later() {
    let cluster = Cluster::single().await;
    let direct = cluster.store().await;
    let (proxies, store) = behind_proxies(&cluster).await;
    let mut compactor = Compactor::default();
    let mut compacted = store.compacted();
    compactor.round(&direct).await.unwrap();
    let mut compacted_to = 0;
    // In the last round, the revision of the observer's own watch is compacted.
    for (round, missed_rounds) in [0, 1, 3].into_iter().enumerate() {
        if missed_rounds > 0 {
            proxies[0].set(Line::Broken);
        }
        for missed_round in 0..=missed_rounds {
            create(&direct, &format!("/registry/{round}/{missed_round}")).await;
            let Compacted::ThisServer(revision) = compactor.round(&direct).await.unwrap() else { panic!() };
            assert!(revision > compacted_to);
            compacted_to = revision;
        }
        proxies[0].set(Line::Open);
        let observed = timeout(PATIENCE, compacted.wait_for(|observed| *observed >= compacted_to)).await;
        assert_eq!(*observed.expect("it is heard of in time").unwrap(), compacted_to);
    }
}

#[tokio::test]
async fn current_watch_survives_compaction_and_disconnect() {
    let cluster = Cluster::single().await;
    let direct = cluster.store().await;
    let (proxies, store) = behind_proxies(&cluster).await;
    let options = WatchOptions { progress: true, ..WatchOptions::default() };
    let mut watch = store.watch("/registry/a/", options).await.unwrap();
    // Nothing changes below the prefix, but the watch receives progress.
    let elsewhere = create(&direct, "/registry/b/1").await;
    store.request_progress().await.unwrap();
    let item = next(&mut watch).await;
    assert!(matches!(item, Some(Ok(WatchItem::Progress(revision))) if revision == elsewhere), "{item:?}");

    proxies[0].set(Line::Broken);
    direct.compact(elsewhere).await.unwrap();
    let missed = create(&direct, "/registry/a/1").await;
    proxies[0].set(Line::Open);
    assert_eq!(change(&mut watch).await, missed);
}

#[tokio::test]
async fn two_failed_members_of_five_cause_no_waits() {
    let mut cluster = Cluster::start(5, "http", &[], |options| options).await;
    let leader = cluster.leader().await;
    let store = Etcd::new(patiently(cluster.members.iter().map(Server::url))).await.unwrap();
    let mut revision = create(&store, "/registry/a").await;
    cluster.members[(leader + 1) % 5].signal("STOP");
    cluster.members[(leader + 2) % 5].kill();
    for _ in 0..20 {
        revision = update(&store, "/registry/a", "x", revision).await;
        let read = timeout(PATIENCE, store.get("/registry/a")).await.expect("a read ends").unwrap();
        assert_eq!(read.kv.map(|kv| kv.mod_revision), Some(revision));
        let list = timeout(PATIENCE, store.list("/registry/", ListOptions::default()));
        assert_eq!(list.await.expect("a list ends").unwrap().kvs.len(), 1);
    }
    cluster.members[(leader + 1) % 5].signal("CONT");
}

#[tokio::test]
async fn write_with_lost_response_happens_once() {
    let cluster = Cluster::three().await;
    let direct = cluster.store().await;
    let first = create(&direct, "/registry/a").await;
    let (proxies, store) = patient(&cluster).await;
    // Connected before responses get lost.
    for _ in 0..3 {
        store.healthy().await.unwrap();
    }
    proxies[0].set(Line::Mute);
    let second = update(&store, "/registry/a", "second", first).await;
    assert_eq!(second, first + 1, "it happened at once, and nothing happened since");
    assert_eq!(direct.current_revision().await.unwrap(), second);
}

#[tokio::test]
async fn create_with_lost_response_is_detected() {
    let cluster = Cluster::three().await;
    let direct = cluster.store().await;
    let (proxies, store) = patient(&cluster).await;
    for _ in 0..3 {
        store.healthy().await.unwrap();
    }
    proxies[0].set(Line::Mute);
    let revision = create(&store, "/registry/a").await;
    assert_eq!(direct.current_revision().await.unwrap(), revision);
}

#[tokio::test]
async fn lost_race_with_lost_response_is_stale() {
    let cluster = Cluster::three().await;
    let direct = cluster.store().await;
    let first = create(&direct, "/registry/a").await;
    let (proxies, store) = patient(&cluster).await;
    for _ in 0..3 {
        store.healthy().await.unwrap();
    }
    proxies[0].set(Line::Mute);
    let second = update(&direct, "/registry/a", "theirs", first).await;
    let write = store.put("/registry/a", Bytes::from_static(b"ours"), first, None);
    match timeout(PATIENCE, write).await.expect("it ends").unwrap() {
        PutResult::Stale { current: Some(kv), .. } => assert_eq!(kv.mod_revision, second),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_watch_leaves_a_silent_member() {
    let cluster = Cluster::three().await;
    let direct = cluster.store().await;
    let (proxies, store) = patient(&cluster).await;
    let options = WatchOptions { start: 1, ..WatchOptions::default() };
    let mut watch = store.watch("/registry/", options).await.unwrap();
    proxies[0].set(Line::Frozen);
    let revision = create(&direct, "/registry/a").await;
    // Any caller can detect that a member is silent.
    let reads = async {
        loop {
            store.get("/registry/a").await.unwrap();
        }
    };
    let delivered = tokio::select! {
        delivered = change(&mut watch) => delivered,
        () = reads => unreachable!("it asks for ever"),
    };
    assert_eq!(delivered, revision);
}

#[tokio::test]
async fn dead_cluster_fails_immediately() {
    let mut cluster = Cluster::single().await;
    let store = Etcd::new(patiently(cluster.members.iter().map(Server::url))).await.unwrap();
    create(&store, "/registry/a").await;
    cluster.members[0].kill();
    for _ in 0..3 {
        let write = timeout(PATIENCE, store.put("/registry/b", Bytes::new(), 0, None)).await;
        assert!(matches!(write, Ok(Err(Error::Unavailable(_)))), "{write:?}");
        let read = timeout(PATIENCE, store.get("/registry/a")).await;
        assert!(matches!(read, Ok(Err(Error::Unavailable(_)))), "{read:?}");
    }
}
