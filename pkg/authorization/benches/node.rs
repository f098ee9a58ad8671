//! Benchmark of the node graph of a large cluster: 5,000 nodes and 150,000 pods. Each pod has an account, a
//! ConfigMap and two secrets; a third of them have a volume.
#![allow(clippy::unwrap_used, reason = "a benchmark may say what must hold")]

use api::references::Kind;
use apimachinery::user_info::UserInfo;
use authorization::node::{Features, Graph, PodUse, Policy, VolumeUse, decide};
use authorization::{Attributes, Decision};
use divan::{Bencher, black_box};

#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

fn main() {
    divan::main();
}

fn graph() -> Graph {
    let mut graph = Graph::default();
    for number in 0..150_000 {
        let node = format!("node-{}.example.com", number % 5_000);
        let namespace = format!("team-{}", number % 300);
        let secret = format!("secret-{}", number % 20);
        let claim = format!("data-web-{number}");
        let mut references = vec![
            (Kind::ConfigMap, "kube-root-ca.crt"),
            (Kind::Secret, "registry"),
            (Kind::Secret, &*secret),
            (Kind::ServiceAccount, "default"),
        ];
        if number % 3 == 0 {
            references.insert(3, (Kind::Claim, &*claim));
            let volume = VolumeUse { claim: (&namespace, &claim), secrets: &[("storage", "csi")] };
            graph.set_volume(&format!("pvc-{number:032}"), Some(volume));
        }
        let pod = PodUse { node: &node, references: &references };
        graph.set_pod(&namespace, &format!("web-7d4b9c6f8-{number}"), Some(pod));
    }
    graph
}

#[divan::bench(sample_count = 3)]
fn built() -> Graph {
    graph()
}

fn check(bencher: Bencher, resource: &str, namespace: &str, name: &str, allowed: bool) {
    let graph = graph();
    let groups = vec!["system:nodes".to_owned()];
    let user = UserInfo { name: "system:node:node-0.example.com".to_owned(), groups, ..UserInfo::default() };
    let attributes = Attributes {
        verb: "get",
        resource,
        namespace,
        name,
        resource_request: true,
        ..Attributes::of_user(&user)
    };
    let features = Features { service_accounts: true, pod_certificates: false, volume_health: false };
    let policy = Policy { rules: Vec::new(), features };
    assert_eq!(matches!(decide(&graph, &policy, &attributes), Decision::Allow(_)), allowed);
    bencher.bench(|| decide(black_box(&graph), &policy, black_box(&attributes)));
}

#[divan::bench]
fn a_secret_of_a_pod(bencher: Bencher) {
    check(bencher, "secrets", "team-0", "registry", true);
}

#[divan::bench]
fn a_secret_of_fifty_thousand_volumes(bencher: Bencher) {
    check(bencher, "secrets", "storage", "csi", true);
}

#[divan::bench]
fn a_secret_of_another_node(bencher: Bencher) {
    check(bencher, "secrets", "team-1", "registry", false);
}
