//! The store against real etcd servers: the contract's conformance suite, the faults that a cluster
//! can have (crashes, lost leaders, lost quorum, cut connections), TLS, and etcd's own limits.
//!
//! `tools/fetch-tools.sh` brings the etcd that these tests start.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod conformance;
mod faults;
mod proxy;
mod server;
mod tls;
mod workload;
