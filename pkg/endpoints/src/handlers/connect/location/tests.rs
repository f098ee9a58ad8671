//! Tests of connection targets.
#![allow(clippy::unwrap_used)]

use super::*;
use jsontree::json;

fn tree(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

#[test]
fn name_may_have_scheme_and_port() {
    let check = |id: &str, expected: Option<(bool, &str, &str)>| {
        let expected = expected.map(|(https, name, port)| ProxyName { https, name, port });
        assert_eq!(ProxyName::parse(id), expected, "{id}");
    };
    check("a", Some((false, "a", "")));
    check("a:80", Some((false, "a", "80")));
    check("https:a:web", Some((true, "a", "web")));
    check("http:a:", Some((false, "a", "")));
    check(":a:1", Some((false, "a", "1")));
    for id in ["", ":80", "ftp:a:1", "a:b:c:d", "HTTPS:a:1"] {
        check(id, None);
    }
}

#[test]
fn kubelet_address_comes_from_node() {
    let check = |status: Value, expected: Result<(&str, &str), &str>| {
        let types = ["Hostname", "InternalIP"].map(str::to_owned);
        let actual = Kubelet::of(&tree(json!({"status": status})), &types, 10250);
        let expected = expected.map(|(host, port)| Kubelet {
            host: host.to_owned(),
            port: port.to_owned(),
            websockets: false,
        });
        assert_eq!(actual.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{status}");
    };
    let ip = json!({"type": "InternalIP", "address": "10.0.0.1"});
    let name = json!({"type": "Hostname", "address": "n"});
    let outside = json!({"type": "ExternalIP", "address": "192.0.2.1"});
    check(json!({"addresses": [ip]}), Ok(("10.0.0.1", "10250")));
    check(json!({"addresses": [ip, name]}), Ok(("n", "10250")));
    let port = json!({"kubeletEndpoint": {"Port": 7}});
    check(json!({"addresses": [ip], "daemonEndpoints": port}), Ok(("10.0.0.1", "7")));
    check(json!({}), Err("no preferred addresses found; known addresses: []"));
    let no_address =
        "no preferred addresses found; known addresses: [{ExternalIP 192.0.2.1} {ExternalIP 192.0.2.1}]";
    check(json!({"addresses": [outside, outside]}), Err(no_address));
}

#[test]
fn node_declares_websockets() {
    let check = |features: Value, expected: bool| {
        let addresses = json!([{"type": "InternalIP", "address": "10.0.0.1"}]);
        let node = tree(json!({"status": {"addresses": addresses, "declaredFeatures": features}}));
        let kubelet = Kubelet::of(&node, &["InternalIP".to_owned()], 10250).unwrap();
        assert_eq!(kubelet.websockets, expected, "{features}");
    };
    check(json!(null), false);
    check(json!(["Other"]), false);
    check(json!(["ExtendWebSocketsToKubelet", "Other"]), true);
}

#[test]
fn node_is_dialed_at_a_checked_address() {
    let check = |id: &str, trust: Trust, url: &str| {
        let kubelet = Kubelet { host: "n".to_owned(), port: "10250".to_owned(), websockets: true };
        let target = of_node(&ProxyName::parse(id).unwrap(), kubelet);
        assert_eq!((target.trust, target.to_string().as_str()), (trust, url), "{id}");
    };
    check("a", Trust::CheckedKubelet, "https://n:10250");
    check("http:a:10250", Trust::CheckedKubelet, "https://n:10250");
    check("a:80", Trust::CheckedServer, "http://n:80");
    check("https:a:443", Trust::CheckedServer, "https://n:443");
}

#[test]
fn local_addresses_are_rejected() {
    let check = |address: &str, expected: bool| {
        assert_eq!(is_global(address.parse().unwrap()), expected, "{address}");
    };
    for address in ["10.0.0.1", "192.0.2.1", "fd00::1", "2001:db8::1", "::ffff:10.0.0.1"] {
        check(address, true);
    }
    let local = ["127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255"];
    for address in local {
        check(address, false);
        check(&format!("::ffff:{address}"), false);
    }
    for address in ["::1", "fe80::1", "::", "ff02::1"] {
        check(address, false);
    }
}

#[test]
fn container_name_is_required_if_ambiguous() {
    let check = |spec: Value, requested: &str, expected: Result<&str, &str>| {
        let pod = tree(json!({"metadata": {"name": "p"}, "spec": spec}));
        let actual = container(&pod, requested).map_err(|status| status.message.clone());
        assert_eq!(actual, expected.map_err(str::to_owned), "{spec} {requested}");
    };
    let a = json!({"name": "a"});
    let b = json!({"name": "b"});
    let init = json!([{"name": "i"}]);
    let pod_spec = json!({"initContainers": init, "containers": [a]});
    check(pod_spec.clone(), "", Ok("a"));
    check(pod_spec.clone(), "i", Ok("i"));
    check(pod_spec, "x", Err("container x is not valid for pod p"));
    check(
        json!({"initContainers": init, "containers": [a, b], "ephemeralContainers": [{"name": "e"}]}),
        "",
        Err("a container name must be specified for pod p, choose one of: [i a b e]"),
    );
    check(json!({}), "", Err("a container name must be specified for pod p"));
}

#[test]
fn pod_target_is_first_address_and_port() {
    let check = |id: &str, ips: Value, ports: Value, expected: Option<&str>| {
        let containers = json!([{"name": "a"}, {"name": "b", "ports": ports}]);
        let pod = tree(json!({"spec": {"containers": containers}, "status": {"podIPs": ips}}));
        let actual = of_pod(&ProxyName::parse(id).unwrap(), &pod).ok().map(|url| url.to_string());
        assert_eq!(actual.as_deref(), expected, "{id} {ips} {ports}");
    };
    let ip = json!([{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]);
    let ports = json!([{"containerPort": 8080}]);
    check("p", ip.clone(), ports.clone(), Some("http://10.0.0.1:8080"));
    check("p:80", ip.clone(), ports.clone(), Some("http://10.0.0.1:80"));
    check("https:p:443", ip.clone(), ports.clone(), Some("https://10.0.0.1:443"));
    check("p", ip, json!([]), Some("http://10.0.0.1"));
    check("p", json!([{"ip": "fd00::1"}]), ports.clone(), Some("http://[fd00::1]:8080"));
    check("p", json!([{"ip": "fd00::1"}]), json!([]), Some("http://[fd00::1]"));
    for ips in [json!([]), json!([{"ip": "127.0.0.1"}]), json!([{"ip": "169.254.169.254"}])] {
        check("p", ips, ports.clone(), None);
    }
}

#[test]
fn service_target_is_a_ready_endpoint() {
    let endpoint = |ip: &str, pod: &str| json!({"addresses": [ip, "192.0.2.9"], "targetRef": {"namespace": "ns", "name": pod}});
    let mut unready = endpoint("10.0.0.3", "c");
    unready["conditions"] = json!({"ready": false, "serving": true});
    let slices = [
        tree(json!({"endpoints": [endpoint("10.0.0.1", "a"), endpoint("10.0.0.2", "b"), unready],
            "ports": [{"name": "web", "port": 8}, {"name": "web"}]})),
        tree(json!({"endpoints": [{"addresses": ["10.0.0.4"]}, {"addresses": []}],
            "ports": [{"name": "web", "port": 7}, {"name": "", "port": 6}]})),
    ];
    let check = |port: &str, random: f64, expected: &[(&str, &str, Option<&str>)]| {
        let places = backends(&slices, port, || random);
        let actual: Vec<_> = places.iter().map(|p| (p.address, p.port.as_str(), p.pod("ns"))).collect();
        assert_eq!(actual, expected, "{port} {random}");
    };
    let a = ("10.0.0.1", "8", Some("a"));
    let b = ("10.0.0.2", "8", Some("b"));
    let handmade = ("10.0.0.4", "7", None);
    check("web", 0.0, &[a, b, handmade]);
    check("web", 0.5, &[b, a, handmade]);
    check("", 0.0, &[("10.0.0.4", "6", None)]);
    check("none", 0.0, &[]);
    let elsewhere = backends(&slices, "web", || 0.0);
    assert_eq!(elsewhere.first().and_then(|place| place.pod("other")), None);
}

#[test]
fn slices_of_the_primary_family_come_first() {
    let slice = |name: &str, family: &str| tree(json!({"name": name, "addressType": family}));
    let mut slices = [slice("a", "IPv6"), slice("b", "IPv4"), slice("c", "IPv6"), slice("d", "IPv4")];
    let mut drawn = [0.4, 0.3, 0.2, 0.1].into_iter();
    shuffle(&mut slices, "IPv6", || drawn.next().unwrap());
    assert_eq!(slices.map(|slice| tree::text(&slice, "name").to_owned()), ["c", "a", "d", "b"]);
}

#[test]
fn a_port_of_a_service_has_a_name() {
    let service = tree(json!({"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 81}]}}));
    let check = |number: i64, expected: Result<&str, &str>| {
        let actual = port_name(&service, number, "s").map_err(|status| status.message.clone());
        assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned));
    };
    check(80, Ok("web"));
    check(81, Ok(""));
    check(82, Err("no service port 82 found for service \"s\""));
}
