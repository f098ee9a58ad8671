//! Tests of node port assignment.

use std::collections::BTreeSet;

use super::super::bitmap::{Bitmap, PortRange};
use super::super::ports::{self, Pool, PortError};
use super::*;

fn spec(kind: &str, ports: &[(i64, &str, i64)], more: Value) -> Object {
    let port = |(number, protocol, node_port): &(i64, &str, i64)| {
        let number = *number;
        let node_port = *node_port;
        json!({"port": number, "protocol": protocol, "nodePort": node_port})
    };
    let mut spec = object(json!({"type": kind, "ports": ports.iter().map(port).collect::<Vec<_>>()}));
    if kind == "LoadBalancer" {
        spec.insert("allocateLoadBalancerNodePorts", true.into());
    }
    spec.extend(object(more));
    object(json!({"metadata": {"name": "s"}, "spec": spec}))
}

/// Assigned node ports, with the health check port last, or the error. The pool has 30000 allocated and its
/// random numbers are 0, so the free ports start at 30016.
fn assigned(new: &Object, old: Option<&Object>, dry_run: bool) -> std::result::Result<Vec<i64>, String> {
    let mut bitmap = Bitmap::default();
    let range = PortRange::new(&(30_000..=30_099));
    assert!(bitmap.insert(0));
    let old_ports: Vec<i64> =
        old.map(|old| ports::allocated_ports(tree::child(old, "spec").unwrap())).unwrap_or_default();
    for position in old_ports.iter().filter_map(|port| range.position(*port)) {
        assert!(bitmap.insert(position));
    }
    let random = || 0;
    let mut pool = Pool {
        range,
        bitmap: Ok(bitmap),
        allocated: BTreeSet::new(),
        dry_run,
        random: &random,
        origins: Vec::new(),
    };
    let mut new = new.clone();
    ports::assign(&mut new, old, &mut pool)
        .map_err(|status| format!("{} {}", status.code, status.message))?;
    let spec = tree::child(&new, "spec").unwrap();
    let mut assigned: Vec<i64> =
        tree::children(spec, "ports").map(|port| tree::integer(port, "nodePort")).collect();
    assigned.extend(Some(tree::integer(spec, "healthCheckNodePort")).filter(|port| *port != 0));
    Ok(assigned)
}

#[test]
fn new_service_gets_one_port_per_number() {
    let check = |kind: &str, ports: &[(i64, &str, i64)], more: Value, expected: &[i64]| {
        assert_eq!(assigned(&spec(kind, ports, more), None, false).unwrap(), expected, "{kind} {ports:?}");
    };
    check("ClusterIP", &[(80, "TCP", 0)], json!({}), &[0]);
    check("NodePort", &[(80, "TCP", 0), (443, "TCP", 0)], json!({}), &[30_016, 30_017]);
    // Protocols share a node port.
    check("NodePort", &[(53, "TCP", 0), (53, "UDP", 0)], json!({}), &[30_016, 30_016]);
    check("NodePort", &[(53, "TCP", 0), (53, "UDP", 30_005)], json!({}), &[30_005, 30_005]);
    check("NodePort", &[(53, "TCP", 30_004), (53, "UDP", 30_005)], json!({}), &[30_004, 30_005]);
    let none = json!({"allocateLoadBalancerNodePorts": false});
    check("LoadBalancer", &[(80, "TCP", 0), (81, "TCP", 30_007)], none, &[0, 30_007]);
    let local = json!({"externalTrafficPolicy": "Local"});
    check("LoadBalancer", &[(80, "TCP", 0)], local, &[30_016, 30_017]);
    let chosen = json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 30_090});
    check("LoadBalancer", &[(80, "TCP", 0)], chosen, &[30_016, 30_090]);
}

#[test]
fn update_allocates_new_and_releases_removed_ports() {
    let check = |old: &Object, new: &Object, expected: &[i64], let_go: &[i64]| {
        let spec_of = |service| tree::child(service, "spec").unwrap();
        assert_eq!(assigned(new, Some(old), false).unwrap(), expected);
        let mut updated = new.clone();
        expected.iter().enumerate().for_each(|(index, port)| {
            if let Some(item) =
                tree::list_mut(tree::child_mut(&mut updated, "spec").unwrap(), "ports").get_mut(index)
            {
                item["nodePort"] = (*port).into();
            }
        });
        assert_eq!(ports::ports_to_release(spec_of(&updated), spec_of(old)), let_go);
    };
    let node_port = |ports| spec("NodePort", ports, json!({}));
    let old = node_port(&[(80, "TCP", 30_050), (81, "TCP", 30_051)]);
    check(&old, &old, &[30_050, 30_051], &[]);
    check(&old, &node_port(&[(80, "TCP", 30_050)]), &[30_050], &[30_051]);
    check(&old, &node_port(&[(80, "TCP", 0), (81, "TCP", 30_051)]), &[30_016, 30_051], &[30_050]);
    check(&old, &spec("ExternalName", &[(80, "TCP", 30_050)], json!({})), &[30_050], &[30_050, 30_051]);
    check(&spec("ClusterIP", &[(80, "TCP", 0)], json!({})), &node_port(&[(80, "TCP", 0)]), &[30_016], &[]);
    // An ExternalName service has no node ports, whatever its spec contains.
    check(&spec("ExternalName", &[(80, "TCP", 30_020)], json!({})), &old, &[30_050, 30_051], &[]);
    let local = json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 30_060});
    let checked = spec("LoadBalancer", &[(80, "TCP", 30_050)], local);
    let cluster = json!({"externalTrafficPolicy": "Cluster"});
    check(&checked, &spec("LoadBalancer", &[(80, "TCP", 30_050)], cluster), &[30_050], &[30_060]);
}

