//! Impersonation metrics under upstream's names and labels (apiserver
//! `endpoints/filters/impersonation/metrics`).

use std::fmt::Write;
use std::time::Duration;

use component_base::metrics::Histogram;

use super::authentications::BOUNDS;
use crate::chain::impersonation::Mode;

/// Name prefix and description of a counter family and a histogram family.
const ATTEMPTS: (&str, &str) = ("apiserver_impersonation_attempts", "impersonation attempts");
const CHECKS: (&str, &str) = (
    "apiserver_impersonation_authorization_attempts",
    "authorization checks made by the impersonation handler",
);

/// Durations by result: allowed and denied.
#[derive(Default)]
struct Series {
    allowed: Histogram<15>,
    denied: Histogram<15>,
}

impl Series {
    fn count(&self, allowed: bool, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let durations = if allowed { &self.allowed } else { &self.denied };
        durations.observe(&BOUNDS, micros, micros);
    }
}

#[derive(Default)]
pub(crate) struct Impersonations {
    /// By the mode that allowed the attempt. The first element counts denied attempts, which have no mode.
    attempts: (Series, [Series; 5]),
    /// Authorization checks, by mode.
    checks: [Series; 5],
}

impl Impersonations {
    /// Counts an impersonation attempt, with the mode that allowed it.
    pub(crate) fn attempt(&self, mode: Option<Mode>, took: Duration) {
        let (denied, allowed) = &self.attempts;
        match mode {
            None => denied.count(false, took),
            Some(mode) => mode.of(allowed).count(true, took),
        }
    }

    pub(crate) fn check(&self, mode: Mode, allowed: bool, took: Duration) {
        mode.of(&self.checks).count(allowed, took);
    }

    /// Appends the metric families that have samples.
    pub(super) fn write(&self, out: &mut String) {
        let (denied, allowed) = &self.attempts;
        let attempts = Mode::ALL.map(|mode| (mode.label(), mode.of(allowed)));
        write(out, ATTEMPTS, std::iter::once(("", denied)).chain(attempts));
        write(out, CHECKS, Mode::ALL.map(|mode| (mode.label(), mode.of(&self.checks))).into_iter());
    }
}

fn write<'s>(
    out: &mut String,
    (name, what): (&str, &str),
    series: impl Iterator<Item = (&'static str, &'s Series)>,
) {
    let samples: Vec<(String, &Histogram<15>)> = series
        .flat_map(|(mode, series)| [(mode, "allowed", &series.allowed), (mode, "denied", &series.denied)])
        .filter(|(.., durations)| !durations.is_empty())
        .map(|(mode, decision, durations)| (format!("decision=\"{decision}\",mode=\"{mode}\""), durations))
        .collect();
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "# HELP {name}_duration_seconds [ALPHA] Latency of {what} in seconds split by mode and decision.\n\
         # TYPE {name}_duration_seconds histogram"
    );
    for (labels, durations) in &samples {
        durations.write(out, &format!("{name}_duration_seconds"), labels, 0, &BOUNDS, 1e6);
    }
    let _ = writeln!(
        out,
        "# HELP {name}_total [ALPHA] Total number of {what} split by mode and decision.\n\
         # TYPE {name}_total counter"
    );
    for (labels, durations) in &samples {
        let _ = writeln!(out, "{name}_total{{{labels}}} {}", durations.count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_have_mode_but_denied_attempts_do_not() {
        let figures = Impersonations::default();
        let page = |figures: &Impersonations| {
            let mut page = String::new();
            figures.write(&mut page);
            page
        };
        assert_eq!(page(&figures), "");
        figures.check(Mode::UserInfo, false, Duration::from_millis(1));
        figures.check(Mode::Legacy, true, Duration::ZERO);
        figures.attempt(Some(Mode::Legacy), Duration::ZERO);
        figures.attempt(None, Duration::from_secs(60));
        let page = page(&figures);
        let totals: Vec<&str> = page.lines().filter(|line| line.contains("_total{")).collect();
        assert_eq!(
            totals,
            [
                "apiserver_impersonation_attempts_total{decision=\"denied\",mode=\"\"} 1",
                "apiserver_impersonation_attempts_total{decision=\"allowed\",mode=\"legacy\"} 1",
                "apiserver_impersonation_authorization_attempts_total{decision=\"denied\",mode=\"user-info\"} 1",
                "apiserver_impersonation_authorization_attempts_total{decision=\"allowed\",mode=\"legacy\"} 1",
            ]
        );
        let sum = "apiserver_impersonation_attempts_duration_seconds_sum{decision=\"denied\",mode=\"\"} 60";
        assert!(page.lines().any(|line| line == sum), "{page}");
    }
}
