//! Real servers for real clients: starts this project's `kube-apiserver` and etcd as processes, hands
//! out clients for them, puts bad networks between them, and holds each server to a quiet log.
//!
//! Everything panics with an explanation instead of returning errors: whoever calls this is a test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failure here is a failed test")]

pub mod balancer;
pub mod etcd;
pub mod etcd_cluster;
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

/// Runs each claim, a function of `&Server`, as a test on each of the stores: `embedded::CLAIM` and
/// `etcd::CLAIM`, every one with a server of its own.
#[macro_export]
macro_rules! on_both_stores {
    ($($claim:ident),* $(,)?) => {
        mod embedded {
            $(#[test]
            fn $claim() {
                super::$claim(&$crate::Server::start($crate::Store::Embedded));
            })*
        }
        mod etcd {
            $(#[test]
            fn $claim() {
                super::$claim(&$crate::Server::start($crate::Store::Etcd));
            })*
        }
    };
}
