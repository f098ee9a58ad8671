//! Many concurrent writers of one object, on each store. Acknowledged writes are present and rejected ones
//! are absent. A write whose client disconnected is present completely or not at all. Concurrent writes of
//! large objects by one user wait for each other, and none is rejected.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::time::Duration;

use e2e::Server;
use futures::future::join_all;
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::timeout;

e2e::on_both_stores!(many_writers_of_one_object_lose_no_update, concurrent_large_writes_all_succeed);

const WRITERS: u64 = 64;
/// Size of a large object in bytes, above that of writes in the CPU pool.
const LARGE_BYTES: usize = 50_000;
/// Memory limit in bytes. All large objects of one test at once would exceed it.
const MEMORY_LIMIT: u64 = 160 << 20;
/// Rounds of each writer.
const ROUNDS: u64 = 2;
const SEEDS: [u64; 3] = [1, 2, 3];
const LIMIT: Duration = Duration::from_secs(60);
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
/// Maximum patience of clients that disconnect.
const PATIENCE_MAX: Duration = Duration::from_millis(20);

/// Results of the writers. A mark is a unique name that a write adds to the object.
#[derive(Debug, Default)]
struct WriteResults {
    acknowledged: BTreeSet<String>,
    /// Marks of writes whose clients disconnected.
    unknown: BTreeSet<String>,
    increments: u64,
    revisions: Vec<String>,
}

/// Access of one writer to the object.
struct Writer<'a> {
    client: &'a Client,
    path: &'a str,
    results: WriteResults,
}

impl Writer<'_> {
    async fn send(&self, method: Method, kind: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(body).unwrap() };
        let request = Request::builder().method(method).uri(self.path).header("content-type", kind);
        let response = self.client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        (code, serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap())
    }

    async fn get(&self) -> Value {
        let (code, object) = self.send(Method::GET, "application/json", &Value::Null).await;
        assert_eq!(code, 200, "{object}");
        object
    }

    fn acknowledged(&mut self, mark: &str, object: &Value) {
        assert!(marks(object).contains(mark), "the answer shows what was written: {mark} {object}");
        self.results.acknowledged.insert(mark.to_owned());
        self.results.revisions.push(object["metadata"]["resourceVersion"].as_str().unwrap().to_owned());
    }

    async fn patch(&mut self, mark: &str, kind: &str, patch: &Value) {
        let (code, object) = self.send(Method::PATCH, kind, patch).await;
        assert_eq!(code, 200, "{object}");
        self.acknowledged(mark, &object);
    }

    /// Increments the number, with a precondition on the value that was read.
    async fn increment(&mut self) {
        loop {
            let n = self.get().await["data"]["n"].as_str().unwrap().to_owned();
            let next = (n.parse::<u64>().unwrap() + 1).to_string();
            let patch = json!([
                {"op": "test", "path": "/data/n", "value": n},
                {"op": "replace", "path": "/data/n", "value": next},
            ]);
            match self.send(Method::PATCH, JSON_PATCH, &patch).await {
                (200, object) => {
                    assert_eq!(object["data"]["n"], next);
                    let revision = object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
                    self.results.revisions.push(revision);
                    self.results.increments += 1;
                    return;
                }
                (code, refusal) => assert_eq!(code, 422, "{refusal}"),
            }
        }
    }

    /// Replaces the whole object, with its resource version as precondition.
    async fn replace(&mut self, mark: &str) {
        loop {
            let mut object = self.get().await;
            object["data"][mark] = "".into();
            match self.send(Method::PUT, "application/json", &object).await {
                (200, object) => return self.acknowledged(mark, &object),
                (code, refusal) => assert_eq!((code, &refusal["reason"]), (409, &"Conflict".into())),
            }
        }
    }

    /// Patches two fields at once, and possibly disconnects before the response.
    async fn hang_up(&mut self, mark: &str, patience: Duration) {
        let patch = json!({"data": {mark: ""}, "metadata": {"annotations": {mark: ""}}});
        match timeout(patience, self.send(Method::PATCH, MERGE_PATCH, &patch)).await {
            Ok((200, object)) => self.acknowledged(mark, &object),
            Ok((code, refusal)) => panic!("{code} {refusal}"),
            Err(_) => drop(self.results.unknown.insert(mark.to_owned())),
        }
    }

    async fn write(mut self, writer: u64, seed: u64) -> WriteResults {
        for round in 0..ROUNDS {
            let mark = format!("w{writer}.{round}");
            let draw = mix(seed << 32 | writer << 8 | round);
            match draw % 6 {
                0 => {
                    let patch = json!([{"op": "add", "path": format!("/data/{mark}"), "value": ""}]);
                    self.patch(&mark, JSON_PATCH, &patch).await;
                }
                1 => self.patch(&mark, MERGE_PATCH, &json!({"data": {&mark: ""}})).await,
                2 => {
                    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": mark, "uid": mark});
                    let patch = json!({"metadata": {"ownerReferences": [owner]}});
                    self.patch(&mark, STRATEGIC_PATCH, &patch).await;
                }
                3 => self.increment().await,
                4 => self.replace(&mark).await,
                _ => self.hang_up(&mark, PATIENCE_MAX.mul_f64((draw >> 32) as f64 / u32::MAX as f64)).await,
            }
        }
        self.results
    }
}

