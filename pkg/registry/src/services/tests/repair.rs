//! Tests of repairs.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use jsontree::{Value, json};

use super::super::tests::Server;
use super::*;

#[tokio::test]
async fn ports_are_allocated_after_first_repair() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_007}]})).await;
    let empty = Allocation::new("30000-30099".to_owned(), Bitmap::default());
    let revision = server.services.pools.ports.read().await.unwrap().1;
    assert!(server.services.pools.ports.replace(&empty, revision).await.unwrap());
    assert_eq!(server.ports().await, BTreeSet::new());
    server.services.repair_ports(&mut Leaks::default()).await.unwrap();
    assert_eq!(server.ports().await, BTreeSet::from([30_007]));
    let first_revision = server.services.pools.ports.read().await.unwrap().1;
    server.services.repair_ports(&mut Leaks::default()).await.unwrap();
    assert_eq!(server.services.pools.ports.read().await.unwrap().1, first_revision, "nothing to write");
}

#[tokio::test]
async fn leaked_port_is_released_by_third_repair() {
    let server = Server::with_ranges(&[]).await;
    let mut bitmap = Bitmap::default();
    assert!(bitmap.insert(7));
    let revision = server.services.pools.ports.read().await.unwrap().1;
    let leaked = Allocation::new("30000-30099".to_owned(), bitmap);
    assert!(server.services.pools.ports.replace(&leaked, revision).await.unwrap());
    let mut leaks = Leaks::default();
    let mut counts = Vec::new();
    for _ in 0..3 {
        server.services.repair_ports(&mut leaks).await.unwrap();
        counts.push(server.ports().await.len());
    }
    assert_eq!(counts, [1, 1, 0]);
}

#[test]
fn leak_counter_resets_when_service_appears() {
    let range = PortRange::new(&(30_000..=30_099));
    let service = |port: i64| -> Vec<Object> {
        let service =
            json!({"metadata": {"name": "a"}, "spec": {"ports": [{"nodePort": port, "protocol": "TCP"}]}});
        service.as_object().cloned().into_iter().collect()
    };
    let mut leaks = Leaks::default();
    let mut pass = |services: &[Object]| {
        let (bitmap, current_leaks) = rebuild(range, &[30_007], services, &leaks);
        leaks = current_leaks;
        bitmap.members().collect::<Vec<_>>()
    };
    assert_eq!(pass(&[]), [7]);
    assert_eq!(pass(&[]), [7]);
    assert_eq!(pass(&service(30_007)), [7]);
    assert_eq!(pass(&[]), [7]);
    // A port outside the current range is left to its service.
    assert_eq!(pass(&service(80)), [7]);
    assert_eq!(pass(&[]), [0_u32; 0]);
}

#[test]
fn a_port_of_several_protocols_is_one() {
    let check = |spec: Value, expected: &[i64]| {
        let service = json!({"spec": spec});
        assert_eq!(distinct_ports(service.as_object().unwrap()), expected, "{spec}");
    };
    let port = |port: i64, protocol: &str| json!({"nodePort": port, "protocol": protocol});
    check(json!({"ports": [port(1, "TCP"), port(1, "UDP"), port(0, "TCP")]}), &[1]);
    check(json!({"ports": [port(1, "TCP"), port(1, "TCP")]}), &[1, 1]);
    check(json!({"ports": [port(1, "UDP")], "healthCheckNodePort": 1}), &[1]);
    check(json!({"ports": [port(1, "TCP")], "healthCheckNodePort": 1}), &[1, 1]);
    check(json!({"ports": [port(1, "TCP")], "healthCheckNodePort": 2}), &[1, 2]);
}

#[tokio::test]
async fn missing_ip_address_object_is_recreated() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"clusterIP": "10.0.0.9", "ports": [{"port": 80}]})).await;
    server.delete("ipaddresses", "10.0.0.9", false).await;
    server.services.repair_addresses().await.unwrap();
    assert_eq!(server.addresses().await, BTreeSet::from(["10.0.0.9".to_owned()]));
    // An object of another owner, and one without this allocator's labels.
    for parent in [
        json!({"resource": "services", "namespace": "ns", "name": "b"}),
        json!({"group": "gateway.networking.k8s.io", "resource": "gateways", "namespace": "ns", "name": "a"}),
    ] {
        server.delete("ipaddresses", "10.0.0.9", false).await;
        let stranger = json!({"metadata": {"name": "10.0.0.9"}, "spec": {"parentRef": parent}});
        server.create("networking.k8s.io", "ipaddresses", "", stranger, false).await.unwrap();
        server.services.repair_addresses().await.unwrap();
        let all = server.services.pools.addresses.all().await.unwrap();
        let owner = owner(all.first().unwrap()).unwrap();
        assert_eq!((&*owner.namespace, &*owner.name, all.len()), ("ns", "a", 1));
        assert_eq!(label(all.first().unwrap(), MANAGED_BY_LABEL), MANAGED_BY);
    }
}

