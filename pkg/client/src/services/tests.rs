//! Service resolution.
#![allow(clippy::unwrap_used)]

use super::*;

#[derive(Default)]
struct Known {
    service: Option<Service>,
    slices: Vec<EndpointSlice>,
}

impl Lister for Known {
    fn service(&self, _: &str, _: &str) -> Option<Arc<Service>> {
        self.service.clone().map(Arc::new)
    }

    fn endpoint_slices(&self, _: &str, _: &str) -> Vec<Arc<EndpointSlice>> {
        self.slices.iter().cloned().map(Arc::new).collect()
    }
}

fn service(kind: &str, cluster_ip: &str) -> Service {
    Service {
        kind: kind.to_owned(),
        cluster_ip: cluster_ip.to_owned(),
        external_name: "outside.example".to_owned(),
        ports: vec![(443, "https".to_owned()), (9443, "other".to_owned())],
        primary_family: Some("IPv4".to_owned()),
    }
}

fn slice(address_type: &str, endpoints: &[(&str, Option<bool>)]) -> EndpointSlice {
    EndpointSlice {
        address_type: address_type.to_owned(),
        ports: vec![(None, Some(1)), (Some("https".to_owned()), Some(6443))],
        endpoints: endpoints.iter().map(|(address, ready)| ((*address).to_owned(), *ready)).collect(),
    }
}

/// Resolves with a fixed "random" number.
fn resolve(
    service: Option<Service>,
    slices: &[EndpointSlice],
    routing: Routing,
    port: i32,
    number: usize,
) -> Result<String, (u16, String)> {
    let lister = Known { service, slices: slices.to_vec() };
    let loopback = Address { host: "::1".to_owned(), port: 6443 };
    let resolved = Resolver { lister, routing, loopback }.resolve("ns", "s", port, &mut |n| number % n);
    resolved
        .map(|address| format!("{} {}", address.host, address.port))
        .map_err(|status| (status.code, status.message.clone()))
}

fn check(got: Result<String, (u16, String)>, expected: Result<&str, (u16, &str)>) {
    assert_eq!(got, expected.map(str::to_owned).map_err(|(code, message)| (code, message.to_owned())));
}

#[test]
fn service_resolves_to_cluster_ip() {
    let find = |service: Option<Service>, port: i32| resolve(service, &[], Routing::ClusterIp, port, 0);
    for kind in ["ClusterIP", "NodePort", "LoadBalancer"] {
        check(find(Some(service(kind, "10.0.0.7")), 443), Ok("10.0.0.7 443"));
    }
    check(find(Some(service("ExternalName", "")), 8443), Ok("outside.example 8443"));
    let headless = "cannot route to service with ClusterIP \"None\"";
    check(find(Some(service("ClusterIP", "None")), 443), Err((500, headless)));
    check(
        find(Some(service("ClusterIP", "10.0.0.7")), 1),
        Err((503, "no service port 1 found for service \"s\"")),
    );
    check(find(Some(service("Odd", "10.0.0.7")), 443), Err((500, "unsupported service type \"Odd\"")));
    check(find(None, 443), Err((404, "service \"s\" not found")));
}

#[test]
fn an_endpoint_is_ready_and_serves_the_port() {
    let find = |slices: &[EndpointSlice], number: usize| {
        resolve(Some(service("ClusterIP", "None")), slices, Routing::Endpoints, 443, number)
    };
    let three = slice("IPv4", &[("10.1.0.1", Some(false)), ("10.1.0.2", None), ("10.1.0.3", Some(true))]);
    check(find(std::slice::from_ref(&three), 0), Ok("10.1.0.2 6443"));
    check(find(std::slice::from_ref(&three), 1), Ok("10.1.0.2 6443"));
    check(find(std::slice::from_ref(&three), 2), Ok("10.1.0.3 6443"));
    let none = "no endpoints available for service \"s\"";
    check(find(&[], 0), Err((503, none)));
    check(find(&[slice("IPv4", &[]), slice("IPv4", &[("10.1.0.1", Some(false))])], 0), Err((503, none)));
    let unnamed = EndpointSlice { ports: vec![(None, Some(1)), (Some("https".to_owned()), None)], ..three };
    check(find(&[unnamed], 0), Err((503, none)));
}

#[test]
fn endpoints_of_the_primary_family_come_first() {
    let six = slice("IPv6", &[("fd00::1", None)]);
    let four = slice("IPv4", &[("10.1.0.1", None)]);
    let find = |slices: &[EndpointSlice]| {
        resolve(Some(service("ClusterIP", "10.0.0.7")), slices, Routing::Endpoints, 443, 0)
    };
    check(find(&[six.clone(), four]), Ok("10.1.0.1 6443"));
    check(find(&[six.clone(), slice("IPv4", &[("10.1.0.1", Some(false))])]), Ok("fd00::1 6443"));
    check(find(&[six]), Ok("fd00::1 6443"));
}

#[test]
fn external_name_has_no_endpoints() {
    let outside = resolve(Some(service("ExternalName", "")), &[], Routing::Endpoints, 443, 0);
    check(outside, Err((500, "unsupported service type \"ExternalName\"")));
}

#[test]
fn own_service_resolves_to_loopback() {
    let loopback = Address { host: "::1".to_owned(), port: 6443 };
    let resolver =
        Resolver { lister: Known::default(), routing: Routing::ClusterIp, loopback: loopback.clone() };
    let find = |namespace, name, port| resolver.resolve(namespace, name, port, &mut |_| 0).ok();
    assert_eq!(find("default", "kubernetes", 443), Some(loopback));
    assert_eq!(find("default", "kubernetes", 6443), None);
    assert_eq!(find("other", "kubernetes", 443), None);
}
