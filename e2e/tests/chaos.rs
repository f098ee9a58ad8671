//! Chaos test: three servers behind haproxy on three etcd members, with fifty clients. Processes are killed,
//! paused, drained, restarted and partitioned. Afterwards all client observations are compared with etcd's
//! own history, and Porcupine checks that the calls on each object are linearizable.
//!
//! `CHAOS_SECONDS` sets the duration, `CHAOS_SEED` the sequence of faults, and `CHAOS_PAUSE` the pause
//! between a client's requests in milliseconds. `CHAOS_CONTROLLER_MANAGER` and `CHAOS_SCHEDULER` are the
//! paths of upstream's programs, which then take part.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]

mod chaos {
    mod calls;
    mod client;
    mod control_plane;
    mod history;
    mod kubelets;
    mod memory;
    mod random;
    mod schedule;
    mod watcher;
    mod work;
    mod world;
}