/// Everything that a repair has read.
struct Read {
    services: Vec<Object>,
    addresses: Vec<Object>,
    ranges: Vec<RangeState>,
}

impl Read {
    async fn new(server: &Server) -> Self {
        let pool = &server.services.pools.addresses;
        let services = server.services.all_services().await.unwrap().items;
        Read { services, addresses: pool.all().await.unwrap(), ranges: pool.ranges().await.unwrap() }
    }
}

fn spec_with_address() -> Value {
    json!({"clusterIP": "10.0.0.9", "ports": [{"port": 80}]})
}

#[tokio::test]
async fn deleted_service_gets_no_address() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", spec_with_address()).await;
    let Read { services, ranges, .. } = Read::new(&server).await;
    server.delete("services", "a", false).await;
    let holding = &service_addresses(&services[0])[0];
    server.services.repair_address(&services[0], holding, None, &HashSet::new(), &ranges).await.unwrap();
    assert_eq!(server.addresses().await, BTreeSet::new());
    // The service is deleted just before the object is created.
    let number = parse_address(&holding.address).unwrap();
    server.services.restore_address(&services[0], holding, number).await.unwrap();
    assert_eq!(server.addresses().await, BTreeSet::new());
}

#[tokio::test]
async fn reallocated_address_keeps_its_object() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", spec_with_address()).await;
    let before = Read::new(&server).await;
    server.delete("services", "a", false).await;
    server.post("b", spec_with_address()).await;
    let after = Read::new(&server).await;
    let service = &after.services[0];
    let holding = &service_addresses(service)[0];
    let object = before.addresses.first();
    server.services.repair_address(service, holding, object, &HashSet::new(), &after.ranges).await.unwrap();
    assert_eq!(server.services.pools.addresses.all().await.unwrap(), after.addresses);
}

/// Stores a service as a server from before IP families wrote it.
async fn store_old_service(server: &Server) {
    let old = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "old", "namespace": "ns", "uid": "u"},
        "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.11", "ports": [{"port": 81}]},
    });
    server.store.put("/registry/services/specs/ns/old", old.to_string().into(), 0, None).await.unwrap();
}

#[tokio::test]
async fn service_without_families_gets_address_object() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    store_old_service(&server).await;
    server.services.repair_addresses().await.unwrap();
    let address = BTreeSet::from(["10.0.0.11".to_owned()]);
    assert_eq!(server.addresses().await, address);
    server.clock.advance_seconds(61);
    server.services.repair_addresses().await.unwrap();
    assert_eq!(server.addresses().await, address, "it belongs to the service");
}

#[tokio::test]
async fn service_without_address_object_is_detected() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let deadline = Instant::now() + std::time::Duration::from_secs(1);
    let mut changes = server.services.watch(deadline).await.unwrap();
    server.post("fine", json!({"ports": [{"port": 80}]})).await;
    store_old_service(&server).await;
    assert!(server.services.next_without_address(&mut changes).await);
    server.services.repair_addresses().await.unwrap();
    server.post("also-fine", json!({"ports": [{"port": 80}]})).await;
    assert!(!server.services.next_without_address(&mut changes).await);
}

#[tokio::test]
async fn leaked_address_is_released_after_grace_period() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let of = |name: &str, labels: Value| {
        json!({"metadata": {"name": name, "labels": labels},
            "spec": {"parentRef": {"resource": "services", "namespace": "ns", "name": "gone"}}})
    };
    let managed = of("10.0.0.9", json!({MANAGED_BY_LABEL: MANAGED_BY, FAMILY_LABEL: "IPv4"}));
    for object in [managed, of("10.0.0.10", json!({}))] {
        server.create("networking.k8s.io", "ipaddresses", "", object, false).await.unwrap();
    }
    server.services.repair_addresses().await.unwrap();
    assert_eq!(server.addresses().await.len(), 2, "it may be of a service that is being written");
    server.clock.advance_seconds(61);
    server.services.repair_addresses().await.unwrap();
    assert_eq!(server.addresses().await, BTreeSet::from(["10.0.0.10".to_owned()]), "others' stay");
}

#[tokio::test]
async fn missing_ranges_are_detected() {
    let server = Server::with_ranges(&[]).await;
    assert!(!server.services.has_unallocated_addresses().await.unwrap());
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"ports": [{"port": 80}]})).await;
    assert!(!server.services.has_unallocated_addresses().await.unwrap());
    server.delete("servicecidrs", "kubernetes", false).await;
    assert!(server.services.has_unallocated_addresses().await.unwrap());
}

#[tokio::test]
async fn unreadable_service_keeps_its_port() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30_007}]})).await;
    let key = "/registry/services/specs/ns/a";
    let revision = server.store.get(key).await.unwrap().kv.unwrap().mod_revision;
    server.store.put(key, "damaged".into(), revision, None).await.unwrap();
    let mut leaks = Leaks::default();
    for _ in 0..4 {
        server.services.repair_ports(&mut leaks).await.unwrap();
    }
    assert_eq!(server.ports().await, BTreeSet::from([30_007]));
}