/// Returns the marks of an object, in its data and as owners.
fn marks(object: &Value) -> BTreeSet<&str> {
    let data = object["data"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    data.filter(|name| *name != "n").chain(owners.map(|owner| owner["uid"].as_str().unwrap())).collect()
}

/// SplitMix64: a fixed, well-distributed function of 64 bits.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn many_writers_of_one_object_lose_no_update(server: &Server) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = server.client().await;
        for seed in SEEDS {
            timeout(LIMIT, contend(&client, seed)).await.expect("in time");
        }
    });
}

async fn contend(client: &Client, seed: u64) {
    let name = format!("contended-{seed}");
    let path = format!("{CONFIG_MAPS}/{name}");
    let created = Writer { client, path: CONFIG_MAPS, results: WriteResults::default() };
    let object = json!({"metadata": {"name": name}, "data": {"n": "0"}});
    let (code, object) = created.send(Method::POST, "application/json", &object).await;
    assert_eq!(code, 201, "{object}");
    let writer = |n| Writer { client, path: &path, results: WriteResults::default() }.write(n, seed);
    let mut all = WriteResults::default();
    for mut results in join_all((0..WRITERS).map(writer)).await {
        all.acknowledged.append(&mut results.acknowledged);
        all.unknown.append(&mut results.unknown);
        all.revisions.append(&mut results.revisions);
        all.increments += results.increments;
    }
    let object = Writer { client, path: &path, results: WriteResults::default() }.get().await;
    verify(seed, &all, &object);
}

fn verify(seed: u64, results: &WriteResults, object: &Value) {
    let stored_marks = marks(object);
    for mark in &results.acknowledged {
        assert!(stored_marks.contains(mark.as_str()), "seed {seed}: {mark} was acknowledged and is lost");
    }
    for mark in stored_marks {
        let written = results.acknowledged.contains(mark) || results.unknown.contains(mark);
        assert!(written, "seed {seed}: nobody wrote {mark}");
    }
    for mark in &results.unknown {
        let [datum, annotation] = [&object["data"][mark], &object["metadata"]["annotations"][mark]];
        assert_eq!(datum, annotation, "seed {seed}: half of {mark} was written");
    }
    assert_eq!(object["data"]["n"], results.increments.to_string(), "seed {seed}: the increments");
    let distinct: BTreeSet<&String> = results.revisions.iter().collect();
    assert_eq!(distinct.len(), results.revisions.len(), "seed {seed}: every write has a revision of its own");
}

fn concurrent_large_writes_all_succeed(server: &Server) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async { write_large_objects(&server.client().await, LARGE_BYTES).await });
}

#[tokio::test]
async fn concurrent_large_writes_stay_within_memory_limit() {
    let mut server = Server::start_flagged(&[&format!("--memory-limit={MEMORY_LIMIT}")]);
    write_large_objects(&server.client().await, 5 * LARGE_BYTES).await;
    let peak = server.memory_peak_bytes();
    assert!(peak < MEMORY_LIMIT, "{peak}");
}

/// Creates objects of this size concurrently, then patches them. All writes must succeed.
async fn write_large_objects(client: &Client, bytes: usize) {
    let filler = "x".repeat(bytes);
    let creation = |n| {
        let object = json!({"metadata": {"name": format!("large-{n}")}, "data": {"filler": &filler}});
        write_large(client, Method::POST, CONFIG_MAPS.to_owned(), object)
    };
    let patch = |n| {
        let object = json!({"metadata": {"labels": {"changed": "true"}}});
        write_large(client, Method::PATCH, format!("{CONFIG_MAPS}/large-{n}"), object)
    };
    let created = timeout(LIMIT, join_all((0..WRITERS).map(creation))).await.expect("in time");
    assert_eq!(created, vec![201; created.len()]);
    let patched = timeout(LIMIT, join_all((0..WRITERS).map(patch))).await.expect("in time");
    assert_eq!(patched, vec![200; patched.len()]);
    // The client retries rejected requests by itself.
    let metrics = client.request_text(Request::get("/metrics").body(Vec::new()).unwrap()).await.unwrap();
    let rejections: Vec<_> = metrics.lines().filter(|line| line.contains("code=\"429\"")).collect();
    assert_eq!(rejections, Vec::<&str>::new());
}

/// Sends a write and returns its status code.
async fn write_large(client: &Client, method: Method, path: String, body: Value) -> u16 {
    let kind = if method == Method::PATCH { MERGE_PATCH } else { "application/json" };
    Writer { client, path: &path, results: WriteResults::default() }.send(method, kind, &body).await.0
}
