//! Tests of allocation and release by one server.

use super::*;

#[tokio::test]
async fn an_address_is_an_object_of_its_name() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let spec = server.post("a", json!({"ports": one_port()})).await;
    let address = spec["clusterIP"].as_str().unwrap();
    assert_eq!(spec["clusterIPs"], json!([address]));
    assert_eq!((&spec["ipFamilies"], &spec["ipFamilyPolicy"]), (&json!(["IPv4"]), &json!("SingleStack")));
    let object = server.get("ipaddresses", address).await;
    let labels = json!({
        "ipaddress.kubernetes.io/ip-family": "IPv4",
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    });
    assert_eq!(object["metadata"]["labels"], labels);
    assert_eq!(
        object["spec"]["parentRef"],
        json!({"resource": "services", "namespace": NAMESPACE, "name": "a"})
    );
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "kube-apiserver");
    server.assert_settled("a creation").await;
    server.delete("services", "a", false).await;
    assert_eq!(server.addresses().await, BTreeSet::new());
}

#[tokio::test]
async fn unavailable_addresses_are_rejected() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("first", json!({"clusterIP": "10.0.0.9", "ports": one_port()})).await;
    let check = async |requested: &str, reason: &str| {
        let result = server.try_post("a", json!({"clusterIP": requested, "ports": one_port()}), false).await;
        let text = format!(
            "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"{requested}\"]: failed to allocate IP \
             {requested}: {reason}"
        );
        assert_eq!(failure(result), (422, text));
    };
    let elsewhere = "the provided network does not match the current range";
    for requested in ["10.1.0.5", "10.0.0.0", "10.0.0.255"] {
        check(requested, elsewhere).await;
    }
    check("10.0.0.9", "provided IP is already allocated").await;
    server.assert_settled("refusals").await;
}

#[tokio::test]
async fn only_ready_ranges_allocate() {
    let server = Server::with_ranges(&[]).await;
    let post = async |name: &str| server.try_post(name, json!({"ports": one_port()}), false).await;
    let full = "Internal error occurred: failed to allocate a serviceIP for Service \"a\": range is full";
    assert_eq!(failure(post("a").await), (500, full.to_owned()));
    server.add_ranges("kubernetes", &["10.0.0.0/30"]).await;
    for name in ["x", "y"] {
        post(name).await.unwrap();
    }
    assert_eq!(failure(post("a").await), (500, full.to_owned()));
    server.add_ranges("more", &["10.9.0.0/30"]).await;
    assert!(post("a").await.unwrap()["spec"]["clusterIP"].as_str().unwrap().starts_with("10.9.0."));
    server.delete("servicecidrs", "more", false).await;
    server.delete("services", "a", false).await;
    assert_eq!(failure(post("a").await), (500, full.to_owned()));
    server.assert_settled("ranges that come and go").await;
}

#[tokio::test]
async fn unknown_range_in_store_allocates() {
    let server = Server::with_ranges(&["10.0.0.0/30"]).await;
    server.following.abort();
    while !server.following.is_finished() {
        tokio::task::yield_now().await;
    }
    server.add_ranges("more", &["10.9.0.0/30"]).await;
    let requested = json!({"clusterIP": "10.9.0.1", "ports": one_port()});
    assert_eq!(server.post("wanted", requested.clone()).await["clusterIP"], "10.9.0.1");
    let conflict = "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"10.9.0.1\"]: failed to allocate IP \
                 10.9.0.1: provided IP is already allocated";
    assert_eq!(failure(server.try_post("a", requested, false).await), (422, conflict.to_owned()));
    for name in ["x", "y", "z"] {
        server.post(name, json!({"ports": one_port()})).await;
    }
    server.services.repair_addresses().await.unwrap();
    server.assert_settled("addresses of a range that is new").await;
}

#[tokio::test]
async fn failed_write_releases_allocations() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"type": "NodePort", "ports": one_port()})).await;
    let again = server.try_post("a", json!({"type": "NodePort", "ports": one_port()}), false).await;
    assert_eq!(failure(again), (409, "services \"a\" already exists".to_owned()));
    server.assert_settled("a creation of what exists").await;
    // Rejected by validation, which runs after allocation.
    let wrong = json!({"type": "NodePort", "ports": [{"port": 80}], "sessionAffinity": "x"});
    assert_eq!(failure(server.try_post("b", wrong, false).await).0, 422);
    server.assert_settled("a refused creation").await;
    // Addresses are allocated before ports.
    let outside = json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]});
    assert_eq!(failure(server.try_post("b", outside, false).await).0, 422);
    server.assert_settled("a refused port").await;
    let result = server.put("a", json!({"ports": [{"port": 80}, {"port": 81}]})).await;
    // Both ports inherit the node port of the old unnamed one, as in upstream.
    assert_eq!(failure(result).0, 500, "the second port is taken");
    server.assert_settled("a refused update").await;
}

