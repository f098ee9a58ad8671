//! Failures of etcd or a server under a thousand watchers, writers and readers: clients receive nothing
//! wrong, and outages are short.
//!
//! Each claim has its own etcd, servers that reach it through a controllable network, and the same constantly
//! active clients. The data that clients received is compared with etcd's own history.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bad_days {
    mod etcd;
    mod history;
    mod link;
    mod load;
    mod objects;
    mod servers;
    mod watcher;
    mod world;
}
