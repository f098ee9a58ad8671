//! Everything at once against one server whose memory is bounded: connections that mean no good, bodies that are made to
//! hurt, and writers of small objects. It lives, is ready, and has what it acknowledged, also after it was killed.
//! `EVERYTHING_SECONDS` says for how long (`make everything`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use e2e::hostile::{make_bases, start_bounded, storm};
use e2e::tools;
use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

/// How long a short run takes, in seconds.
const SECONDS: u64 = 10;
/// Decides the order of bodies and how far answers are read.
const SEED: u64 = 1;
/// About how long a body is, in bytes, in a short and in a long run: debug builds are slow, and others work meanwhile.
const BYTES: [usize; 2] = [100_000, 2_900_000];
/// Who sends them.
const SENDERS: u64 = 4;
/// Who writes small objects.
const WRITERS: usize = 3;
/// How long a writer waits before it writes again.
const PAUSE: Duration = Duration::from_millis(20);
/// How long the server may take until it is ready, and for an answer of the quiet client.
const PATIENCE: Duration = Duration::from_secs(60);
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The code and the text of an answer; none if the connection was closed.
async fn ask(client: &Client, request: Request<Vec<u8>>) -> Option<(u16, String)> {
    let answer = client.send(request.map(Body::from)).await.ok()?;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.ok()?.to_bytes();
    Some((code, String::from_utf8_lossy(&bytes).into_owned()))
}

async fn get(client: &Client, path: &str) -> Option<(u16, String)> {
    ask(client, Request::get(path).body(Vec::new()).ok()?).await
}

/// Creates one object after the other; the names of those that were acknowledged, and how many were not.
async fn write(client: Client, writer: usize, until: Instant) -> (BTreeSet<String>, usize) {
    let (mut acknowledged, mut refused) = (BTreeSet::new(), 0);
    for number in 0.. {
        if Instant::now() >= until {
            break;
        }
        let name = format!("written-{writer}-{number}");
        let body = format!("{{\"metadata\":{{\"name\":\"{name}\"}},\"data\":{{\"number\":\"{number}\"}}}}");
        let request = Request::post(CONFIG_MAPS).header("content-type", "application/json");
        let answer = ask(&client, request.body(body.into_bytes()).expect("a request")).await;
        match answer {
            Some((201, _)) => drop(acknowledged.insert(name)),
            _ => refused += 1,
        }
        sleep(PAUSE).await;
    }
    (acknowledged, refused)
}

/// Broken clients, again and again; what the last of them printed.
fn break_clients(port: u16, pid: u32, token: &str, until: Instant) -> String {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/load.py");
    let (port, pid, seed) = (port.to_string(), pid.to_string(), SEED.to_string());
    let patience = PATIENCE.as_secs().to_string();
    loop {
        let mut load = Command::new(tools::program("python3"));
        load.args([script, "--port", &port, "--token", token, "--pid", &pid, "--seed", &seed]);
        let told = load.args(["--short", "--p99-max", &patience]).output().expect("python3 runs");
        let text =
            [told.stdout, told.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(told.status.success(), "{text}");
        if Instant::now() >= until {
            return text;
        }
    }
}

/// Which of the written objects are there.
async fn kept(client: &Client) -> BTreeSet<String> {
    let (code, list) = get(client, CONFIG_MAPS).await.expect("the server answers");
    assert_eq!(code, 200, "{list}");
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let items = list["items"].as_array().expect("a list");
    let name = |item: &serde_json::Value| item["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    items.iter().map(name).filter(|name| name.starts_with("written-")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_outlives_everything_at_once_and_keeps_what_it_acknowledged() {
    let asked = std::env::var("EVERYTHING_SECONDS").ok().and_then(|text| text.parse().ok());
    let (seconds, bytes) = (asked.unwrap_or(SECONDS), BYTES[usize::from(asked.is_some())]);
    let mut server = start_bounded();
    let client = server.client().await;
    let kubectl = server.kubectl();
    kubectl.ok("create serviceaccount load");
    let token = kubectl.ok("create token load").trim().to_owned();
    let (port, pid) = (server.port(), server.pid());

    let bases = make_bases(&client).await;
    let until = Instant::now() + Duration::from_secs(seconds);
    let broken = spawn_blocking(move || break_clients(port, pid, &token, until));
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(client.clone(), writer, until));
    }
    let sent = storm(&client, &bases, bytes, SENDERS, SEED, until).await;
    let written = writers.join_all().await;
    let text = broken.await.expect("the broken clients come to their end");

    let refused: usize = written.iter().map(|(_, refused)| refused).sum();
    let acknowledged: BTreeSet<String> = written.into_iter().flat_map(|(names, _)| names).collect();
    println!("{text}{sent}; {} writes acknowledged, {refused} not", acknowledged.len());
    println!("memory: {} MiB", server.memory_bytes() >> 20);
    assert!(server.is_running(), "the server has ended");
    let ready = timeout(PATIENCE, get(&client, "/readyz")).await.expect("it answers in time");
    assert!(matches!(ready, Some((200, _))), "{ready:?}");
    assert_eq!(sent.panicked, 0, "{sent}");
    assert!(sent.answered > 0 && !acknowledged.is_empty());
    assert_eq!(acknowledged.difference(&kept(&client).await).count(), 0);
    server.kill();
    server.restart();
    let lost: Vec<String> = acknowledged.difference(&kept(&server.client().await).await).cloned().collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
}