#[tokio::test]
async fn a_dry_run_takes_nothing() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let spec = json!({"type": "NodePort", "ports": one_port()});
    let response = server.try_post("a", spec.clone(), true).await.unwrap();
    assert_eq!(
        (&response["spec"]["clusterIP"], &response["spec"]["ports"][0]["nodePort"]),
        (&json!("10.0.0.0"), &json!(32_769))
    );
    let result = server.try_post("a", json!({"clusterIP": "10.1.0.5", "ports": one_port()}), true).await;
    let text = "Service \"a\" is invalid: spec.clusterIPs: Invalid value: [\"10.1.0.5\"]: failed to allocate \
                IP 10.1.0.5: the provided IP (10.1.0.5) is not in the valid range. The range of valid IPs is \
                10.0.0.0/24";
    assert_eq!(failure(result), (422, text.to_owned()));
    server.assert_settled("a dry creation").await;
    server.post("a", spec).await;
    server.edit("", "a", json!({"type": "ClusterIP"}), true).await.unwrap();
    server.delete("services", "a", true).await;
    server.assert_settled("a dry update and a dry deletion").await;
    assert_eq!((server.addresses().await.len(), server.ports().await.len()), (1, 1));
}

#[tokio::test]
async fn type_determines_allocations() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"ports": one_port()})).await;
    let check = async |changes: Value, expected: (usize, usize)| {
        server.put("a", changes.clone()).await.unwrap();
        server.assert_settled(&changes.to_string()).await;
        assert_eq!((server.addresses().await.len(), server.ports().await.len()), expected, "{changes}");
    };
    check(json!({"type": "NodePort"}), (1, 1)).await;
    check(json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}), (1, 2)).await;
    check(json!({"externalTrafficPolicy": "Cluster"}), (1, 1)).await;
    check(json!({"type": "ExternalName", "externalName": "e.example"}), (0, 0)).await;
    check(json!({"type": "ClusterIP", "externalName": null}), (1, 0)).await;
}

#[tokio::test]
async fn an_update_without_allocated_values_keeps_them() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let created = server.post("a", json!({"type": "NodePort", "ports": one_port()})).await;
    let left_out = json!({"clusterIP": null, "clusterIPs": null, "ipFamilies": null, "ipFamilyPolicy": null,
        "ports": one_port()});
    assert_eq!(server.put("a", left_out).await.unwrap(), created);
    server.assert_settled("an update that leaves out").await;
}

#[tokio::test]
async fn families_change_with_their_addresses() {
    let server = Server::with_ranges(&["10.0.0.0/24", "fd00::/112"]).await;
    let first = server.post("a", json!({"ports": one_port()})).await["clusterIP"].clone();
    let upgraded = server.put("a", json!({"ipFamilyPolicy": "PreferDualStack"})).await.unwrap();
    assert_eq!((&upgraded["clusterIP"], &upgraded["ipFamilies"]), (&first, &json!(["IPv4", "IPv6"])));
    assert!(upgraded["clusterIPs"][1].as_str().unwrap().starts_with("fd00::"));
    server.assert_settled("an upgrade").await;
    let downgraded = server.put("a", json!({"ipFamilyPolicy": "SingleStack"})).await.unwrap();
    assert_eq!((&downgraded["clusterIPs"], &downgraded["ipFamilies"]), (&json!([first]), &json!(["IPv4"])));
    server.assert_settled("a downgrade").await;
    let dual_stack = json!({"ipFamilyPolicy": "RequireDualStack", "ports": one_port(), "clusterIP": "10.0.0.77",
        "clusterIPs": ["10.0.0.77"]});
    let created = server.post("b", dual_stack).await;
    assert_eq!(created["ipFamilies"], json!(["IPv4", "IPv6"]));
    server.assert_settled("a creation with both").await;
    server.delete("services", "b", false).await;
    server.assert_settled("a deletion").await;
}

#[tokio::test]
async fn a_status_takes_nothing() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let created = server.post("a", json!({"ports": one_port()})).await;
    let status =
        json!({"type": "NodePort", "clusterIP": "10.0.0.99", "ports": [{"port": 80, "nodePort": 30_005}]});
    assert_eq!(server.edit("status", "a", status, false).await.unwrap(), created);
    server.assert_settled("an update of the status").await;
}

#[tokio::test]
async fn endpoints_are_deleted_with_service() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    server.post("a", json!({"ports": one_port()})).await;
    let endpoints = json!({"metadata": {"name": "a"}});
    server.create("", "endpoints", NAMESPACE, endpoints, false).await.unwrap();
    let row = row("", "endpoints");
    server.delete("services", "a", true).await;
    assert!(server.exists(row, NAMESPACE, "a").await);
    server.delete("services", "a", false).await;
    assert!(!server.exists(row, NAMESPACE, "a").await);
}

#[tokio::test]
async fn address_refers_to_generated_name() {
    let server = Server::with_ranges(&["10.0.0.0/24"]).await;
    let object = json!({"metadata": {"generateName": "a-"}, "spec": {"ports": one_port()}});
    let created = server.create("", "services", NAMESPACE, object, false).await.unwrap();
    let address = server.get("ipaddresses", created["spec"]["clusterIP"].as_str().unwrap()).await;
    assert_eq!(address["spec"]["parentRef"]["name"], created["metadata"]["name"]);
}
