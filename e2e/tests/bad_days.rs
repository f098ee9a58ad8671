//! What a thousand watchers, and those who write and read, get to feel when etcd or a server has a bad
//! day: nothing that is wrong, and nothing for long.
//!
//! Each claim has an etcd of its own, servers that reach it through a network that can be made bad, and
//! the same clients at work all the time. What they were told is compared with etcd's own history.
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
