//! etcd's limits and specifics: leases, quota, the compaction protocol.

use std::time::Duration;

use bytes::Bytes;
use etcd_client::{LeaseTimeToLiveOptions, PutOptions, Txn, TxnOp};
use futures::StreamExt;
use storage::{Error, ListOptions, PutResult, Storage, WatchItem, WatchOptions, WatchStream};
use storage_etcd3::{COMPACT_REV_KEY, Compacted, Compactor, Etcd, Options};

use tokio::time::timeout;

use crate::server::{Cluster, free_port, shared};

const HOUR: Duration = Duration::from_secs(3600);
const PATIENCE: Duration = Duration::from_secs(60);

async fn create(store: &Etcd, key: &str, ttl: Option<Duration>) -> Result<PutResult, Error> {
    store.put(key, Bytes::from_static(b"x"), 0, ttl).await
}

async fn client(cluster: &Cluster) -> etcd_client::Client {
    etcd_client::Client::connect([cluster.members[0].url()], None).await.unwrap()
}

/// Creates a key that did not exist.
async fn create_next(store: &Etcd) {
    let key = format!("/registry/{}", store.current_revision().await.unwrap());
    assert!(matches!(create(store, &key, None).await, Ok(PutResult::Done(_))));
}

async fn lease_of(client: &mut etcd_client::Client, key: &str) -> i64 {
    client.get(key, None).await.unwrap().kvs()[0].lease()
}

#[tokio::test]
async fn keys_with_one_ttl_share_a_lease() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let mut client = client(&cluster).await;
    for key in ["/registry/events/a", "/registry/events/b"] {
        create(&store, key, Some(HOUR)).await.unwrap();
    }
    create(&store, "/registry/events/c", Some(HOUR * 2)).await.unwrap();
    let lease = lease_of(&mut client, "/registry/events/a").await;
    assert_eq!(lease_of(&mut client, "/registry/events/b").await, lease);
    assert_ne!(lease_of(&mut client, "/registry/events/c").await, lease);
    let options = LeaseTimeToLiveOptions::new().with_keys();
    let granted = client.lease_client().time_to_live(lease, Some(options)).await.unwrap();
    assert_eq!((granted.granted_ttl(), granted.keys().len()), (3660, 2));
}

#[tokio::test]
async fn a_revoked_lease_is_replaced() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let mut client = client(&cluster).await;
    create(&store, "/registry/events/a", Some(HOUR)).await.unwrap();
    let lease = lease_of(&mut client, "/registry/events/a").await;
    client.lease_client().revoke(lease).await.unwrap();
    create(&store, "/registry/events/b", Some(HOUR)).await.unwrap();
    assert_ne!(lease_of(&mut client, "/registry/events/b").await, lease);
}

/// The items of a watch up to progress at `revision`: `key@revision` of events, `p@revision` of progress.
async fn items_until(watch: &mut WatchStream, revision: i64) -> Vec<String> {
    let mut items = Vec::new();
    loop {
        match timeout(PATIENCE, watch.next()).await.expect("the watch goes on").unwrap().unwrap() {
            WatchItem::Event(event) => items.push(format!("{}@{}", event.kv.key, event.kv.mod_revision)),
            WatchItem::Progress(at) => {
                items.push(format!("p@{at}"));
                if at >= revision {
                    return items;
                }
            }
        }
    }
}

