//! Three servers behind a balancer on three members of etcd, with fifty clients, while processes are killed,
//! stopped, drained and restarted, and cut off from each other; afterwards everything that clients were told is held against etcd's own
//! history. `CHAOS_SECONDS` and `CHAOS_SEED` choose how long and which course of events.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod chaos {
    mod client;
    mod history;
    mod random;
    mod schedule;
    mod watcher;
    mod world;
}
