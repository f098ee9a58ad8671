//! Authentication metrics under upstream's names.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use authentication::{Authenticated, Unauthenticated};

use component_base::metrics::Histogram;

/// Bucket bounds of durations, as texts and in microseconds.
pub(super) const BOUNDS: [(&str, u64); 15] = [
    ("0.001", 1_000),
    ("0.002", 2_000),
    ("0.004", 4_000),
    ("0.008", 8_000),
    ("0.016", 16_000),
    ("0.032", 32_000),
    ("0.064", 64_000),
    ("0.128", 128_000),
    ("0.256", 256_000),
    ("0.512", 512_000),
    ("1.024", 1_024_000),
    ("2.048", 2_048_000),
    ("4.096", 4_096_000),
    ("8.192", 8_192_000),
    ("16.384", 16_384_000),
];
/// Bucket bounds of the remaining lifetime of certificates, as texts and in seconds.
const LEFT: [(&str, u64); 14] = [
    ("0", 0),
    ("1800", 1_800),
    ("3600", 3_600),
    ("7200", 7_200),
    ("21600", 21_600),
    ("43200", 43_200),
    ("86400", 86_400),
    ("172800", 172_800),
    ("345600", 345_600),
    ("604800", 604_800),
    ("2.592e+06", 2_592_000),
    ("7.776e+06", 7_776_000),
    ("1.5552e+07", 15_552_000),
    ("3.1104e+07", 31_104_000),
];
const RESULTS: [&str; 3] = ["success", "failure", "error"];
/// Users with a label of their own. All others use the last two.
const USERS: [&str; 7] = [
    "admin",
    "client",
    "kube_proxy",
    "kubelet",
    "system:serviceaccount:kube-system:default",
    "email_id",
    "other",
];
const MAIL: usize = 5;
const OTHER: usize = 6;

#[derive(Default)]
pub(crate) struct Authentications {
    /// By result.
    durations: [Histogram<15>; 3],
    attempts: [AtomicU64; 3],
    users: [AtomicU64; 7],
    /// Remaining lifetime of client certificates.
    left: Histogram<14>,
}

impl Authentications {
    pub(crate) fn count(&self, outcome: Result<&Authenticated, &Unauthenticated>, took: Duration) {
        let result = match outcome {
            Ok(sender) => {
                let name = &sender.user().name;
                let known = USERS.iter().take(MAIL).position(|user| user == name);
                let user = known.unwrap_or(if name.contains('@') { MAIL } else { OTHER });
                self.users.get(user).inspect(|count| _ = count.fetch_add(1, Relaxed));
                0
            }
            Err(Unauthenticated::NothingShown) => 1,
            Err(Unauthenticated::Refused) => 2,
        };
        self.attempts.get(result).inspect(|count| _ = count.fetch_add(1, Relaxed));
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.durations.get(result).inspect(|durations| durations.observe(&BOUNDS, micros, micros));
    }

    /// Records the remaining lifetime of a client certificate in seconds. All expired certificates count the
    /// same.
    pub(crate) fn certificate(&self, left: i64) {
        let left = u64::try_from(left).unwrap_or(0);
        self.left.observe(&LEFT, left, left);
    }

    /// Appends the metric families.
    pub(super) fn write(&self, out: &mut String) {
        out.push_str(
            "# HELP authenticated_user_requests [ALPHA] Requests that proved an identity, by kind of user.\n\
             # TYPE authenticated_user_requests counter\n",
        );
        for (user, count) in USERS.iter().zip(&self.users) {
            let count = count.load(Relaxed);
            if count > 0 {
                let _ = writeln!(out, "authenticated_user_requests{{username=\"{user}\"}} {count}");
            }
        }
        out.push_str(
            "# HELP authentication_attempts [ALPHA] Requests, by how they proved who sent them.\n\
             # TYPE authentication_attempts counter\n",
        );
        for (result, count) in RESULTS.iter().zip(&self.attempts) {
            let count = count.load(Relaxed);
            if count > 0 {
                let _ = writeln!(out, "authentication_attempts{{result=\"{result}\"}} {count}");
            }
        }
        out.push_str(
            "# HELP authentication_duration_seconds [ALPHA] How long it took to find out who sent requests.\n\
             # TYPE authentication_duration_seconds histogram\n",
        );
        for (result, durations) in RESULTS.iter().zip(&self.durations) {
            if !durations.is_empty() {
                let labels = format!("result=\"{result}\"");
                durations.write(out, "authentication_duration_seconds", &labels, 0, &BOUNDS, 1e6);
            }
        }
        if !self.left.is_empty() {
            let name = "apiserver_client_certificate_expiration_seconds";
            let _ = writeln!(
                out,
                "# HELP {name} [ALPHA] How long the client certificates of requests still count.\n\
                 # TYPE {name} histogram"
            );
            self.left.write(out, name, "", 0, &LEFT, 1.0);
        }
    }
}
