//! Tests of several servers over one store.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use component_base::features::{Effective, Gates};
use jsontree::{Value, json};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use server::tls::CertificateFiles;
use storage::memory::Memory;

use super::*;
use crate::config::{EndpointReconciler, LeadershipTimes, MemoryConfig, RuntimeConfig, StorageConfig};
use crate::test_client::Client;
use crate::test_cluster::{TestDir, TestServer};

/// Timeout for a change to take effect.
const CHANGE_MAX: Duration = Duration::from_secs(60);

fn configure(
    config: &mut Config,
    memory: &Arc<Memory>,
    host: &str,
    gates: &[(&str, bool)],
    apis: &[(&str, &str)],
) {
    config.storage =
        StorageConfig::Memory(MemoryConfig { shared: Some(Arc::clone(memory)), ..Default::default() });
    config.host_name = host.to_owned();
    // Servers use loopback addresses, which cannot be endpoints.
    config.advertise_address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    config.services.endpoint_reconciler = EndpointReconciler::None;
    config.gates = Gates::new(Effective::default(), gates.iter().copied()).unwrap();
    let apis: Vec<_> = apis.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    config.runtime_config = RuntimeConfig::parse(&apis).unwrap();
}

/// Repeats a request until the response satisfies `holds`.
async fn until(client: &Client, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let polling = async {
        loop {
            let (code, text) = client.text("GET", path).await;
            let response = serde_json::from_str(&text).unwrap_or(Value::Null);
            if code == 200 && holds(&response) {
                return response;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(CHANGE_MAX, polling).await.expect("nothing changed in time")
}

const CANDIDATES: &str = "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/wanted";
const LEADER: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader-election-controller";

async fn elector(memory: &Arc<Memory>, host: &str) -> TestServer {
    let started = TestServer::start_with(|config| {
        let apis = [("coordination.k8s.io/v1beta1", "true")];
        configure(config, memory, host, &[("CoordinatedLeaderElection", true)], &apis);
        config.leadership = LeadershipTimes {
            lease_duration: Duration::from_secs(60),
            renew_deadline: Duration::from_secs(50),
            retry_period: Duration::from_millis(50),
        };
    });
    started.await.unwrap()
}

/// Runs a candidate that continually renews itself.
async fn stand(client: Client, name: &'static str, version: &'static str) {
    let now = || {
        let clock = crate::system::SystemClock;
        component_base::clock::Clock::now(&clock).rfc3339_micro().to_string()
    };
    let candidate = json!({
        "metadata": {"name": name},
        "spec": {
            "leaseName": "wanted", "strategy": "OldestEmulationVersion", "emulationVersion": version,
            "binaryVersion": "1.36.0", "renewTime": now(),
        },
    });
    client.make(CANDIDATES, candidate).await;
    loop {
        let now = now();
        client.ok("PATCH", &format!("{CANDIDATES}/{name}"), json!({"spec": {"renewTime": now}})).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn another_server_continues_election_after_shutdown() {
    let memory = Arc::new(Memory::new());
    let first = elector(&memory, "a").await;
    let client = Client::of(&first);
    let leads = |host: &'static str| {
        move |lease: &Value| {
            let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str);
            holder.is_some_and(|holder| holder.starts_with(host))
        }
    };
    until(&client, LEADER, leads("a_")).await;
    let second = elector(&memory, "b").await;
    let other = Client::of(&second);
    let new = tokio::spawn(stand(other.clone(), "new", "1.36.0"));
    let held = |lease: &Value| lease.pointer("/spec/holderIdentity") == Some(&json!("new"));
    until(&client, LEASE, held).await;
    client
        .until_page_has("/metrics", "leader_election_master_status{name=\"leader-election-controller\"} 1")
        .await;
    client.until_page_has("/metrics", "workqueue_adds_total{name=\"leader-election-controller\"}").await;
    first.stop().await;
    until(&other, LEADER, leads("b_")).await;
    // The holder keeps its lease, and sees the preferred holder.
    let old = tokio::spawn(stand(other.clone(), "old", "1.35.0"));
    let chosen = |lease: &Value| {
        let at = |member: &str| lease.pointer(member).and_then(Value::as_str).unwrap_or_default().to_owned();
        // The lease of a holder that does not renew it expires, so both states are possible.
        at("/spec/preferredHolder") == "old" || at("/spec/holderIdentity") == "old"
    };
    until(&other, LEASE, chosen).await;
    new.abort();
    old.abort();
    second.stop().await;
}

#[tokio::test]
async fn expired_candidate_is_removed() {
    let memory = Arc::new(Memory::new());
    let server = elector(&memory, "a").await;
    let client = Client::of(&server);
    let candidate = json!({
        "metadata": {"name": "gone"},
        "spec": {
            "leaseName": "wanted", "strategy": "OldestEmulationVersion", "emulationVersion": "1.36.0",
            "binaryVersion": "1.36.0", "renewTime": "2020-01-01T00:00:00.000000Z",
        },
    });
    client.make(CANDIDATES, candidate).await;
    client.eventually(&format!("{CANDIDATES}/gone"), 404).await;
    server.stop().await;
}

#[tokio::test]
async fn every_server_registers_its_storage_versions() {
    let memory = Arc::new(Memory::new());
    let start = async |host: &str| {
        let started = TestServer::start_with(|config| {
            let apis = [("internal.apiserver.k8s.io/v1alpha1", "true")];
            configure(config, &memory, host, &[("StorageVersionAPI", true)], &apis);
        });
        started.await.unwrap()
    };
    let first = start("a").await;
    let second = start("b").await;
    let client = Client::of(&first);
    let version =
        client.get("/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/apps.deployments").await;
    let of = |host: &str| {
        json!({
            "apiServerID": identity_lease::name(host), "encodingVersion": "apps/v1",
            "decodableVersions": ["apps/v1", "apps/v1beta2", "apps/v1beta1"], "servedVersions": ["apps/v1"],
        })
    };
    assert_eq!(version.pointer("/status/storageVersions"), Some(&json!([of("a"), of("b")])));
    assert_eq!(version.pointer("/status/commonEncodingVersion"), Some(&json!("apps/v1")));
    assert_eq!(version.pointer("/status/conditions/0/status"), Some(&json!("True")));
    let (_, ready) = client.text("GET", "/readyz?verbose").await;
    assert!(ready.contains("[+]poststarthook/built-in-resources-storage-version-updater ok"), "{ready}");
    first.stop().await;
    second.stop().await;
}

/// Certificates of the servers of a cluster.
struct Certificates {
    dir: TestDir,
}

impl Certificates {
    fn new() -> Self {
        let dir = TestDir::new().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        fs::write(dir.path().join("ca.crt"), authority.pem()).unwrap();
        for (file, names) in
            [("server", vec!["kubernetes.default.svc", "127.0.0.1"]), ("proxy", vec!["proxy"])]
        {
            let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(names).unwrap();
            params.distinguished_name.push(DnType::CommonName, file);
            let leaf = params.signed_by(&key, &authority).unwrap();
            fs::write(dir.path().join(format!("{file}.crt")), leaf.pem() + &authority.pem()).unwrap();
            fs::write(dir.path().join(format!("{file}.key")), key.serialize_pem()).unwrap();
        }
        Certificates { dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn pair(&self, name: &str) -> CertificateFiles {
        let [certificate, key] = ["crt", "key"].map(|kind| self.file(&format!("{name}.{kind}")));
        CertificateFiles { certificate, key }
    }

    fn show(&self, config: &mut Config) {
        config.serving.certificate = Some(self.pair("server"));
        config.aggregation.certificate = Some(self.pair("proxy"));
        config.peers.authority = Some(self.file("ca.crt"));
        let headers = &mut config.authentication.request_header;
        headers.ca_file = Some(self.file("ca.crt"));
        headers.allowed_names = vec!["proxy".to_owned()];
        headers.username_headers = vec!["X-Remote-User".to_owned()];
        headers.group_headers = vec!["X-Remote-Group".to_owned()];
        headers.extra_prefixes = vec!["X-Remote-Extra-".to_owned()];
    }
}

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const ALL: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const ALONE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer";

async fn peer(memory: &Arc<Memory>, certificates: &Certificates, host: &str, batch: &str) -> TestServer {
    let started = TestServer::start_with(|config| {
        configure(config, memory, host, &[], &[("batch/v1", batch)]);
        certificates.show(config);
    });
    started.await.unwrap()
}

/// Returns the names of the groups in a server's discovery.
async fn groups(client: &Client, accept: &'static str) -> Vec<String> {
    let all = client.clone().with_header("accept", accept).get("/apis").await;
    let items = all.pointer("/items").and_then(Value::as_array).cloned().unwrap_or_default();
    let name = |group: &Value| group.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    items.iter().filter_map(name).collect()
}

#[tokio::test]
async fn requests_are_proxied_to_server_with_resource() {
    let memory = Arc::new(Memory::new());
    let certificates = Certificates::new();
    let able = peer(&memory, &certificates, "a", "true").await;
    let at_able = Client::of(&able);
    let job = json!({
        "metadata": {"name": "j"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}},
    });
    at_able.make(JOBS, job.clone()).await;
    let unable = peer(&memory, &certificates, "b", "false").await;
    let client = Client::of(&unable);
    until(&client, JOBS, |list| list.pointer("/items/0/metadata/name") == Some(&json!("j"))).await;
    // The proxied request has its original user.
    let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    assert_eq!(client.send("POST", review, json!({})).await.0, 201);
    let nobody = client.clone().with_token(unable.nobody_token());
    assert_eq!(nobody.send("GET", JOBS, Value::Null).await.0, 403);
    // A request is proxied only once.
    let again = client.clone().with_header("x-kubernetes-peer-proxied", "true");
    assert_eq!(again.text("GET", JOBS).await, (404, "404 page not found\n".to_owned()));
    assert_eq!(client.text("GET", "/apis/batch/v7/jobs").await.0, 404);
    // Discovery contains the resources of both servers.
    assert!(groups(&client, ALL).await.contains(&"batch".to_owned()));
    assert!(!groups(&client, ALONE).await.contains(&"batch".to_owned()));
    assert_eq!(groups(&client, ALL).await, groups(&at_able, ALL).await);
    let (_, metrics) = client.text("GET", "/metrics").await;
    let counted =
        "apiserver_rerouted_request_total{code=\"200\",group=\"batch\",resource=\"jobs\",version=\"v1\"}";
    assert!(metrics.contains(counted), "{metrics}");
    let (_, ready) = client.text("GET", "/readyz?verbose").await;
    for hook in
        ["peer-endpoint-reconciler-controller", "mixed-version-proxy-handler", "peer-discovery-workers"]
    {
        assert!(ready.contains(&format!("[+]poststarthook/{hook} ok")), "{ready}");
    }
    // After its shutdown, no server has the resource.
    able.stop().await;
    let unserved = async { while client.text("GET", JOBS).await.0 != 404 {} };
    tokio::time::timeout(CHANGE_MAX, unserved).await.expect("nothing changed in time");
    assert!(!groups(&client, ALL).await.contains(&"batch".to_owned()));
    unable.stop().await;
}
