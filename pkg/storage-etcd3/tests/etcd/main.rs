//! Tests with real etcd servers: the conformance suite, cluster faults (crashes, lost leaders, lost quorum,
//! broken connections), TLS, and etcd's own limits.
//!
//! `tools/fetch-tools.sh` downloads the etcd for these tests. Streamed lists need etcd 3.7:
//!
//!     tools/fetch-tools.sh etcd-3.7
//!     ETCD=$PWD/target/tools/bin/etcd-3.7 cargo test -p mainstay-storage-etcd3 --test etcd

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod conformance;
mod faults;
mod proxy;
mod server;
mod tls;
mod workload;
