//! Tests of in-process reads and writes.
#![allow(clippy::unwrap_used, clippy::panic)]

use api::options::Preconditions;
use jsontree::json;
use schema::object;
use storage::Storage;

use super::*;
use crate::testing::{Cluster, config_map, object};

fn datum(object: &Object) -> &str {
    object::get_str(object, &["data", "datum"]).unwrap_or("")
}

fn with_datum(old: &Object, datum: &str) -> Object {
    let mut new = old.clone();
    object::set(&mut new, &["data", "datum"], datum);
    new
}

/// Manager, operation and subresource of each entry.
fn managers(object: &Object) -> Vec<(String, String, String)> {
    let entries = object::get_list(object, &["metadata", "managedFields"]);
    let text = |entry: &Value, member: &str| entry[member].as_str().unwrap_or("").to_owned();
    entries.iter().map(|e| (text(e, "manager"), text(e, "operation"), text(e, "subresource"))).collect()
}

fn entry(manager: &str, operation: &str, subresource: &str) -> (String, String, String) {
    (manager.to_owned(), operation.to_owned(), subresource.to_owned())
}

fn failure<T>(result: Result<T>) -> (u16, Reason) {
    result.map_err(|status| (status.code, status.reason)).err().unwrap()
}

#[tokio::test]
async fn created_object_has_managed_fields() {
    for cached in [true, false] {
        let cluster = Cluster::empty(cached).await;
        let client = cluster.client("configmaps").with_field_manager("keeper");
        assert_eq!(client.get("ns", "a", ReadFreshness::Latest).await.unwrap(), None);
        let created = client.create(config_map("a", "1")).await.unwrap();
        assert_eq!(managers(&created), [entry("keeper", "Update", "")]);
        assert_eq!(client.get("ns", "a", ReadFreshness::Latest).await.unwrap().as_ref(), Some(&created));
        assert_eq!(client.list("ns", ReadFreshness::Latest).await.unwrap(), [created]);
        assert_eq!(client.list("other", ReadFreshness::Latest).await.unwrap(), []);
        assert_eq!(failure(client.create(config_map("a", "1")).await), (409, Reason::AlreadyExists));
    }
}

#[tokio::test]
async fn update_uses_stored_state() {
    let cluster = Cluster::empty(false).await;
    let client = cluster.client("configmaps");
    client.create(config_map("a", "1")).await.unwrap();
    let mut data = Vec::new();
    let rival = b"{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\",\"uid\":\"u\"},\"data\":{\"datum\":\"2\"}}";
    let mut change = |old: &Object| {
        data.push(datum(old).to_owned());
        if data.len() == 1 {
            futures::executor::block_on(cluster.store_raw("/registry/configmaps/ns/a", rival));
        }
        Ok(with_datum(old, "3"))
    };
    let updated = client.update("ns", "a", &mut change).await.unwrap();
    assert_eq!((datum(&updated), data), ("3", vec!["1".to_owned(), "2".to_owned()]));
    let missing = client.update("ns", "b", &mut |old| Ok(old.clone())).await;
    assert_eq!(failure(missing), (404, Reason::NotFound));
}

#[tokio::test]
async fn stale_state_is_not_written_or_deleted() {
    let cluster = Cluster::empty(true).await;
    let client = cluster.client("configmaps");
    let first = client.create(config_map("a", "1")).await.unwrap();
    let second = client.update("ns", "a", &mut |old| Ok(with_datum(old, "2"))).await.unwrap();
    let stale = client.update("ns", "a", &mut |_| Ok(with_datum(&first, "3"))).await;
    assert_eq!(failure(stale), (409, Reason::Conflict));
    assert_eq!(failure(client.delete_exact(&first).await), (409, Reason::Conflict));
    let different_uid = Preconditions { uid: Some("other".to_owned()), ..Preconditions::default() };
    assert_eq!(failure(client.delete("ns", "a", different_uid).await), (409, Reason::Conflict));
    assert!(client.delete_exact(&second).await.unwrap());
    assert!(!client.delete("ns", "a", Preconditions::default()).await.unwrap());
}

#[tokio::test]
async fn status_is_updated_through_subresource() {
    let cluster = Cluster::empty(false).await;
    let client = cluster.client("resourcequotas");
    let quota = json!({"metadata": {"name": "q", "namespace": "ns"}, "spec": {"hard": {"pods": "1"}}});
    client.create(object(quota)).await.unwrap();
    let status = client.clone().with_subresource("status").unwrap();
    let mut change = |old: &Object| {
        let mut new = old.clone();
        object::set(&mut new, &["spec", "hard", "pods"], "2");
        object::set(&mut new, &["status", "used", "pods"], "1");
        Ok(new)
    };
    let updated = status.update("ns", "q", &mut change).await.unwrap();
    let pods = |quota: &Object, path: &[&str]| object::get_str(quota, path).map(str::to_owned);
    let expected = (Some("1".to_owned()), Some("1".to_owned()));
    assert_eq!(
        (pods(&updated, &["spec", "hard", "pods"]), pods(&updated, &["status", "used", "pods"])),
        expected
    );
    let configuration = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"},
        "status": {"used": {"pods": "0"}},
    });
    let applied = status.with_field_manager("counter").apply("ns", "q", &configuration).await.unwrap();
    assert_eq!(pods(&applied, &["status", "used", "pods"]), Some("0".to_owned()));
    assert!(managers(&applied).contains(&entry("counter", "Apply", "status")), "{:?}", managers(&applied));
    assert!(managers(&applied).contains(&entry(FIELD_MANAGER, "Update", "")));
}

#[tokio::test]
async fn reconcile_writes_only_differences() {
    let cluster = Cluster::empty(true).await;
    let client = cluster.client("configmaps");
    let desired = |current: Option<&Object>| match current {
        None => Some(config_map("a", "1")),
        Some(current) => (datum(current) != "1").then(|| with_datum(current, "1")),
    };
    assert!(client.reconcile("ns", "a", &desired).await.unwrap().written);
    let revision = cluster.memory.current_revision().await.unwrap();
    let reconciled = client.reconcile("ns", "a", &desired).await.unwrap();
    assert_eq!((reconciled.written, datum(&reconciled.object.unwrap())), (false, "1"));
    assert_eq!(cluster.memory.current_revision().await.unwrap(), revision);
    client.update("ns", "a", &mut |old| Ok(with_datum(old, "2"))).await.unwrap();
    client.list("ns", ReadFreshness::Latest).await.unwrap();
    let reconciled = client.reconcile("ns", "a", &desired).await.unwrap();
    assert_eq!((reconciled.written, datum(&reconciled.object.unwrap())), (true, "1"));
    let reconciled = client.reconcile("ns", "b", &|_| None).await.unwrap();
    assert_eq!((reconciled.written, reconciled.object), (false, None));
}

#[tokio::test]
async fn object_missing_from_store_is_recreated() {
    let cluster = Cluster::empty(true).await;
    let client = cluster.client("configmaps");
    let desired = |current: Option<&Object>| match current {
        None => Some(config_map("a", "new")),
        Some(current) => Some(with_datum(current, "changed")),
    };
    for _ in 0..50 {
        client.create(config_map("a", "old")).await.unwrap();
        client.list("ns", ReadFreshness::Latest).await.unwrap();
        client.delete("ns", "a", Preconditions::default()).await.unwrap();
        let reconciled = client.reconcile("ns", "a", &desired).await.unwrap();
        assert_eq!((reconciled.written, datum(&reconciled.object.unwrap())), (true, "new"));
        client.delete("ns", "a", Preconditions::default()).await.unwrap();
    }
}
