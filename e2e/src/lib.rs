//! End-to-end test support: starts this project's `kube-apiserver` and etcd as processes, provides clients,
//! simulates bad networks, and checks that server logs contain no unexpected lines.
//!
//! All callers are tests, so failures panic with an explanation instead of returning errors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

pub mod balancer;
pub mod documents;
pub mod etcd;
pub mod etcd_cluster;
mod forks;
pub mod hostile;
pub mod kubectl;
pub mod log;
pub mod process;
pub mod proxy;
pub mod server;
pub mod testserver;
pub mod tools;

pub use balancer::Balancer;
pub use etcd::Etcd;
pub use etcd_cluster::EtcdCluster;
pub use kubectl::Kubectl;
pub use proxy::{Network, Proxy};
pub use server::{Server, Store};

/// Runs each claim, a function of `&Server`, as a test on both stores: `embedded::CLAIM` and `etcd::CLAIM`,
/// each with its own server.
#[macro_export]
macro_rules! on_both_stores {
    ($($claim:ident),* $(,)?) => {
        $crate::with_servers!(embedded, $crate::Server::start($crate::Store::Embedded), $($claim),*);
        $crate::with_servers!(etcd, $crate::Server::start($crate::Store::Etcd), $($claim),*);
    };
}

/// Runs each claim, a function of `&Server`, as a test on a fork, which starts instantly, and on etcd:
/// `fork::CLAIM` and `etcd::CLAIM`.
#[macro_export]
macro_rules! on_forks_and_etcd {
    ($($claim:ident),* $(,)?) => {
        $crate::with_servers!(fork, $crate::Server::fork(), $($claim),*);
        $crate::with_servers!(etcd, $crate::Server::start($crate::Store::Etcd), $($claim),*);
    };
}

/// Runs each claim as a test in a module of this name, with a server from this expression.
#[macro_export]
macro_rules! with_servers {
    ($module:ident, $server:expr, $($claim:ident),*) => {
        mod $module {
            $(#[test]
            fn $claim() {
                super::$claim(&$server);
            })*
        }
    };
}
