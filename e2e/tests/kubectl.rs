//! `kubectl` against a server, a fork and a server on etcd: common commands must work.
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
