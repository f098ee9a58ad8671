//! Tests of computed Endpoints and slices.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;

fn texts(addresses: &[&str]) -> Vec<String> {
    addresses.iter().map(|&address| address.to_owned()).collect()
}

fn stored(subsets: Value) -> Object {
    let mut endpoints = object(json!({
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": {SKIP_MIRROR: "true"}},
    }));
    if subsets != json!([]) {
        endpoints.insert("subsets", subsets);
    }
    endpoints
}

fn subset(addresses: &[&str], port: u16) -> Value {
    let addresses: Vec<Value> = addresses.iter().map(|ip| json!({"ip": ip})).collect();
    json!({"addresses": addresses, "ports": [{"name": "https", "port": port, "protocol": "TCP"}]})
}

#[test]
fn endpoints_are_lease_holders() {
    let check = |before: Value, leases: &[&str], ports: Ports, after: Option<Value>| {
        let actual = endpoints(Some(&stored(before.clone())), &texts(leases), 6443, ports);
        assert_eq!(actual, after.map(stored), "{before} {leases:?}");
    };
    let own_port = Ports::OwnPort;
    let existing_port = Ports::Existing;
    let a = "192.0.2.1";
    let b = "192.0.2.2";
    let single = json!([subset(&[a], 6443)]);
    check(single.clone(), &[a], existing_port, None);
    check(single.clone(), &[a], own_port, None);
    check(json!([subset(&[b, a], 6443)]), &[a, b], existing_port, None);
    check(single.clone(), &[b, a], existing_port, Some(json!([subset(&[a, b], 6443)])));
    check(single.clone(), &[b], existing_port, Some(json!([subset(&[b], 6443)])));
    check(json!([subset(&[a, a], 6443)]), &[a, b], existing_port, Some(json!([subset(&[a, b], 6443)])));
    // Different ports belong to another server, unless this server's ports are requested.
    check(json!([subset(&[a], 1)]), &[a], existing_port, None);
    check(json!([subset(&[a], 1)]), &[a, b], existing_port, Some(json!([subset(&[a, b], 1)])));
    check(json!([subset(&[a], 1)]), &[a], own_port, Some(single.clone()));
    // Anything but one subset is replaced.
    check(json!([]), &[a], existing_port, Some(single.clone()));
    check(json!([subset(&[a], 1), subset(&[b], 2)]), &[a], existing_port, Some(single.clone()));
    // No lease is left.
    check(single.clone(), &[], own_port, Some(json!([])));
    // Unready addresses stay unready.
    let mut unready = subset(&[a], 6443);
    unready["notReadyAddresses"] = json!([{"ip": b}]);
    check(json!([unready]), &[a, b], existing_port, Some(json!([unready])));
}

#[test]
fn endpoints_that_are_missing_or_mirrored_are_written() {
    let leases = texts(&["192.0.2.1"]);
    let expected = stored(json!([subset(&["192.0.2.1"], 6443)]));
    assert_eq!(endpoints(None, &leases, 6443, Ports::Existing), Some(expected.clone()));
    let mut mirrored = expected.clone();
    object::remove(&mut mirrored, &["metadata", "labels"]);
    assert_eq!(endpoints(Some(&mirrored), &leases, 6443, Ports::Existing), Some(expected));
}

fn slice_of(subset: Value) -> Object {
    slice(&stored(json!([subset])))
}

#[test]
fn a_slice_has_one_family_of_addresses() {
    let check = |addresses: &[&str], family: &str, ready: &[&str]| {
        let slice = slice_of(subset(addresses, 6443));
        let endpoints: Vec<Value> =
            ready.iter().map(|ip| json!({"addresses": [ip], "conditions": {"ready": true}})).collect();
        let expected = json!({
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {"kubernetes.io/service-name": "kubernetes"},
            },
            "addressType": family,
            "endpoints": endpoints,
            "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
        });
        assert_eq!(Value::from(slice), expected);
    };
    check(&["192.0.2.1", "192.0.2.2"], "IPv4", &["192.0.2.1", "192.0.2.2"]);
    check(&["fd00::1"], "IPv6", &["fd00::1"]);
    check(&["192.0.2.1", "fd00::1"], "IPv4", &["192.0.2.1"]);
    let none = slice(&stored(json!([])));
    assert_eq!(tree::text(&none, "addressType"), "IPv4");
    assert!(!none.contains_key("endpoints") && !none.contains_key("ports"));
    let mut unready = subset(&[], 6443);
    unready["notReadyAddresses"] = json!([{"ip": "192.0.2.3", "nodeName": "n"}]);
    let ready = json!([{"addresses": ["192.0.2.3"], "conditions": {"ready": false}, "nodeName": "n"}]);
    assert_eq!(slice_of(unready).get("endpoints"), Some(&ready));
}

