//! Tests with real etcd servers: the conformance suite, cluster faults (crashes, lost leaders, lost quorum,
//! broken connections), TLS, and etcd's own limits.
//!
//! `tools/fetch-tools.sh` downloads the etcd for these tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod conformance;
mod faults;
mod proxy;
mod server;
mod tls;
mod workload;
