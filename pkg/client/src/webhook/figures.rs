//! Metrics of webhook calls by host, with upstream's names (component-base `metrics/prometheus/restclient`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use component_base::metrics::{Family, Histogram, Stability};
use slab::Slab;
use tokio::time::Instant;

use crate::exec::ExecFigures;

const REQUESTS: Family = Family::counter(
    Stability::Alpha,
    "rest_client_requests_total",
    "Calls of webhooks, by code, method and host.",
);
const SECONDS: Family = Family::histogram(
    Stability::Alpha,
    "rest_client_request_duration_seconds",
    "How long calls of webhooks took, in seconds.",
);
const SENT: Family = Family::histogram(
    Stability::Alpha,
    "rest_client_request_size_bytes",
    "Lengths of the bodies that webhooks were sent.",
);
const RECEIVED: Family = Family::histogram(
    Stability::Alpha,
    "rest_client_response_size_bytes",
    "Lengths of the bodies that webhooks answered with.",
);

/// Upper bounds in microseconds.
const TIMES: [(&str, u64); 12] = [
    ("0.005", 5_000),
    ("0.025", 25_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2", 2_000_000),
    ("4", 4_000_000),
    ("8", 8_000_000),
    ("15", 15_000_000),
    ("30", 30_000_000),
    ("60", 60_000_000),
];
/// Bucket bounds in bytes.
const LENGTHS: [(&str, u64); 11] = [
    ("64", 64),
    ("256", 256),
    ("512", 512),
    ("1024", 1024),
    ("4096", 4096),
    ("16384", 16_384),
    ("65536", 65_536),
    ("262144", 262_144),
    ("1.048576e+06", 1_048_576),
    ("4.194304e+06", 4_194_304),
    ("1.6777216e+07", 16_777_216),
];
/// Status codes with their own series; others count under the first code of their hundred.
const CODES: [(u16, &str); 19] = [
    (100, "100"),
    (200, "200"),
    (201, "201"),
    (202, "202"),
    (204, "204"),
    (300, "300"),
    (400, "400"),
    (401, "401"),
    (403, "403"),
    (404, "404"),
    (405, "405"),
    (409, "409"),
    (413, "413"),
    (422, "422"),
    (429, "429"),
    (500, "500"),
    (502, "502"),
    (503, "503"),
    (504, "504"),
];
/// Maximum number of hosts with metrics. API users can create webhooks for many hosts; further hosts are not
/// counted.
const HOSTS_MAX: usize = 1024;

/// Metrics of one host; all calls are POST.
#[derive(Debug, Default)]
pub(super) struct HostMetrics {
    codes: [AtomicU64; CODES.len()],
    /// Calls without a response.
    failed: AtomicU64,
    seconds: Histogram<12>,
    sent: Histogram<11>,
    received: Histogram<11>,
    under_way: Mutex<Slab<InFlightCall>>,
}

/// A call in flight.
#[derive(Debug)]
struct InFlightCall {
    path: Box<str>,
    at: Instant,
}

/// Calls in flight to one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlightCalls {
    /// Host and port.
    pub host: String,
    pub calls: usize,
    /// Path of the oldest call.
    pub path: String,
    /// Age of the oldest call.
    pub age: Duration,
}

/// Registration of a call in flight, until dropped.
pub(super) struct InFlightGuard<'h> {
    host: &'h HostMetrics,
    key: usize,
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.host.begun().try_remove(self.key);
    }
}

impl HostMetrics {
    fn begun(&self) -> MutexGuard<'_, Slab<InFlightCall>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a call of this path.
    pub(super) fn begin(&self, path: &str, at: Instant) -> InFlightGuard<'_> {
        let key = self.begun().insert(InFlightCall { path: path.into(), at });
        InFlightGuard { host: self, key }
    }

    /// Counts a call with its body size in bytes. `answer` is the status code and body size of the response,
    /// if any.
    pub(super) fn called(&self, sent: usize, answer: Option<(u16, usize)>, took: Duration) {
        let observe = |lengths: &Histogram<11>, bytes: usize| {
            lengths.observe(&LENGTHS, bytes as u64, bytes as u64);
        };
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.seconds.observe(&TIMES, micros, micros);
        observe(&self.sent, sent);
        let count = match answer {
            None => Some(&self.failed),
            Some((code, received)) => {
                observe(&self.received, received);
                let place = |wanted: u16| CODES.iter().position(|(code, _)| *code == wanted);
                place(code).or_else(|| place(code / 100 * 100)).and_then(|at| self.codes.get(at))
            }
        };
        count.inspect(|count| _ = count.fetch_add(1, Relaxed));
    }
}

