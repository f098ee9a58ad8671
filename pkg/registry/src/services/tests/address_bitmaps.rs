//! Tests of allocations that are also written to bitmaps for older servers.

use super::super::port_store::Allocation;
use super::*;

const KEY: &str = "/registry/ranges/serviceips";
const RANGE: &str = "10.0.0.0/29";

async fn server(bitmap_ranges: &[&str]) -> Server {
    let store: Arc<dyn Storage> = Arc::new(Memory::new());
    let families = Families { primary: Family::V4, dual: false };
    let server = Server::with_bitmaps(&store, 1, families, 30_000..=30_099, bitmap_ranges);
    server.add_ranges("kubernetes", &[RANGE]).await;
    server.services.repair_ports(&mut Leaks::default()).await.unwrap();
    server
}

/// The range and the members of the stored bitmap; `None` if there is none.
async fn stored(server: &Server) -> Option<(String, Vec<u32>)> {
    let kv = server.store.get(KEY).await.unwrap().kv?;
    let Allocation { range, allocated, .. } = Allocation::decode(&kv.value).unwrap();
    Some((range, allocated.members().collect()))
}

async fn post(server: &Server, name: &str, address: &str) -> Result<Value> {
    let spec = if address.is_empty() { json!({}) } else { json!({"clusterIP": address}) };
    let mut spec = object(spec);
    spec.insert("ports", one_port());
    server.try_post(name, Value::Object(spec), false).await
}

#[tokio::test]
async fn addresses_are_reserved_in_the_bitmap() {
    let server = server(&[RANGE]).await;
    assert_eq!(stored(&server).await, None);
    post(&server, "a", "10.0.0.3").await.unwrap();
    assert_eq!(stored(&server).await, Some((RANGE.to_owned(), vec![2])));
    let taken = "Service \"b\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.3\"]: failed to allocate IP \
                 10.0.0.3: provided IP is already allocated";
    assert_eq!(failure(post(&server, "b", "10.0.0.3").await), (422, taken.to_owned()));
    for name in ["b", "c", "d", "e", "f"] {
        post(&server, name, "").await.unwrap();
    }
    assert_eq!(stored(&server).await, Some((RANGE.to_owned(), (0..6).collect())));
    assert!(post(&server, "g", "").await.is_err());
    server.delete("services", "a", false).await;
    assert_eq!(stored(&server).await, Some((RANGE.to_owned(), vec![0, 1, 3, 4, 5])));
}

#[tokio::test]
async fn rejected_service_leaves_the_bitmap_unchanged() {
    let server = server(&[RANGE]).await;
    post(&server, "a", "10.0.0.3").await.unwrap();
    assert!(post(&server, "b", "10.0.0.7").await.is_err());
    assert!(post(&server, "a", "10.0.0.4").await.is_err());
    assert_eq!(stored(&server).await, Some((RANGE.to_owned(), vec![2])));
}

#[tokio::test]
async fn addresses_missing_in_the_bitmap_are_skipped() {
    let server = server(&[RANGE]).await;
    let other = object(json!({"metadata": {"name": "other", "namespace": NAMESPACE}}));
    for address in ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"] {
        server.services.pools.addresses.create(&other, address.parse().unwrap()).await.unwrap();
    }
    for name in ["a", "b"] {
        post(&server, name, "").await.unwrap();
    }
    assert_eq!(server.addresses().await.len(), 6);
}

#[tokio::test]
async fn other_range_in_the_bitmap_rejects_addresses() {
    let server = server(&["10.0.0.0/28"]).await;
    post(&server, "a", "10.0.0.3").await.unwrap();
    let other = Server::with_bitmaps(
        &server.store,
        2,
        Families { primary: Family::V4, dual: false },
        30_000..=30_099,
        &[RANGE],
    );
    let (code, text) = failure(post(&other, "b", "10.0.0.4").await);
    assert_eq!(
        (code, text.contains("the provided range does not match the current range")),
        (500, true),
        "{text}"
    );
}

#[tokio::test]
async fn no_bitmap_without_its_range() {
    let server = server(&[]).await;
    post(&server, "a", "").await.unwrap();
    assert_eq!(stored(&server).await, None);
}
