//! Memory that an idle watch retains of its request. The allocator counts per thread.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use ::audit::{AuditMetrics, Event, Policy, Sink};
use authorization::Mode;
use component_base::metrics::MetricsRegistry;
use component_base::weakened::WeakenedDecisions;
use http_body_util::BodyExt;

use crate::Auditor;
use crate::connection::peer::{Peer, Protocol};
use crate::respond;
use crate::testing::{Script, allocated, audited_chain};

/// Maximum memory for the head of an idle watch, in bytes.
const RETAINED_BYTES_MAX: i64 = 8 * 1024;

/// A collection, because a request with a name is no watch.
const WATCH: &str = "/api/v1/watched?watch=1";

struct NoSink;

impl Sink for NoSink {
    fn process(&self, _: &[Event]) -> bool {
        true
    }
}

/// Head of a watch request.
struct Head {
    target: String,
    headers: Vec<(String, String)>,
}

/// Returns the memory of the server for one idle watch, in bytes.
async fn retained(head: &Head) -> i64 {
    let script = Arc::new(Script::default());
    let (policy, _) =
        Policy::parse(b"apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n").unwrap();
    let metrics = Arc::new(AuditMetrics::new(&MetricsRegistry::default(), &WeakenedDecisions::default()));
    let chain = audited_chain(&script, &[Mode::AlwaysAllow], Auditor::new(policy, Arc::new(NoSink), metrics));
    let peer = Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http2, None);
    let before = allocated();
    let request = http::Request::get(format!("https://x{}", head.target));
    let request = head.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    let mut response = chain.serve(request.body(respond::empty()).unwrap(), &peer).await;
    assert_eq!(response.status(), 200);
    script.release.notify_one();
    drop(response.body_mut().frame().await.unwrap().unwrap());
    assert!(futures::poll!(response.body_mut().frame()).is_pending());
    allocated() - before
}

/// A watch with the smallest head.
fn small_head() -> Head {
    Head { target: WATCH.to_owned(), headers: Vec::new() }
}

/// Heads that are as large as the server accepts, each in a different place.
fn large_heads() -> Vec<(&'static str, Head)> {
    let heads = large_headers().into_iter();
    let heads = heads.map(|(place, headers)| (place, Head { headers, ..small_head() }));
    let long = |query: String| Head { target: format!("{WATCH}&{query}"), ..small_head() };
    let targets = [
        ("parameter", long(format!("x={}", "y".repeat(60_000)))),
        ("escapes", long(format!("x={}", "%41".repeat(20_000)))),
        ("parameters", long("a=&".repeat(20_000))),
        ("names", long((0..10_000).map(|number| format!("{number}&")).collect())),
    ];
    heads.chain(targets).collect()
}

fn large_headers() -> Vec<(&'static str, Vec<(String, String)>)> {
    const LARGE: usize = 900_000;
    let fill = |piece: &str| piece.repeat(LARGE / piece.len());
    let one = |name: &str, value: String| vec![(name.to_owned(), value)];
    let many = (0..900).map(|number| (format!("x-{number}"), "x".repeat(900))).collect();
    let as_ann = |more: Vec<(String, String)>| {
        let token = ("authorization".to_owned(), "Bearer master".to_owned());
        [vec![token, ("impersonate-user".to_owned(), "ann".to_owned())], more].concat()
    };
    let groups =
        (0..900).map(|number| ("impersonate-group".to_owned(), format!("{number}-{}", "g".repeat(900))));
    let extra = (0..900).map(|number| (format!("impersonate-extra-{number}"), "e".repeat(900)));
    vec![
        ("addresses", one("x-forwarded-for", fill("::,"))),
        ("no address", one("x-forwarded-for", fill("x"))),
        ("real address", one("x-real-ip", fill("1"))),
        ("user agent", one("user-agent", fill("<"))),
        ("audit id", one("audit-id", fill("i"))),
        ("accept", one("accept", format!("application/json,{}", fill("a")))),
        ("unknown", one("x-unknown", fill("u"))),
        ("many", many),
        ("impersonated groups", as_ann(groups.collect())),
        ("impersonated extra", as_ann(extra.collect())),
        ("traceparent", one("traceparent", fill("0"))),
    ]
}

#[tokio::test]
async fn idle_watch_retains_little_of_its_head() {
    // The first request initializes what all share.
    retained(&small_head()).await;
    let small = retained(&small_head()).await;
    let mut excesses = Vec::new();
    for (place, head) in large_heads() {
        let more = retained(&head).await - small;
        println!("{place}: {more} bytes");
        if more > RETAINED_BYTES_MAX {
            excesses.push(place);
        }
    }
    assert!(excesses.is_empty(), "{excesses:?}");
}