/// Neither this store nor upstream writes several keys at once, but expiring leases do, and operators may.
#[tokio::test]
async fn progress_follows_all_events_of_a_revision() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let mut client = client(&cluster).await;
    let options = WatchOptions { progress: true, ..WatchOptions::default() };
    let mut watch = store.watch("/", options.clone()).await.unwrap();
    let lease = client.lease_grant(3600, None).await.unwrap().id();
    let put = |key| TxnOp::put(key, "x", Some(PutOptions::new().with_lease(lease)));
    let keys = ["/a", "/b", "/c"];
    let put = client.txn(Txn::new().and_then(keys.map(put))).await.unwrap();
    let put = put.header().unwrap().revision();
    client.lease_revoke(lease).await.unwrap();
    let deleted = store.current_revision().await.unwrap();
    assert_eq!(deleted, put + 1);
    let expected =
        [put, deleted].map(|at| [&keys.map(|key| format!("{key}@{at}"))[..], &[format!("p@{at}")]].concat());
    assert_eq!(items_until(&mut watch, deleted).await, expected.concat());

    // A watch that catches up gets several revisions as one batch.
    let mut resumed = store.watch("/", WatchOptions { start: put, ..options }).await.unwrap();
    let mut items = items_until(&mut resumed, deleted).await;
    items.retain(|item| *item != format!("p@{put}"));
    assert_eq!(
        items,
        expected.concat().into_iter().filter(|item| *item != format!("p@{put}")).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn oversized_values_are_rejected() {
    let cluster = shared().await;
    let store = cluster.store().await;
    for megabytes in [2, 16] {
        let value = Bytes::from(vec![0; megabytes << 20]);
        let result = store.put("/registry/large", value, 0, None).await;
        assert!(matches!(result, Err(Error::Rejected(_))), "{megabytes} MiB: {result:?}");
    }
    assert_eq!(store.get("/registry/large").await.unwrap().kv, None);
}

#[tokio::test]
async fn lists_may_exceed_default_grpc_message_size() {
    let cluster = shared().await;
    let store = cluster.store().await;
    for n in 0..6 {
        let value = Bytes::from(vec![n; 1 << 20]);
        store.put(&format!("/registry/bulk/{n}"), value, 0, None).await.unwrap();
    }
    let listing = store.list("/registry/bulk/", ListOptions::default()).await.unwrap();
    assert_eq!(listing.kvs.iter().map(|kv| kv.value.len()).sum::<usize>(), 6 << 20);
}

/// etcd splits a batch of events into messages of its request limit, which an operator can increase.
#[tokio::test]
async fn watches_may_exceed_default_grpc_message_size() {
    const BYTES: usize = 6 << 20;
    let args = [format!("--max-request-bytes={}", 4 * BYTES)];
    let cluster = Cluster::start(1, "http", &args, |options| options).await;
    let store = cluster.store().await;
    let start = store.current_revision().await.unwrap() + 1;
    let options = WatchOptions { start, prev_kv: true, ..WatchOptions::default() };
    let mut live = store.watch("/large/", options.clone()).await.unwrap();
    let mut last = 0;
    for n in 0..3 {
        let written = store.put("/large/a", Bytes::from(vec![n; BYTES]), last, None).await.unwrap();
        let PutResult::Done(revision) = written else { panic!("{written:?}") };
        last = revision;
    }
    let mut late = store.watch("/large/", options).await.unwrap();
    for watch in [&mut live, &mut late] {
        for n in 0..3 {
            let item = timeout(PATIENCE, watch.next()).await.expect("the watch goes on").unwrap().unwrap();
            let WatchItem::Event(event) = item else { panic!("{item:?}") };
            assert_eq!((event.kv.value.len(), event.kv.value[0]), (BYTES, n));
            assert_eq!(event.prev.map(|kv| kv.value.len()), (n > 0).then_some(BYTES));
        }
    }
    assert_eq!(store.get("/large/a").await.unwrap().kv.unwrap().value.len(), BYTES);
}

#[tokio::test]
async fn full_store_rejects_writes_and_serves_reads() {
    let args = ["--quota-backend-bytes=1048576".to_owned()];
    let cluster = Cluster::start(1, "http", &args, |options| options).await;
    let store = cluster.store().await;
    // etcd enforces the quota on commit, so the number of writes before it is not determined.
    let fill = async {
        for n in 0.. {
            let value = Bytes::from(vec![0; 64 << 10]);
            if let Err(error) = store.put(&format!("/registry/fill/{n}"), value, 0, None).await {
                return Some(error);
            }
        }
        None
    };
    let refused = timeout(PATIENCE, fill).await.expect("the store is full some day");
    assert!(matches!(&refused, Some(Error::Rejected(text)) if text.contains("space")), "{refused:?}");
    assert!(store.get("/registry/fill/0").await.unwrap().kv.is_some());
}

#[tokio::test]
async fn future_revision_error_has_current_revision() {
    let cluster = shared().await;
    let store = cluster.store().await;
    let options = ListOptions { revision: i64::MAX - 1, ..ListOptions::default() };
    let result = store.list("/registry/", options).await;
    let Err(Error::FutureRevision { requested, current }) = result else { panic!("{result:?}") };
    assert_eq!(requested, i64::MAX - 1);
    assert!(current > 0 && current <= store.current_revision().await.unwrap());
}

#[tokio::test]
async fn list_outside_its_prefix_is_rejected() {
    let cluster = shared().await;
    let options = ListOptions { start: Some("/registry/b/".to_owned()), ..ListOptions::default() };
    let result = cluster.store().await.list("/registry/a/", options).await;
    assert!(matches!(result, Err(Error::Rejected(_))), "{result:?}");
}

#[tokio::test]
async fn unreachable_cluster_fails_in_time() {
    let mut options = Options::new([format!("http://127.0.0.1:{}", free_port())]);
    options.request_timeout = Duration::from_millis(300);
    options.health_timeout = Duration::from_millis(300);
    let store = Etcd::new(options).await.unwrap();
    let unavailable = |error: Option<Error>| matches!(error, Some(Error::Unavailable(_)));
    assert!(unavailable(store.healthy().await.err()));
    assert!(unavailable(store.get("/registry/a").await.err()));
    assert!(unavailable(create(&store, "/registry/a", None).await.err()));
    assert!(unavailable(create(&store, "/registry/a", Some(HOUR)).await.err()));
    assert!(unavailable(store.watch("/registry/", storage::WatchOptions::default()).await.err()));
}

#[tokio::test]
async fn invalid_options_are_rejected() {
    for endpoints in [vec![], vec!["ftp://127.0.0.1:1".to_owned()]] {
        let result = Etcd::new(Options::new(endpoints)).await.map(|_| ());
        assert!(matches!(result, Err(Error::Rejected(_))), "{result:?}");
    }
}

#[tokio::test]
async fn replicas_coordinate_compaction_by_shared_key() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let mut first = Compactor::default();
    let mut second = Compactor::default();
    assert_eq!(first.round(&store).await.unwrap(), Compacted::NotYet);
    assert_eq!(second.round(&store).await.unwrap(), Compacted::NotYet);
    let first_round_revision = store.current_revision().await.unwrap();
    create(&store, "/registry/a", None).await.unwrap();
    let Compacted::ThisServer(compacted) = first.round(&store).await.unwrap() else {
        panic!("the first compacts")
    };
    assert_eq!(second.round(&store).await.unwrap(), Compacted::OtherServer(compacted));
    assert_eq!(compacted, first_round_revision);
    let options = ListOptions { revision: compacted - 1, ..ListOptions::default() };
    assert!(matches!(store.list("/registry/", options).await, Err(Error::Compacted { .. })));
    let key = store.get(COMPACT_REV_KEY).await.unwrap().kv.unwrap();
    assert_eq!(key.value, Bytes::from(compacted.to_string()));
}

