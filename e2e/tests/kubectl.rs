//! `kubectl` against a real server, a fork and one on etcd: what people type has to work.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod kubectl {
    mod apply;
    mod discovery;
    mod profiles;
    mod read;
    mod rights;
    mod watch;
    mod write;
}