/// Metrics of webhook calls.
#[derive(Debug, Default)]
pub struct Figures {
    hosts: Mutex<BTreeMap<String, Arc<HostMetrics>>>,
    programs: Arc<ExecFigures>,
}

impl Figures {
    /// Returns the metrics of credential plugins.
    pub fn programs(&self) -> &Arc<ExecFigures> {
        &self.programs
    }

    /// Returns the metrics of a host; `None` if there are too many others.
    pub(super) fn host(&self, authority: &str) -> Option<Arc<HostMetrics>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let room = hosts.len() < HOSTS_MAX || hosts.contains_key(authority);
        room.then(|| Arc::clone(hosts.entry(authority.to_owned()).or_default()))
    }

    /// Returns the hosts with calls in flight at `now`.
    pub fn under_way(&self, now: Instant) -> Vec<InFlightCalls> {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let row = |(host, figures): (String, Arc<HostMetrics>)| {
            let begun = figures.begun();
            let (_, oldest) = begun.iter().min_by_key(|(_, begun)| begun.at)?;
            let (path, age) = (oldest.path.to_string(), now.saturating_duration_since(oldest.at));
            Some(InFlightCalls { host, calls: begun.len(), path, age })
        };
        hosts.into_iter().filter_map(row).collect()
    }

    /// Appends the metric families.
    pub fn write(&self, out: &mut String) {
        let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let labels = |host| [("host", host), ("verb", "POST")];
        let mut samples = SECONDS.write(out);
        for (name, host) in &hosts {
            samples.observed(&labels(name), &host.seconds, &TIMES, 1e6);
        }
        for (family, lengths) in [
            (&SENT, (|host| &host.sent) as fn(&HostMetrics) -> &Histogram<11>),
            (&RECEIVED, |host| &host.received),
        ] {
            let mut samples = family.write(out);
            for (name, host) in &hosts {
                samples.observed(&labels(name), lengths(host), &LENGTHS, 1.0);
            }
        }
        let mut samples = REQUESTS.write(out);
        for (name, host) in &hosts {
            let codes = CODES.iter().map(|(_, code)| *code).zip(&host.codes);
            for (code, count) in codes.chain([("<error>", &host.failed)]) {
                samples.counted(&[("code", code), ("host", name), ("method", "POST")], count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_in_flight_until_dropped() {
        let figures = Figures::default();
        let host = figures.host("a.b.svc:443").unwrap_or_default();
        let began = Instant::now();
        let first = host.begin("/judge", began);
        let second = host.begin("/other", began + Duration::from_secs(1));
        let age = Duration::from_secs(9);
        let row = |calls, path: &str, age| {
            vec![InFlightCalls { host: "a.b.svc:443".to_owned(), calls, path: path.to_owned(), age }]
        };
        assert_eq!(figures.under_way(began + age), row(2, "/judge", age));
        drop(first);
        assert_eq!(figures.under_way(began + age), row(1, "/other", Duration::from_secs(8)));
        drop(second);
        assert!(figures.under_way(began + age).is_empty());
    }

    #[test]
    fn calls_are_counted_by_host_and_result() {
        let figures = Figures::default();
        let host = figures.host("a.b.svc:443").unwrap_or_default();
        host.called(300, Some((200, 70)), Duration::from_millis(7));
        host.called(300, Some((418, 10)), Duration::from_millis(7));
        host.called(300, None, Duration::from_secs(90));
        figures.host("never.called:443");
        let mut page = String::new();
        figures.write(&mut page);
        for line in [
            "rest_client_requests_total{code=\"200\",host=\"a.b.svc:443\",method=\"POST\"} 1\n",
            "rest_client_requests_total{code=\"400\",host=\"a.b.svc:443\",method=\"POST\"} 1\n",
            "rest_client_requests_total{code=\"<error>\",host=\"a.b.svc:443\",method=\"POST\"} 1\n",
            "rest_client_request_duration_seconds_bucket{host=\"a.b.svc:443\",verb=\"POST\",le=\"60\"} 2\n",
            "rest_client_request_size_bytes_bucket{host=\"a.b.svc:443\",verb=\"POST\",le=\"512\"} 3\n",
            "rest_client_response_size_bytes_count{host=\"a.b.svc:443\",verb=\"POST\"} 2\n",
        ] {
            assert!(page.contains(line), "no {line} in {page}");
        }
        assert!(!page.contains("never"), "{page}");
    }

    #[test]
    fn hosts_are_bounded() {
        let figures = Figures::default();
        let counted = (0..=HOSTS_MAX).filter_map(|n| figures.host(&format!("h{n}:1"))).count();
        assert_eq!(counted, HOSTS_MAX);
        assert!(figures.host("h0:1").is_some());
    }
}