/// Waits until a store reports a compaction to exactly `revision`.
async fn hears(store: &Etcd, revision: i64) {
    let mut compacted = store.compacted();
    let heard = timeout(PATIENCE, compacted.wait_for(|heard| *heard >= revision)).await;
    assert_eq!(*heard.expect("it is heard of in time").unwrap(), revision);
}

#[tokio::test]
async fn replicas_observe_compactions_of_others() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let early = cluster.store().await;
    let first = early.compacted();
    let mut compactor = Compactor::default();
    assert_eq!(compactor.round(&store).await.unwrap(), Compacted::NotYet);
    for _ in 0..3 {
        create_next(&store).await;
        let Compacted::ThisServer(revision) = compactor.round(&store).await.unwrap() else {
            panic!("it compacts")
        };
        hears(&store, revision).await;
        hears(&early, revision).await;
        // A store that starts later reads the key's value.
        hears(&*cluster.store().await, revision).await;
    }
    assert!(first.has_changed().unwrap());
    drop(early);
    timeout(PATIENCE, first.clone().wait_for(|_| false))
        .await
        .expect("the feed ends with its store")
        .unwrap_err();
}

/// Any client can write the key.
#[tokio::test]
async fn only_later_announced_revisions_count() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let mut client = client(&cluster).await;
    assert_eq!(*store.compacted().borrow(), 0);
    for value in ["0", "7", "nonsense", "-1", "3", ""] {
        client.put(COMPACT_REV_KEY, value, None).await.unwrap();
    }
    client.delete(COMPACT_REV_KEY, None).await.unwrap();
    hears(&store, 7).await;
    client.put(COMPACT_REV_KEY, "9", None).await.unwrap();
    hears(&store, 9).await;
}
