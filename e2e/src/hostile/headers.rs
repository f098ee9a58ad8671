//! Watches with large request heads.
//!
//! The model: an idle watch retains at most [`RETAINED_BYTES`] more than one with a small head, apart from the
//! buffer of the connection's HTTP/1.1 parser, which keeps the size of the largest head.

use std::time::Duration;

use http::Request;
use http::request::Builder;
use kube::client::Body;
use tokio::time::{Instant, sleep, timeout};

use super::bodies::start_bounded;
use super::random::Random;
use super::report::{Limits, Report, Violation};
use super::target::{Api, Target};

/// Memory that a watch may retain for its request head, in bytes.
const RETAINED_BYTES: u64 = 8 << 10;
/// Largest buffer that the parser of a connection keeps, in bytes. It may only decrease.
const PARSER_BYTES_HELD: u64 = 1 << 20;
/// Concurrent watches of a case.
const WATCHES: usize = 48;
/// Differences of resident memory between two equal measurements, in bytes.
const NOISE_BYTES: u64 = 6 << 20;
/// Time in which freed memory returns to the system.
const SETTLE: Duration = Duration::from_secs(3);
/// Largest head that the server reads is 1 MiB.
const LENGTHS: [usize; 3] = [10_000, 100_000, 900_000];
const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true";

/// Place of the long text in a request head.
#[derive(Debug, Clone, Copy)]
enum Place {
    ForwardedFor,
    ManyForwardedFor,
    RealIp,
    UserAgent,
    Group,
    Groups,
    Extra,
    Accept,
    Trace,
    Unknown,
    Selector,
    FieldSelector,
    Query,
}

const PLACES: [Place; 13] = [
    Place::ForwardedFor,
    Place::ManyForwardedFor,
    Place::RealIp,
    Place::UserAgent,
    Place::Group,
    Place::Groups,
    Place::Extra,
    Place::Accept,
    Place::Trace,
    Place::Unknown,
    Place::Selector,
    Place::FieldSelector,
    Place::Query,
];

/// Returns a watch request with about this many bytes at this place.
fn request(place: Place, bytes: usize) -> Builder {
    let long = || "x".repeat(bytes);
    let addresses = || "10.0.0.1, ".repeat(bytes / 10);
    let watch = || Request::get(WATCH);
    let impersonate =
        || watch().header("impersonate-user", "system:admin").header("impersonate-group", "system:masters");
    let query = |text: String| Request::get(format!("{WATCH}&{text}"));
    match place {
        Place::ForwardedFor => watch().header("x-forwarded-for", addresses()),
        Place::ManyForwardedFor => (0..(bytes / 1000).min(90))
            .fold(watch(), |request, _| request.header("x-forwarded-for", "10.0.0.1, ".repeat(100))),
        Place::RealIp => watch().header("x-real-ip", long()),
        Place::UserAgent => watch().header("user-agent", long()),
        Place::Group => impersonate().header("impersonate-group", long()),
        Place::Groups => (0..(bytes / 1000).min(80)).fold(impersonate(), |request, group| {
            request.header("impersonate-group", format!("{group}{}", "g".repeat(1000)))
        }),
        Place::Extra => impersonate().header("impersonate-extra-long", long()),
        Place::Accept => {
            watch().header("accept", format!("application/json, {}", "a/b;q=0.1, ".repeat(bytes / 11)))
        }
        Place::Trace => watch().header("tracestate", long()),
        Place::Unknown => watch().header("x-unknown", long()),
        // A request target has at most 64 KiB in the client's parser.
        Place::Selector => {
            let values: Vec<String> = (0..bytes.min(60_000) / 8).map(|value| format!("v{value}")).collect();
            query(format!("labelSelector=a+in+({})", values.join(",")))
        }
        Place::FieldSelector => query(format!(
            "fieldSelector={}",
            "metadata.name!=a,".repeat(bytes.min(60_000) / 17) + "metadata.name!=b"
        )),
        Place::Query => query(format!("unknown={}", "x".repeat(bytes.min(60_000)))),
    }
}

/// Opens watches, waits, and returns the growth of the server's resident memory in bytes, with the first code.
async fn growth(
    target: &Target,
    patience: Duration,
    request: impl Fn() -> Builder,
) -> Result<(u64, u16), Violation> {
    sleep(SETTLE).await;
    let dead = || "the server has ended".to_owned();
    let before = target.process.memory().ok_or_else(dead)?;
    let mut open = Vec::new();
    let mut code = 0;
    for _ in 0..WATCHES {
        let request = request().body(Body::empty()).map_err(Violation::of)?;
        let response = timeout(patience, target.api.client.send(request)).await;
        let response = response.map_err(|_| format!("no response in {patience:?}"))?;
        // A rejected head can close its connection.
        let Ok(response) = response else { continue };
        code = response.status().as_u16();
        open.push(response);
    }
    sleep(SETTLE).await;
    let after = target.process.memory().ok_or_else(dead)?;
    Ok((after.saturating_sub(before), code))
}

async fn check(
    target: &mut Target,
    place: Place,
    bytes: usize,
    usual: u64,
    limits: Limits,
) -> Result<u64, Violation> {
    let (grown, code) = growth(target, limits.patience, || request(place, bytes)).await?;
    target.check_ready(limits.patience).await?;
    if code >= 500 {
        return Err(format!("answered with {code}").into());
    }
    let retained = grown.saturating_sub(usual + NOISE_BYTES) / WATCHES as u64;
    if retained > RETAINED_BYTES + PARSER_BYTES_HELD {
        return Err(format!("{WATCHES} watches retain {} KiB each ({code})", retained >> 10).into());
    }
    Ok(retained)
}

/// Opens watches with large heads until the limits are reached.
///
/// # Panics
/// The server does not start.
pub async fn run(limits: Limits) -> Report {
    let end = Instant::now() + limits.time;
    let mut report = Report::default();
    let mut random = Random(limits.seed);
    let mut target = Target::of(start_bounded()).await;
    let usual = growth(&target, limits.patience, || Request::get(WATCH)).await.map_or(0, |(grown, _)| grown);
    for number in 0..limits.requests {
        if Instant::now() >= end {
            break;
        }
        let first = (limits.seed as usize).wrapping_add(number);
        let place = PLACES[first % PLACES.len()];
        let bytes = *random.pick(&LENGTHS);
        let name = format!("{place:?} of {bytes} bytes on a watch");
        let result = check(&mut target, place, bytes, usual, limits).await;
        report.add(&name, result.map(drop));
        if !target.server.is_running() {
            target = Target::of(start_bounded()).await;
        }
    }
    report
}

/// Opens watches with large heads until the end time, and keeps [`WATCHES`] of them open. Returns their number.
pub async fn storm(api: Api, seed: u64, until: Instant) -> usize {
    let mut random = Random(seed);
    let mut open = std::collections::VecDeque::new();
    let mut opened = 0;
    while Instant::now() < until {
        let place = *random.pick(&PLACES);
        let bytes = *random.pick(&LENGTHS);
        let Ok(request) = request(place, bytes).body(Body::empty()) else { continue };
        let Ok(Ok(response)) = timeout(SETTLE, api.client.send(request)).await else { continue };
        opened += usize::from(response.status().is_success());
        open.push_back(response);
        if open.len() > WATCHES {
            open.pop_front();
        }
    }
    opened
}
