//! Combined load on one memory-limited server with unreadable elements in its store: misbehaving connections,
//! hostile bodies, patches, webhooks and request heads, and writers of small objects. The server survives,
//! stays ready, and has all acknowledged writes, even after SIGKILL. `EVERYTHING_SECONDS` sets the duration
//! (`make everything`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use e2e::hostile::{
    Api, backends, bound_memory, headers, make_bases, sequences, start_bounded, stored, storm,
};
use e2e::{Server, tools};
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use storage::Storage as _;
use storage_embedded::{EmbeddedStore, Options};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

/// Default duration in seconds.
const SECONDS: u64 = 10;
/// Seed of the order of bodies, and of the read lengths of responses.
const SEED: u64 = 1;
/// Approximate body size in bytes, for short and long runs: debug builds are slow, and other tests run
/// concurrently.
const BYTES: [usize; 2] = [100_000, 2_900_000];
/// Number of senders of hostile bodies.
const SENDERS: u64 = 4;
/// Unreadable elements per attacked resource.
const UNREADABLE: usize = 2;
/// Number of writers of small objects.
const WRITERS: usize = 3;
/// Pause between writes of a writer.
const PAUSE: Duration = Duration::from_millis(20);
/// Timeout for readiness, and for a response to the quiet client.
const PATIENCE: Duration = Duration::from_secs(60);
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Returns the status code and the body; `None` if the connection was closed.
async fn ask(client: &Client, request: Request<Vec<u8>>) -> Option<(u16, String)> {
    let response = client.send(request.map(Body::from)).await.ok()?;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.ok()?.to_bytes();
    Some((code, String::from_utf8_lossy(&bytes).into_owned()))
}

async fn get(client: &Client, path: &str) -> Option<(u16, String)> {
    ask(client, Request::get(path).body(Vec::new()).ok()?).await
}

/// Creates objects sequentially. Returns the names of acknowledged ones, and the number of others.
async fn write(client: Client, writer: usize, until: Instant) -> (BTreeSet<String>, usize) {
    let mut acknowledged = BTreeSet::new();
    let mut refused = 0;
    for number in 0.. {
        if Instant::now() >= until {
            break;
        }
        let name = format!("written-{writer}-{number}");
        let body = format!("{{\"metadata\":{{\"name\":\"{name}\"}},\"data\":{{\"number\":\"{number}\"}}}}");
        let request = Request::post(CONFIG_MAPS).header("content-type", "application/json");
        let response = ask(&client, request.body(body.into_bytes()).expect("a request")).await;
        match response {
            Some((201, _)) => drop(acknowledged.insert(name)),
            _ => refused += 1,
        }
        sleep(PAUSE).await;
    }
    (acknowledged, refused)
}

/// Runs misbehaving clients repeatedly. Returns the output of the last run.
fn break_clients(port: u16, pid: u32, token: &str, until: Instant) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/load.py");
    let port = port.to_string();
    let pid = pid.to_string();
    let seed = SEED.to_string();
    let patience = PATIENCE.as_secs().to_string();
    loop {
        let mut load = Command::new(tools::program("python3"));
        load.args([script, "--port", &port, "--token", token, "--pid", &pid, "--seed", &seed]);
        let output = load.args(["--short", "--p99-max", &patience]).output().expect("python3 runs");
        let text =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(output.status.success(), "{text}");
        if Instant::now() >= until {
            return text;
        }
    }
}

/// Returns the written objects that exist.
async fn kept(client: &Client) -> BTreeSet<String> {
    let (code, list) = get(client, CONFIG_MAPS).await.expect("the server answers");
    assert_eq!(code, 200, "{list}");
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let items = list["items"].as_array().expect("a list");
    let name = |item: &serde_json::Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    items.iter().map(name).filter(|name| name.starts_with("written-")).collect()
}

/// Starts a server whose store contains unreadable elements.
async fn start_with_unreadable_elements() -> Server {
    let mut server = start_bounded();
    server.kill();
    let store = EmbeddedStore::open(&server.store_dir(), Options::new(Arc::new(SystemTime::now))).unwrap();
    for (key, value) in stored::elements(SEED, UNREADABLE) {
        store.put(&key, value.into(), 0, None).await.unwrap();
    }
    store.close().await;
    drop(store);
    server.restart();
    bound_memory(&mut server);
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn server_survives_combined_load_without_data_loss() {
    let configured = std::env::var("EVERYTHING_SECONDS").ok().and_then(|text| text.parse().ok());
    let seconds = configured.unwrap_or(SECONDS);
    let bytes = BYTES[usize::from(configured.is_some())];
    let mut server = start_with_unreadable_elements().await;
    let client = server.client().await;
    let kubectl = server.kubectl();
    kubectl.ok("create serviceaccount load");
    kubectl.ok("create clusterrolebinding load --clusterrole=cluster-admin --serviceaccount=default:load");
    let token = kubectl.ok("create token load").trim().to_owned();
    let port = server.port();
    let pid = server.pid();

    let bases = make_bases(&client).await;
    let until = Instant::now() + Duration::from_secs(seconds);
    let broken = spawn_blocking(move || break_clients(port, pid, &token, until));
    let api = Api { client: client.clone() };
    let patches = tokio::spawn(sequences::storm(api.clone(), bytes, SEED, until));
    let responses = tokio::spawn(backends::storm(api.clone(), SEED, until));
    let watches = tokio::spawn(headers::storm(api, SEED, until));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(client.clone(), writer, until));
    }
    let sent = storm(&client, &bases, bytes, SENDERS, SEED, until).await;
    let written = writers.join_all().await;
    let text = broken.await.expect("the broken clients come to their end");
    let (patched, patch_failures) = patches.await.expect("the patches come to their end");
    let (called, call_failures) = responses.await.expect("the backend comes to its end");
    let watched = watches.await.expect("the watches come to their end");

    let refused: usize = written.iter().map(|(_, refused)| refused).sum();
    let acknowledged: BTreeSet<String> = written.into_iter().flat_map(|(names, _)| names).collect();
    println!("{text}{sent}; {} writes acknowledged, {refused} not", acknowledged.len());
    println!("{patched} patches, {called} calls of a hostile backend, {watched} watches with large heads");
    println!("memory: {} MiB", server.memory_bytes() >> 20);
    assert!(server.is_running(), "the server has ended");
    let ready = timeout(PATIENCE, get(&client, "/readyz")).await.expect("it answers in time");
    assert!(matches!(ready, Some((200, _))), "{ready:?}");
    assert_eq!((sent.failed, patch_failures, call_failures), (0, 0, 0), "{sent}");
    assert!(sent.answered > 0 && patched > 0 && called > 0 && watched > 0 && !acknowledged.is_empty());
    assert_eq!(acknowledged.difference(&kept(&client).await).count(), 0);
    server.kill();
    server.restart();
    let lost: Vec<String> = acknowledged.difference(&kept(&server.client().await).await).cloned().collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}
