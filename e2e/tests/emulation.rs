//! Gates and resources of every release that a server can emulate, compared with upstream's
//! (`emulation/releases.txt`).
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use e2e::Server;
use kube::Client;

/// Table of `cargo xtask generate emulated-releases`: one line per gate or resource, one column per release. It
/// equals the answers of a kube-apiserver v1.37.2 that emulates these releases.
const RELEASES: &str = include_str!("emulation/releases.txt");

/// Cells of one release by gate (`gate AtomicFIFO`) and resource (`resource apps/v1/deployments/scale`).
type Column = BTreeMap<String, String>;

/// Returns the columns of the table by release.
fn expected() -> BTreeMap<&'static str, Column> {
    let mut lines = RELEASES.lines().filter(|line| !line.starts_with('#'));
    let releases: Vec<&str> = lines.next().unwrap().split(' ').skip(1).collect();
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for line in lines {
        let mut words = line.split(' ');
        let key = [words.next().unwrap(), words.next().unwrap()].join(" ");
        for (release, cell) in releases.iter().zip(words).filter(|(_, cell)| *cell != "-") {
            columns.entry(release).or_default().insert(key.clone(), cell.to_owned());
        }
    }
    columns
}

/// Returns the gates of a metrics page, with stage and value.
fn gates(page: &str) -> impl Iterator<Item = (String, String)> {
    let samples = page.lines().filter_map(|line| line.strip_prefix("kubernetes_feature_enabled{name=\""));
    samples.map(|sample| {
        let (name, rest) = sample.split_once("\",stage=\"").unwrap();
        let (stage, value) = rest.split_once("\"} ").unwrap();
        (format!("gate {name}"), format!("{stage}={value}"))
    })
}

async fn resources(client: &Client) -> Vec<String> {
    let mut lists = vec![client.list_core_api_resources("v1").await.unwrap()];
    for group in client.list_api_groups().await.unwrap().groups {
        for version in group.versions {
            lists.push(client.list_api_group_resources(&version.group_version).await.unwrap());
        }
    }
    let names = lists.iter().flat_map(|list| {
        list.resources.iter().map(|resource| format!("resource {}/{}", list.group_version, resource.name))
    });
    names.collect()
}

fn served(release: &str) -> Column {
    let server = Server::start_flagged(&[&format!("--emulated-version={release}")]);
    // Gates that differ in the emulated release and have no effect here.
    server.allow_log("setting has no effect");
    let page = server.kubectl().ok("get --raw /metrics");
    let resources = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = server.client().await;
        resources(&client).await
    });
    gates(&page).chain(resources.into_iter().map(|resource| (resource, "+".to_owned()))).collect()
}

#[test]
fn emulated_releases_equal_upstreams() {
    let columns = expected();
    assert_eq!(columns.len(), 4);
    for (release, expected) in columns {
        let served = served(release);
        let differs = |key: &&String| expected.get(*key) != served.get(*key);
        let keys: std::collections::BTreeSet<&String> = expected.keys().chain(served.keys()).collect();
        let lines: Vec<String> = keys
            .into_iter()
            .filter(differs)
            .map(|key| format!("{key}: {:?}, upstream {:?}", served.get(key), expected.get(key)))
            .collect();
        assert!(lines.is_empty(), "{release}:\n{}", lines.join("\n"));
    }
}
