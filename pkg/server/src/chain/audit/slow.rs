//! Latency breakdown of a slow request as audit annotations (apiserver `endpoints/filters/audit.go`).

use std::time::Duration;

use apimachinery::time::format_duration;
use component_base::trace::Latencies;

/// Requests up to this duration in nanoseconds get no annotations.
const SLOW_ABOVE: i64 = 500_000_000;

/// Returns the annotations of a completed request; none unless it was slow. `total` is its duration in
/// nanoseconds. `answering` is the time until the response started, for requests that are not long-running.
pub(super) fn annotations(
    total: i64,
    latencies: &Latencies,
    answering: Option<Duration>,
) -> Vec<(String, String)> {
    if total <= SLOW_ABOVE {
        return Vec::new();
    }
    let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let of_steps = latencies.all().map(|(step, time)| (step.name(), nanos(time)));
    // Large responses are encoded while they are sent, as in upstream.
    let sending =
        answering.map(|answering| total.saturating_sub(nanos(answering))).filter(|nanos| *nanos > 0);
    let of_answer = sending
        .into_iter()
        .flat_map(|nanos| ["serialize-response-object", "response-write"].map(|part| (part, nanos)));
    let all = of_steps.chain(of_answer).chain([("total", total)]);
    all.map(|(part, nanos)| (format!("apiserver.latency.k8s.io/{part}"), format_duration(nanos))).collect()
}

#[cfg(test)]
mod tests {
    use component_base::trace::Step;

    use super::*;

    #[test]
    fn slow_request_has_latency_annotations() {
        let latencies = Latencies::default();
        latencies.record(Step::Authentication, Duration::from_micros(12));
        latencies.record(Step::Storage, Duration::from_millis(400));
        latencies.record(Step::Queue, Duration::ZERO);
        let check = |total: i64, answering: Option<u64>, expected: &[(&str, &str)]| {
            let got = annotations(total, &latencies, answering.map(Duration::from_millis));
            let got: Vec<_> = got.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(part, text)| (format!("apiserver.latency.k8s.io/{part}"), *text))
                .collect();
            assert_eq!(got, expected.iter().map(|(key, text)| (key.as_str(), *text)).collect::<Vec<_>>());
        };
        check(SLOW_ABOVE, Some(1), &[]);
        let steps = [("authentication", "12\u{b5}s"), ("etcd", "400ms"), ("total", "1.5s")];
        check(1_500_000_000, None, &steps);
        check(1_500_000_000, Some(1_500), &steps);
        let sent = [("serialize-response-object", "1s"), ("response-write", "1s")];
        check(1_500_000_000, Some(500), &[&steps[..2], &sent, &steps[2..]].concat());
    }
}
