//! Three servers behind haproxy on three members of etcd, with fifty clients, while processes are killed, stopped,
//! drained and restarted, and cut off from each other; afterwards everything that clients were told is held against
//! etcd's own history, and porcupine looks for an order of each object's calls. `CHAOS_SECONDS` and `CHAOS_SEED` choose
//! how long and which course of events, `CHAOS_PAUSE` how many milliseconds a client waits between its requests;
//! `CHAOS_CONTROLLER_MANAGER` and `CHAOS_SCHEDULER` name upstream's programs, which then take part.
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
