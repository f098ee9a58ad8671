//! What is under `deploy/` is run: manifests' commands with certificates in kubeadm's layout against an etcd with TLS, the
//! unit's command, rules evaluated over pages of metrics, backups and what is made of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod deploy {
    mod backup;
    mod balancer;
    pub(crate) mod host;
    mod image;
    pub(crate) mod manifests;
    mod metrics;
    mod mixin;
    mod monitoring;
    pub(crate) mod page;
    pub(crate) mod pki;
    mod unit;
}
