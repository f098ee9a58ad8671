//! What etcd answers at its limits, and what is particular to it: leases, quota, the compaction
//! protocol.

use std::time::Duration;

use bytes::Bytes;
use etcd_client::LeaseTimeToLiveOptions;
use storage::{Error, ListOptions, Storage, Written};
use storage_etcd3::{COMPACT_REV_KEY, Compacted, Compactor, Etcd, Options};

use tokio::time::timeout;

use crate::server::{Cluster, free_port, shared};

const HOUR: Duration = Duration::from_secs(3600);
const PATIENCE: Duration = Duration::from_secs(60);

async fn create(store: &Etcd, key: &str, ttl: Option<Duration>) -> Result<Written, Error> {
    store.put(key, Bytes::from_static(b"x"), 0, ttl).await
}

async fn client(cluster: &Cluster) -> etcd_client::Client {
    etcd_client::Client::connect([cluster.members[0].url()], None).await.unwrap()
}

/// The id of the lease that a key is attached to.
async fn lease_of(client: &mut etcd_client::Client, key: &str) -> i64 {
    client.get(key, None).await.unwrap().kvs()[0].lease()
}

#[tokio::test]
async fn keys_of_one_ttl_share_a_lease_that_outlives_it_a_little() {
    let cluster = Cluster::single().await;
    let (store, mut client) = (cluster.store().await, client(&cluster).await);
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
    let (store, mut client) = (cluster.store().await, client(&cluster).await);
    create(&store, "/registry/events/a", Some(HOUR)).await.unwrap();
    let lease = lease_of(&mut client, "/registry/events/a").await;
    client.lease_client().revoke(lease).await.unwrap();
    create(&store, "/registry/events/b", Some(HOUR)).await.unwrap();
    assert_ne!(lease_of(&mut client, "/registry/events/b").await, lease);
}

#[tokio::test]
async fn a_value_that_is_too_large_is_refused() {
    let cluster = shared().await;
    let store = cluster.store().await;
    for megabytes in [2, 16] {
        let value = Bytes::from(vec![0; megabytes << 20]);
        let result = store.put("/registry/large", value, 0, None).await;
        assert!(matches!(result, Err(Error::Refused(_))), "{megabytes} MiB: {result:?}");
    }
    assert_eq!(store.get("/registry/large").await.unwrap().kv, None);
}

#[tokio::test]
async fn lists_are_not_limited_to_grpc_default_message_size() {
    let cluster = shared().await;
    let store = cluster.store().await;
    for n in 0..6 {
        let value = Bytes::from(vec![n; 1 << 20]);
        store.put(&format!("/registry/bulk/{n}"), value, 0, None).await.unwrap();
    }
    let listing = store.list("/registry/bulk/", ListOptions::default()).await.unwrap();
    assert_eq!(listing.kvs.iter().map(|kv| kv.value.len()).sum::<usize>(), 6 << 20);
}

#[tokio::test]
async fn a_full_store_refuses_writes_and_serves_reads() {
    let args = ["--quota-backend-bytes=1048576".to_owned()];
    let cluster = Cluster::start(1, "http", &args, |options| options).await;
    let store = cluster.store().await;
    // etcd notices when it commits, so how many writes pass is its affair.
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
    assert!(matches!(&refused, Some(Error::Refused(text)) if text.contains("space")), "{refused:?}");
    assert!(store.get("/registry/fill/0").await.unwrap().kv.is_some());
}

#[tokio::test]
async fn a_future_revision_is_told_with_the_current_one() {
    let cluster = shared().await;
    let store = cluster.store().await;
    let options = ListOptions { revision: i64::MAX - 1, ..ListOptions::default() };
    let result = store.list("/registry/", options).await;
    let Err(Error::FutureRevision { requested, current }) = result else { panic!("{result:?}") };
    assert_eq!(requested, i64::MAX - 1);
    assert!(current > 0 && current <= store.current_revision().await.unwrap());
}

#[tokio::test]
async fn a_list_that_would_leave_its_prefix_is_refused() {
    let cluster = shared().await;
    let options = ListOptions { start: Some("/registry/b/".to_owned()), ..ListOptions::default() };
    let result = cluster.store().await.list("/registry/a/", options).await;
    assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
}

#[tokio::test]
async fn nobody_there_is_told_in_time() {
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
async fn options_that_cannot_work_are_refused_at_once() {
    for endpoints in [vec![], vec!["ftp://127.0.0.1:1".to_owned()]] {
        let result = Etcd::new(Options::new(endpoints)).await.map(|_| ());
        assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
    }
}

#[tokio::test]
async fn replicas_take_turns_at_compaction_through_the_shared_key() {
    let cluster = Cluster::single().await;
    let store = cluster.store().await;
    let (mut first, mut second) = (Compactor::default(), Compactor::default());
    assert_eq!(first.round(&store).await.unwrap(), Compacted::Nothing);
    assert_eq!(second.round(&store).await.unwrap(), Compacted::Nothing);
    let seen = store.current_revision().await.unwrap();
    create(&store, "/registry/a", None).await.unwrap();
    let Compacted::Here(compacted) = first.round(&store).await.unwrap() else { panic!("the first compacts") };
    assert_eq!(second.round(&store).await.unwrap(), Compacted::Elsewhere(compacted));
    assert_eq!(compacted, seen);
    let options = ListOptions { revision: compacted - 1, ..ListOptions::default() };
    assert!(matches!(store.list("/registry/", options).await, Err(Error::Compacted { .. })));
    let key = store.get(COMPACT_REV_KEY).await.unwrap().kv.unwrap();
    assert_eq!(key.value, Bytes::from(compacted.to_string()));
}
