//! Hostile elements in etcd, as a faulty or newer program could store them beside good ones.
//!
//! The model: the server becomes and stays ready, every good object of the resource can be read, listed,
//! watched and deleted, and the hostile element can be deleted.

use std::time::Duration;

use etcd_client::{Client as EtcdClient, GetOptions};
use http::Method;
use serde_json::json;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep};

use super::random::Random;
use super::report::{Limits, Report, Violation};
use super::target::Target;
use crate::{Etcd, Server};

const PATIENCE: Duration = Duration::from_secs(60);
/// Time in which a watch delivers an element to the cache.
const DELIVERY: Duration = Duration::from_millis(300);
/// One of this many cases restarts the server while the element is stored.
const RESTART_EVERY: usize = 10;
/// Maximum size of a stored element in bytes: etcd's limit of a request is 1.5 MiB.
const ELEMENT_BYTES_MAX: usize = 1 << 20;
/// Name of the hostile object, and the end of its key.
const NAME: &str = "hostile";

/// Path of a collection, and the prefix of its keys behind `/registry/`.
const COLLECTIONS: [(&str, &str); 22] = [
    ("/api/v1/namespaces/default/configmaps", "configmaps/default/"),
    ("/api/v1/namespaces/default/secrets", "secrets/default/"),
    ("/api/v1/namespaces/default/serviceaccounts", "serviceaccounts/default/"),
    ("/api/v1/namespaces/default/services", "services/specs/default/"),
    ("/api/v1/namespaces/default/endpoints", "services/endpoints/default/"),
    ("/api/v1/namespaces/default/resourcequotas", "resourcequotas/default/"),
    ("/api/v1/namespaces/default/limitranges", "limitranges/default/"),
    ("/api/v1/namespaces", "namespaces/"),
    ("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", "leases/kube-system/"),
    ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "endpointslices/default/"),
    ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "clusterroles/"),
    ("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "clusterrolebindings/"),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles", "roles/kube-system/"),
    ("/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings", "rolebindings/kube-system/"),
    ("/apis/scheduling.k8s.io/v1/priorityclasses", "priorityclasses/"),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "flowschemas/"),
    ("/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations", "prioritylevelconfigurations/"),
    ("/apis/apiregistration.k8s.io/v1/apiservices", "apiregistration.k8s.io/apiservices/"),
    (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "apiextensions.k8s.io/customresourcedefinitions/",
    ),
    (
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "validatingwebhookconfigurations/",
    ),
    ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", "mutatingwebhookconfigurations/"),
    ("/apis/hostile.example.com/v1/namespaces/default/things", "hostile.example.com/things/default/"),
];

/// The server on etcd.
struct World {
    target: Target,
    etcd: EtcdClient,
    _process: Etcd,
}

impl World {
    async fn start() -> Self {
        let process = Etcd::start();
        let flags = ["--feature-gates=AllowUnsafeMalformedObjectDeletion=true".to_owned()];
        let server = Server::start_on_flagged(&process.url(), &flags);
        server.allow_log("");
        let etcd = EtcdClient::connect([process.url()], None).await.expect("etcd serves");
        let world = World { target: Target::of(server).await, etcd, _process: process };
        world.create_good_objects().await;
        world
    }