#[test]
fn differing_slice_is_written_or_replaced() {
    let row = api::resources::find("discovery.k8s.io", "v1", "endpointslices", "").unwrap();
    let change = |current: Option<&Object>, desired: &Object| slice_change(row, current, desired);
    let first = slice_of(subset(&["192.0.2.1"], 6443));
    let second = slice_of(subset(&["192.0.2.1", "192.0.2.2"], 6443));
    assert_eq!(change(None, &first), SliceChange::Write(first.clone()));
    assert_eq!(change(Some(&first), &first), SliceChange::None);
    assert_eq!(change(Some(&first), &slice_of(subset(&["fd00::1"], 6443))), SliceChange::Replace);
    // Other metadata is kept.
    let mut annotated = first.clone();
    object::set(&mut annotated, &["metadata", "annotations", "a"], "b");
    assert_eq!(change(Some(&annotated), &first), SliceChange::None);
    let mut expected = second.clone();
    object::set(&mut expected, &["metadata", "annotations", "a"], "b");
    assert_eq!(change(Some(&annotated), &second), SliceChange::Write(expected));
    let empty = slice(&stored(json!([])));
    assert_eq!(change(Some(&first), &empty), SliceChange::Write(empty.clone()));
    let mut labelled = first.clone();
    object::set(&mut labelled, &["metadata", "labels", "x"], "y");
    assert_eq!(change(Some(&labelled), &first), SliceChange::Write(first.clone()));
}

#[test]
fn counted_server_adds_itself_and_removes_excess() {
    let ip = |last: u8| format!("192.0.2.{last}");
    let subset_of = |last: &[u8]| {
        let addresses: Vec<String> = last.iter().map(|&last| ip(last)).collect();
        subset(&addresses.iter().map(String::as_str).collect::<Vec<_>>(), 1)
    };
    let check = |before: &[u8], server: u8, count: usize, after: Option<&[u8]>| {
        let before = stored(json!([subset_of(before)]));
        let actual = with_address(Some(&before), ip(server).parse().unwrap(), 1, count);
        assert_eq!(actual, after.map(|after| stored(json!([subset_of(after)]))), "{server} {count}");
    };
    check(&[1], 1, 1, None);
    check(&[2, 1], 1, 2, None);
    check(&[1], 2, 2, Some(&[1, 2]));
    check(&[1, 3], 2, 3, Some(&[1, 2, 3]));
    check(&[1, 2, 3], 2, 2, Some(&[1, 2]));
    check(&[1, 2], 3, 2, Some(&[2, 3]));
    check(&[1, 2, 3, 4], 3, 1, Some(&[3]));
    let server = "192.0.2.1".parse().unwrap();
    let alone = stored(json!([subset(&["192.0.2.1"], 6443)]));
    assert_eq!(with_address(None, server, 6443, 1), Some(alone.clone()));
    let odd = stored(json!([subset(&["192.0.2.8"], 1), subset(&["192.0.2.9"], 2)]));
    assert_eq!(with_address(Some(&odd), server, 6443, 3), Some(alone));
}

#[test]
fn stopping_counted_server_removes_its_address() {
    let address = "192.0.2.1".parse().unwrap();
    let check = |before: Value, after: Option<Value>| {
        assert_eq!(without_address(&stored(before.clone()), address), after.map(stored), "{before}");
    };
    check(json!([]), None);
    check(json!([subset(&["192.0.2.2"], 1)]), None);
    check(json!([subset(&["192.0.2.1", "192.0.2.2"], 1)]), Some(json!([subset(&["192.0.2.2"], 1)])));
    check(json!([subset(&["192.0.2.1"], 1)]), Some(json!([])));
}
