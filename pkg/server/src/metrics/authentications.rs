//! Authentication metrics under upstream's names.

use std::time::Duration;

use authentication::{Authenticated, Unauthenticated};

use component_base::metrics::{Counter, Family, Histogram, MetricsRegistry, Stability, buckets};

const USER_REQUESTS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "authenticated_user_requests",
    "Counter of authenticated requests broken out by username.",
    ["username"],
);
const ATTEMPTS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "authentication_attempts",
    "Counter of authenticated attempts.",
    ["result"],
);
const SECONDS: Family<Histogram, 1> = Family::histogram(
    Stability::Alpha,
    "authentication_duration_seconds",
    "Authentication duration in seconds broken out by result.",
    ["result"],
    &buckets::MILLISECOND_DOUBLED_15,
);
const CERTIFICATES: Family<Histogram, 0> = Family::histogram(
    Stability::Alpha,
    "apiserver_client_certificate_expiration_seconds",
    "Distribution of the remaining lifetime on the certificate used to authenticate a request.",
    [],
    &buckets::CERTIFICATE_LIFETIMES,
);

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
const EMAIL_LABEL: usize = 5;
const OTHER: usize = 6;

pub(crate) struct Authentications {
    /// In the order of [`RESULTS`].
    durations: [Histogram; 3],
    attempts: [Counter; 3],
    /// In the order of [`USERS`].
    users: [Counter; 7],
    /// Remaining lifetime of client certificates.
    certificate_lifetime: Histogram,
}

impl Authentications {
    pub(super) fn new(registry: &MetricsRegistry) -> Self {
        let durations = registry.register_vec(&SECONDS);
        let attempts = registry.register_vec(&ATTEMPTS);
        let users = registry.register_vec(&USER_REQUESTS);
        Authentications {
            durations: RESULTS.map(|result| durations.with([result])),
            attempts: RESULTS.map(|result| attempts.with([result])),
            users: USERS.map(|user| users.with([user])),
            certificate_lifetime: registry.register(&CERTIFICATES),
        }
    }

    pub(crate) fn count(&self, outcome: Result<&Authenticated, &Unauthenticated>, duration: Duration) {
        let result = match outcome {
            Ok(sender) => {
                let name = &sender.user().name;
                let index = USERS.iter().take(EMAIL_LABEL).position(|user| user == name);
                let user = index.unwrap_or(if name.contains('@') { EMAIL_LABEL } else { OTHER });
                self.users.get(user).inspect(|count| count.increment());
                0
            }
            Err(Unauthenticated::NoCredential) => 1,
            Err(Unauthenticated::Rejected) => 2,
        };
        self.attempts.get(result).inspect(|count| count.increment());
        self.durations.get(result).inspect(|durations| durations.observe_duration(duration));
    }

    /// Records the remaining lifetime of a client certificate in seconds. All expired certificates count the
    /// same.
    pub(crate) fn certificate(&self, remaining_seconds: i64) {
        self.certificate_lifetime.observe(u64::try_from(remaining_seconds).unwrap_or(0));
    }
}