    /// Creates a good object in each collection that has none of the server's own.
    async fn create_good_objects(&self) {
        let api = &self.target.api;
        let hook = json!([{"name": "good.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"}}]);
        let names =
            json!({"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
        let definition = json!({"metadata": {"name": "things.hostile.example.com"}, "spec": {
            "group": "hostile.example.com", "scope": "Namespaced", "versions": [version], "names": names}});
        let thing = json!({"apiVersion": "hostile.example.com/v1", "kind": "Thing",
            "metadata": {"name": "good"}, "spec": {"a": [1, {"b": "c"}]}});
        for (path, _) in COLLECTIONS {
            let object = match path.rsplit('/').next().unwrap_or_default() {
                "configmaps" | "secrets" => json!({"metadata": {"name": "good"}, "data": {"a": "Yg=="}}),
                "serviceaccounts" | "resourcequotas" | "limitranges" | "endpoints" => {
                    json!({"metadata": {"name": "good"}})
                }
                "customresourcedefinitions" => definition.clone(),
                "validatingwebhookconfigurations" | "mutatingwebhookconfigurations" => {
                    json!({"metadata": {"name": "good"}, "webhooks": hook})
                }
                "things" => thing.clone(),
                _ => continue,
            };
            self.wait_until_served(path).await;
            api.create(path, &object, PATIENCE).await;
        }
    }

    async fn wait_until_served(&self, path: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.target.api.get(path, PATIENCE).await.is_ok_and(|answer| answer.code == 200) {
            assert!(Instant::now() < deadline, "{path} is not served");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns a random stored element below this prefix as (key, value).
    async fn element(&mut self, prefix: &str, random: &mut Random) -> Option<(String, Vec<u8>)> {
        let options = GetOptions::new().with_prefix();
        let response =
            self.etcd.get(format!("/registry/{prefix}"), Some(options)).await.expect("etcd serves");
        let elements = response.kvs();
        let element = (!elements.is_empty()).then(|| random.pick(elements))?;
        Some((element.key_str().expect("a text").to_owned(), element.value().to_vec()))
    }

    /// Stores a hostile element beside the good ones, and checks the resource.
    async fn attack(&mut self, number: usize, random: &mut Random, limits: Limits) -> Result<(), Violation> {
        let (path, prefix) = COLLECTIONS[number % COLLECTIONS.len()];
        let Some((key, value)) = self.element(prefix, random).await else { return Ok(()) };
        let good = key.rsplit('/').next().unwrap_or_default().to_owned();
        let hostile = format!("/registry/{prefix}{NAME}");
        let (how, bytes) = mutate(&value, &good, random);
        self.etcd.put(hostile.as_str(), bytes, None).await.expect("etcd stores it");
        sleep(DELIVERY).await;
        if number % RESTART_EVERY == RESTART_EVERY - 1 {
            block_in_place(|| self.target.server.restart());
            self.target.process = super::process::Process(self.target.server.pid());
        }
        let result = self.check(path, &good, limits).await;
        self.etcd.delete(hostile.as_str(), None).await.expect("etcd deletes it");
        sleep(DELIVERY).await;
        result.map_err(|what| format!("{how} under {prefix}: {what}").into())
    }

    async fn check(&mut self, path: &str, good: &str, limits: Limits) -> Result<(), Violation> {
        let patience = limits.patience;
        self.target.check_ready(patience).await?;
        for query in ["", "?limit=500", "?resourceVersion=0"] {
            let list = self.target.api.get(&format!("{path}{query}"), patience).await?;
            if list.code != 200 {
                return Err(format!("list{query}: {}", list.shown()).into());
            }
        }
        let object = self.target.api.get(&format!("{path}/{good}"), patience).await?;
        if object.code != 200 {
            return Err(format!("get of a good object: {}", object.shown()).into());
        }
        self.delete(path, patience).await
    }

    /// Deletes the hostile element: as usual, and otherwise with the option for unreadable objects.
    async fn delete(&self, path: &str, patience: Duration) -> Result<(), Violation> {
        let uri = format!("{path}/{NAME}");
        let usual =
            self.target.api.ask(Method::DELETE, &uri, "application/json", Vec::new(), patience).await?;
        if matches!(usual.code, 200 | 202 | 404) {
            return Ok(());
        }
        let options = json!({"kind": "DeleteOptions", "apiVersion": "v1",
            "ignoreStoreReadErrorWithClusterBreakingPotential": true});
        let body = options.to_string().into_bytes();
        let forced = self.target.api.ask(Method::DELETE, &uri, "application/json", body, patience).await?;
        // A readable object that admission or validation protects is not the subject here.
        if matches!(forced.code, 200 | 202 | 404) || (usual.code != 500 && usual.code < 500) {
            return Ok(());
        }
        Err(format!("delete: {}; unsafe: {}", usual.shown(), forced.shown()).into())
    }
}

/// Returns hostile elements as pairs of key and value, `each` per collection.
pub fn elements(seed: u64, each: usize) -> Vec<(String, Vec<u8>)> {
    const GOOD: &[u8] =
        br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hostile","namespace":"default"}}"#;
    let mut random = Random(seed);
    let mut elements = Vec::new();
    for (_, prefix) in COLLECTIONS {
        for number in 0..each {
            let (_, value) = mutate(GOOD, NAME, &mut random);
            elements.push((format!("/registry/{prefix}{NAME}-{number}"), value));
        }
    }
    elements
}

/// Returns a mutation of an element, with its description. Half of the mutations rename the object to match
/// its key.
fn mutate(value: &[u8], good: &str, random: &mut Random) -> (String, Vec<u8>) {
    let mut bytes = if random.below(2) == 0 { rename(value, good) } else { value.to_vec() };
    let at = random.below(bytes.len().max(1));
    let levels = *random.pick(&[100usize, 450, 5_000, 100_000]);
    let how = match random.below(11) {
        0 => {
            bytes.truncate(at);
            format!("truncated at {at}")
        }
        1 => {
            bytes.clear();
            "empty".to_owned()
        }
        2 => {
            let flips = 1 + random.below(20);
            for _ in 0..flips {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
            format!("{flips} bits flipped")
        }
        3 => {
            bytes.splice(at..at, b"k8s:enc:aescbc:v1:key:".iter().copied());
            format!("another prefix at {at}")
        }
        4 => {
            bytes = (0..random.below(2000)).map(|_| random.number() as u8).collect();
            "random bytes".to_owned()
        }
        5 => {
            let range = at..(at + random.below(50)).min(bytes.len());
            bytes.drain(range);
            format!("a gap at {at}")
        }
        6 => {
            let copied = bytes.clone();
            bytes.splice(at..at, copied);
            format!("itself inserted at {at}")
        }
        7 => {
            bytes = nest_json(&bytes, good, levels);
            format!("JSON of {levels} levels")
        }
        8 => {
            bytes = [b"k8s\0".to_vec(), nested_wire(levels)].concat();
            format!("protobuf of {levels} levels")
        }
        9 => {
            bytes = br#"{"apiVersion":"other/v1","kind":"Other","metadata":{"name":"hostile"}}"#.to_vec();
            "another kind".to_owned()
        }
        _ => {
            bytes = random
                .pick(&[&b"null"[..], b"[]", b"{}", b"k8s\0", b"\xd9\xd9\xf7\xa0", b"\"text\""])
                .to_vec();
            "a tiny value".to_owned()
        }
    };
    bytes.truncate(ELEMENT_BYTES_MAX);
    (how, bytes)
}

/// Replaces the first occurrence of the name by the hostile one, padded to its length.
fn rename(value: &[u8], good: &str) -> Vec<u8> {
    let mut bytes = value.to_vec();
    let at = bytes.windows(good.len().max(1)).position(|window| window == good.as_bytes());
    if let Some(at) = at
        && good.len() == NAME.len()
    {
        bytes[at..at + NAME.len()].copy_from_slice(NAME.as_bytes());
    }
    bytes
}

/// Returns a JSON object of the element's kind with a deep member: the form that an upstream server stores for
/// custom resources.
fn nest_json(value: &[u8], good: &str, levels: usize) -> Vec<u8> {
    let levels = levels.min(ELEMENT_BYTES_MAX / 8);
    let deep = format!("{}{{}}{}", r#"{"x":"#.repeat(levels), "}".repeat(levels));
    match serde_json::from_slice::<serde_json::Value>(value) {
        Ok(mut object) if object.is_object() => {
            object["metadata"]["name"] = NAME.into();
            object["spec"] = "DEEP".into();
            object.to_string().replace("\"DEEP\"", &deep).into_bytes()
        }
        _ => format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{NAME}","namespace":"default"}},"data":{deep},"was":"{good}"}}"#
        )
        .into_bytes(),
    }
}

/// Returns messages nested in their first field.
fn nested_wire(levels: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..levels {
        if bytes.len() > ELEMENT_BYTES_MAX / 2 {
            break;
        }
        let mut outer = Vec::with_capacity(bytes.len() + 8);
        schema::proto::put_bytes(2, &bytes, &mut outer);
        bytes = outer;
    }
    bytes
}

/// Stores hostile elements until the limits are reached.
///
/// # Panics
/// The server or etcd does not start, or does not become ready after a restart.
pub async fn run(limits: Limits) -> Report {
    let end = Instant::now() + limits.time;
    let mut report = Report::default();
    let mut world = World::start().await;
    for number in 0..limits.requests {
        if Instant::now() >= end {
            break;
        }
        let seed = limits.seed.wrapping_add(number as u64);
        let result = world.attack(number, &mut Random(seed), limits).await;
        report.add(&format!("element {seed}"), result);
        if !world.target.server.is_running() {
            world = World::start().await;
        }
    }
    report
}