#[test]
fn errors_match_upstream() {
    let check = |new: Object, old: Option<Object>, dry_run: bool, expected: &str| {
        assert_eq!(assigned(&new, old.as_ref(), dry_run).unwrap_err(), expected);
    };
    let node_port = |ports| spec("NodePort", ports, json!({}));
    let conflict = "422 Service \"s\" is invalid: spec.ports[0].nodePort: Invalid value: 30000: provided port \
                 is already allocated";
    check(node_port(&[(80, "TCP", 30_000)]), None, false, conflict);
    check(node_port(&[(80, "TCP", 30_000)]), None, true, conflict);
    check(node_port(&[(80, "TCP", 30_000)]), Some(node_port(&[])), false, conflict);
    let outside = "422 Service \"s\" is invalid: spec.ports[1].nodePort: Invalid value: 80: provided port is \
                   not in the valid range. The range of valid ports is 30000-30099";
    check(node_port(&[(80, "TCP", 0), (81, "TCP", 80)]), None, false, outside);
    let twice = node_port(&[(80, "TCP", 30_003), (81, "TCP", 30_003)]);
    let text = "422 Service \"s\" is invalid: spec.ports[1].nodePort: Invalid value: 30003: provided port \
                is already allocated";
    check(twice.clone(), None, false, text);
    check(twice, Some(node_port(&[])), false, "500 duplicate nodePort: {TCP 30003}");
    let local = json!({"externalTrafficPolicy": "Local", "healthCheckNodePort": 10});
    let text = "500 Internal error occurred: failed to allocate requested HealthCheck NodePort 10: provided \
                port is not in the valid range. The range of valid ports is 30000-30099";
    check(spec("LoadBalancer", &[(80, "TCP", 0)], local), None, false, text);
}

#[test]
fn full_or_uninitialized_pool_is_an_error() {
    let check = |bitmap: std::result::Result<Bitmap, PortError>, requested: i64, expected: &str| {
        let random = || 7;
        let range = PortRange::new(&(30_000..=30_001));
        let mut pool = Pool {
            range,
            bitmap,
            allocated: BTreeSet::new(),
            dry_run: false,
            random: &random,
            origins: Vec::new(),
        };
        let mut new = spec("NodePort", &[(80, "TCP", requested)], json!({}));
        assert_eq!(ports::assign(&mut new, None, &mut pool).unwrap_err().message, expected);
    };
    let full = "Internal error occurred: failed to allocate a nodePort: range is full";
    check(Ok(Bitmap::from_stored(&[3])), 0, full);
    let unknown = "cannot allocate resources of type servicenodeportallocations at this time";
    check(
        Err(PortError::NotReady),
        0,
        &format!("Internal error occurred: failed to allocate a nodePort: {unknown}"),
    );
    let path = "Service \"s\" is invalid: spec.ports[0].nodePort: Invalid value: 30001:";
    check(Err(PortError::NotReady), 30_001, &format!("{path} {unknown}"));
    let other_range = "the provided range does not match the current range";
    check(Err(PortError::OtherRange), 30_001, &format!("{path} {other_range}"));
}

#[test]
fn dry_run_simulates_ports() {
    let check = |ports: &[(i64, &str, i64)], expected: &[i64]| {
        assert_eq!(assigned(&spec("NodePort", ports, json!({})), None, true).unwrap(), expected);
    };
    check(&[(80, "TCP", 0), (81, "TCP", 0)], &[32_769, 32_770]);
    check(&[(80, "TCP", 30_080), (81, "TCP", 0)], &[30_080, 30_081]);
    // A dry run does not check the range.
    check(&[(80, "TCP", 7)], &[7]);
}

#[test]
fn most_writes_skip_reading_allocation() {
    let check = |new: &Object, old: Option<&Object>, expected: bool| {
        let spec_of = |service| tree::child(service, "spec").unwrap();
        assert_eq!(ports::needs_allocation(spec_of(new), old.map(spec_of)), expected);
    };
    let inner = spec("ClusterIP", &[(80, "TCP", 0)], json!({}));
    let node_port = spec("NodePort", &[(80, "TCP", 30_005)], json!({}));
    check(&inner, None, false);
    check(&node_port, None, true);
    check(&node_port, Some(&node_port), false);
    check(&node_port, Some(&inner), true);
    let repeated = spec("NodePort", &[(80, "TCP", 30_005), (81, "TCP", 30_005)], json!({}));
    check(&repeated, Some(&node_port), true);
    check(&inner, Some(&node_port), false);
}
