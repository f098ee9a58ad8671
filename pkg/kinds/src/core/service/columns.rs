//! Table columns of services.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, UNKNOWN, labels, load_balancer, or_none};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Type", |object, _| object.get_path("spec.type").into())
        .with_description_of("io.k8s.api.core.v1.ServiceSpec", "type"),
    Column::text("Cluster-IP", |object, _| cluster_ip(object).into())
        .with_description_of("io.k8s.api.core.v1.ServiceSpec", "clusterIP"),
    Column::text("External-IP", |object, _| external_ip(object).into())
        .with_description_of("io.k8s.api.core.v1.ServiceSpec", "externalIPs"),
    Column::text("Port(s)", |object, _| or_none(ports(object.get("spec"))).into())
        .with_description_of("io.k8s.api.core.v1.ServiceSpec", "ports"),
    AGE,
    Column::text("Selector", |object, _| labels(object.get_path("spec.selector")).into())
        .with_description_of("io.k8s.api.core.v1.ServiceSpec", "selector")
        .wide(),
];

fn cluster_ip<'a>(service: View<'a>) -> &'a str {
    // Services from before the list existed have one address.
    let single = || Some(service.get_path("spec.clusterIP").text()).filter(|address| !address.is_empty());
    let first = service.get_path("spec.clusterIPs").items().next().map(View::text);
    first.or_else(single).unwrap_or(NONE)
}

fn external_ip(service: View<'_>) -> String {
    let spec = service.get("spec");
    let external_ips = spec.get("externalIPs").texts();
    match spec.get("type").text() {
        "ClusterIP" | "NodePort" if external_ips.is_empty() => NONE.to_owned(),
        "ClusterIP" | "NodePort" => external_ips.join(","),
        "LoadBalancer" => {
            let balancer = load_balancer(service.get_path("status.loadBalancer"));
            let balancer = Some(balancer.as_str()).filter(|addresses| !addresses.is_empty());
            let all: Vec<&str> = balancer.into_iter().chain(external_ips).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => spec.get("externalName").text().to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

fn ports(spec: View<'_>) -> String {
    let port = |port: View<'_>| {
        let number = port.get("port").int();
        let protocol = port.get("protocol").text();
        match port.get("nodePort").int() {
            node_port if node_port > 0 => format!("{number}:{node_port}/{protocol}"),
            _ => format!("{number}/{protocol}"),
        }
    };
    let ports: Vec<String> = spec.get("ports").items().map(port).collect();
    ports.join(",")
}
